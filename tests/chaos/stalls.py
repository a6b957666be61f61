"""Ranks stopped (SIGSTOP) at random moments: `python -m tests.chaos.stalls --runs 50`."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.chaos import _runs as runs
from tests.e2e import children

STALL_S = 4.0
LIMIT_S = STALL_S + 15.0
"""From the stop to the note of the cell that failed."""

DEVICES = 2


def disturb(
    folder: Path, environment: dict[str, str], seconds: float, draw: random.Random, found: runs.Findings
) -> str:
    """Stop a rank at some moment of a run that takes so many seconds; say what was done."""
    results = folder / "results"
    asked = runs.arguments(results, DEVICES, "--stall-timeout", str(STALL_S))
    child = runs.begin(folder, asked, environment)
    time.sleep(draw.uniform(0, seconds))
    children.wait_until(lambda: bool(runs.ranks_of(results)) or child.exitcode is not None, 20)
    ranks = runs.ranks_of(results)
    if not ranks:
        children.ended(child, 60)
        return f"nobody to stop: code {child.exitcode}"
    rank = draw.choice(list(ranks))
    try:
        os.kill(ranks[rank], signal.SIGSTOP)
    except ProcessLookupError:
        children.ended(child, 60)
        return f"rank {rank} had ended: code {child.exitcode}"
    stopped = time.monotonic()
    children.wait_until(lambda: any(results.rglob("failed.json")) or child.exitcode is not None, 60)
    found.seconds.append(time.monotonic() - stopped)
    ended = children.ended(child, 60)
    log = children.read(folder / "log")
    found.expect(ended, f"rank {rank}: it did not end\n{log}")
    children.kill(child)
    if child.exitcode == 0:
        return f"rank {rank} had done its share: code 0 after {found.seconds[-1]:.1f} s"
    notes = [json.loads(path.read_text())["content"]["error"] for path in results.rglob("failed.json")]
    failed = [note for note in notes if not note.startswith("is fine-tuned from")]  # a child is blocked
    named = len(failed) == 1 and failed[0].startswith(f"stalled: rank {rank} of {DEVICES}")
    found.expect(child.exitcode == 1 and named, f"rank {rank}: code {child.exitcode}, {notes}\n{log}")
    left = children.users(folder)
    found.expect(left == [], f"rank {rank}: processes {left} are left")
    first_lines = [note.partition("\n")[0] for note in failed]
    return f"rank {rank} stopped: noted after {found.seconds[-1]:.1f} s, {first_lines}"


def main() -> int:
    """Run, print goal and measured; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, found = random.Random(given.seed), runs.Findings()
    with runs.workplace() as (place, environment):
        folder = place / "undisturbed"
        for _ in range(2):
            code, seconds = runs.finished(folder, runs.arguments(folder / "results", DEVICES), environment)
            assert code == 0, children.read(folder / "log")
            contents = runs.kept(folder / "results")
            folder = place / "timed"
        for number in range(given.runs):
            folder = place / str(number)
            said = disturb(folder, environment, seconds, draw, found)
            code, _ = runs.finished(folder, runs.arguments(folder / "results", DEVICES), environment)
            found.expect(code == 0, f"{said}: again it ended with {code}\n{children.read(folder / 'log')}")
            found.expect(runs.kept(folder / "results") == contents, f"{said}: other results")
            found.done += 1
            print(f"{number + 1}/{given.runs} {said}", flush=True)
    return found.show("a stopped process is named and ended", given.runs, LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
