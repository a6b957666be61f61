"""`bench perf`: what each method's head and step cost, as ratios, with differences in value beside them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

import torch

from bench.base.entries import split_names
from bench.config.resolve import find_method, method_names
from bench.errors import BenchError
from bench.models import METHODS
from bench.perf.heads import Run, Size, differences, forms, interleaved, objective_of, peak_above_gradients, peers
from bench.perf.steps import step_runs

BASE = "mle fused"


def perf(given: argparse.Namespace) -> int:
    """Measure and print; return the exit code."""
    if given.threads:
        torch.set_num_threads(given.threads)
    size = Size(given.batch, given.positions, given.width, given.vocabulary)
    names = [name for name in method_names(split_names(given.method) or ["all"], controls=False) if has_head(name)]
    head = measure_head(names, size, given.repeats, given.memory)
    step = measure_step(names, size, given.layers, given.repeats) if given.layers else []
    content = {"size": vars(size), "threads": torch.get_num_threads(), "device": device().type, "head": head,
               "layers": given.layers, "step": step}  # fmt: skip
    print(json.dumps(content, indent=1) if given.json else text_of(content))
    return 0


def has_head(name: str) -> bool:
    """Return whether a method has a head of its own to measure: some are another method on another backbone."""
    method = find_method(name)
    return not METHODS[method.base].baseline and not method.own_backbone if method.base in METHODS else True


def device() -> torch.device:
    """Return the device to measure on."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def measure_head(names: list[str], size: Size, repeats: int, memory: bool) -> list[dict[str, Any]]:
    """Return one line for each form of each method's head."""
    runs: dict[str, Run] = {}
    for name in dict.fromkeys(["mle", *names]):
        objective = objective_of(name, size, device())
        runs |= {f"{name} {form}": run for form, run in forms(objective).items()}
        if name == "mle":
            runs |= {f"mle {form}": run for form, run in peers(objective).items()}
    unlike = {}
    for label, run in runs.items():
        name = label.partition(" ")[0]
        reference = f"{name} plain"
        unlike[label] = differences(run(), runs[reference]())
    times = interleaved(runs, repeats)
    peaks = {label: peak_in_fresh_process(label, size) if memory else None for label in runs}
    return [
        {"what": label, "seconds": times[label], "of_mle": times[label] / times[BASE], "peak_mb": peaks[label],
         "loss_difference": unlike[label][0], "gradient_difference": unlike[label][1]}
        for label in runs
    ]  # fmt: skip


def measure_step(names: list[str], size: Size, layers: int, repeats: int) -> list[dict[str, Any]]:
    """Return one line for the whole training step of each method."""
    runs = step_runs(list(dict.fromkeys(["mle", *names])), size, layers, device())
    times = interleaved(runs, repeats)
    return [{"what": name, "seconds": seconds, "of_mle": seconds / times["mle"]} for name, seconds in times.items()]


def peak_in_fresh_process(label: str, size: Size) -> float | None:
    """Return the most memory one form holds beyond its gradients, in MB, measured alone; None where it cannot be."""
    job = json.dumps({"label": label, "size": vars(size)})
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    ended = subprocess.run([sys.executable, "-m", "bench.commands.perf", job], capture_output=True, text=True,
                           env=environment, check=False)  # fmt: skip
    if ended.returncode:
        raise BenchError(f"measuring the memory of '{label}' failed: {ended.stderr.strip().splitlines()[-1:]}")
    return float(ended.stdout) if ended.stdout.strip() != "nan" else None


def one_peak(job: str) -> float:
    """Measure in this process, which should do nothing else."""
    content = json.loads(job)
    name, _, form = content["label"].partition(" ")
    objective = objective_of(name, Size(**content["size"]), device())
    every = {**forms(objective), **(peers(objective) if name == "mle" else {})}
    try:
        return peak_above_gradients(every[form])
    except OSError:  # no such file on this system
        return float("nan")


def text_of(content: dict[str, Any]) -> str:
    """Return the measurements as lines."""
    size = content["size"]
    lines = [f"head: {size['batch']} x {size['positions']} positions, width {size['width']}, vocabulary "
             f"{size['vocabulary']:,}; {content['threads']} thread(s), {content['device']}, shortest of several turns",
             f"{'':36}{'ms':>8}{'x mle':>8}{'MB':>8}{'d loss':>10}{'d grad':>10}"]  # fmt: skip
    for row in content["head"]:
        memory = "" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}"
        lines.append(f"{row['what']:36}{row['seconds'] * 1000:8.0f}{row['of_mle']:8.2f}{memory:>8}"
                     f"{row['loss_difference']:10.0e}{row['gradient_difference']:10.0e}")  # fmt: skip
    lines.append("x mle: time over that of 'mle fused'; MB: peak above the gradients, alone in a fresh process; "
                 "d: relative difference to the method's plain form")  # fmt: skip
    if content["step"]:
        lines.append(f"step: the same with {content['layers']} GPT-2 layers and AdamW")
        lines += [f"{row['what']:36}{row['seconds'] * 1000:8.0f}{row['of_mle']:8.2f}" for row in content["step"]]
    return "\n".join(lines)


if __name__ == "__main__":
    print(one_peak(sys.argv[1]))
