"""`python -m tools.gpu [PART ...]`: what a machine with one GPU is asked, in at most nine minutes; `make gpu`.

Nothing is downloaded, and packages that only some commands need (datasets, wandb, nltk, rouge-score) may be missing.
Each part is a process of its own with a limit of its own; one that is ended is said to be, and has no numbers. What was
measured is written after each part to `--record`, from which docs/hardware.md is made.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.gpu.goals import Line, lines_of
from tools.gpu.seen import RECORD

GPT2 = ("--layers", "12", "--width", "768", "--vocabulary", "50257")
"""GPT-2 small."""


def steps(*options: str) -> list[str]:
    """Return the command of a measurement in bf16 at GPT-2's size."""
    return ["tools.steps", *GPT2, "--device", "cuda", "--precision", "bf16-mixed", "--json", *options]


PARTS: dict[str, tuple[list[str], float]] = {
    "steps": (steps("--batch", "8", "--positions", "1024", "--repeats", "5"), 150),
    "texts": (
        steps("--method", "trime,histalign", "--batch", "250", "--positions", "306", "--repeats", "1",
             "--samples", "5000", "--tokens", "256"), 130),
    "tests": (["pytest", "-q", "-W", "ignore", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu"], 120),
    "precision": (["tools.chaos.precision", "mle", "trime", "histalign", "ul_token", "f2softmax"], 130),
}  # fmt: skip
"""Arguments of `python -m`, and the seconds a part may take, by its name."""

TINY = {
    "cuda": "cpu", "--batch=8": "2", "--batch=250": "2", "--positions=1024": "16", "--positions=306": "16",
    "--layers=12": "1", "--width=768": "64", "--vocabulary=50257": "300", "--samples=5000": "4", "--tokens=256": "3",
}  # fmt: skip
"""What a rehearsal on a processor puts in place of a value, alone or with its option."""


def rehearsed(command: Sequence[str]) -> list[str]:
    """Return a command at a size for a processor."""
    words = list(command)
    for place, word in enumerate(words):
        option = f"{words[place - 1]}={word}"
        words[place] = TINY.get(option, TINY.get(word, word))
    return words


PEAK_FLOPS = {"A100": 312e12, "H100": 989.5e12, "H200": 989.5e12, "L40S": 362e12, "RTX 4090": 165.2e12}
"""Of dense matrices in bfloat16, by a part of what CUDA calls the GPU; from NVIDIA's data sheets (SXM)."""


def machine() -> dict[str, Any]:
    """Return what is measured on, and when."""
    import torch

    facts: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "gpus": torch.cuda.device_count(),
        "gpu": None,
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name(0)
        peak = next((flops for name, flops in PEAK_FLOPS.items() if name in facts["gpu"]), None)
        if peak is not None:
            facts["peak_flops"] = peak
        facts["memory_gb"] = round(torch.cuda.get_device_properties(0).total_memory / 1e9)
    return facts


def run(name: str, command: Sequence[str], limit: float, rehearse: bool) -> dict[str, Any]:
    """Run one part; return how it ended and what it printed, as content where that is JSON."""
    begun, environment = time.monotonic(), dict(os.environ)
    if rehearse:
        environment["REHEARSE"] = "1"
    found: dict[str, Any] = {"ended": "well", "content": None, "said": []}
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", *command],
            capture_output=True,
            text=True,
            timeout=limit,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        found["ended"] = f"not within {limit:.0f} s"
    else:
        if done.returncode:
            found["ended"] = f"with code {done.returncode}"
        found["said"] = (done.stdout + done.stderr).splitlines()[-25:]
        with suppress(json.JSONDecodeError):  # what is no JSON was said for people
            found |= {"content": json.loads(done.stdout), "said": []}
        if name == "tests" and not re.search(r"\b[1-9]\d* passed", done.stdout):
            found["ended"] = "without a test that passed"
    found["seconds"] = round(time.monotonic() - begun, 1)
    print(f"[{name}] ended {found['ended']} after {found['seconds']} s", *found["said"], sep="\n", flush=True)
    return found


def measure(names: Sequence[str], rehearse: bool, seconds: float, keep: Callable[[dict[str, Any]], None]) -> list[Line]:
    """Run the parts that were named until the time is over, keeping what is known after each; return all lines."""
    ends = time.monotonic() + seconds
    record: dict[str, Any] = {"machine": machine(), "rehearsal": rehearse, "parts": {}}
    for name in names:
        command, limit = PARTS[name]
        if rehearse:
            command = rehearsed(command)
        left = ends - time.monotonic()
        if left < 5:
            record["parts"][name] = {"ended": "not begun: no time left", "content": None, "said": [], "seconds": 0.0}
            continue
        record["parts"][name] = run(name, command, min(limit, left), rehearse)
        keep(record)
    keep(record)
    return lines_of(record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print goals beside it; return 1 where one is missed or not measured."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"default: all of {', '.join(PARTS)}")
    parser.add_argument("--record", type=Path, default=RECORD, help="where what was measured is written")
    parser.add_argument("--seconds", type=float, default=530, help="of all parts; default 530")
    parser.add_argument("--rehearse", action="store_true", help="tiny, on a processor: to see that all parts run")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")

    def keep(record: dict[str, Any]) -> None:
        given.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    lines = measure(given.parts or list(PARTS), given.rehearse, given.seconds, keep)
    for line in lines:
        print(line.text())
    return int(not all(line.met for line in lines))


if __name__ == "__main__":
    sys.exit(main())
