"""Ranks stopped (SIGSTOP) at random moments: `python -m tools.chaos.stalls --runs 50`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from tests.e2e import children
from tests.waiting import wait_until
from tools.chaos import _runs as runs

STALL_S = 4.0
LIMIT_S = STALL_S + 15.0
"""From the stop to the note of the cell that failed."""

DEVICES = 2


def failures(results: Path) -> list[Path]:
    """The records of failed cells; folders of work in progress come and go, so they are not looked into."""
    return list(results.glob("[!.]*/*/*/failed.json"))


def disturb(run: runs.Disturbance) -> str:
    """Stop a rank at some moment; say what was done."""
    child = run.begin("--stall-timeout", str(STALL_S))
    wait_until(lambda: bool(runs.ranks_of(run.results)) or child.exitcode is not None, 20)
    ranks = runs.ranks_of(run.results)
    if not ranks:
        children.ended(child, 60)
        return f"nobody to stop: code {child.exitcode}"
    rank = run.draw.choice(list(ranks))
    try:
        os.kill(ranks[rank], signal.SIGSTOP)
    except ProcessLookupError:
        children.ended(child, 60)
        return f"rank {rank} had ended: code {child.exitcode}"
    stopped = time.monotonic()
    wait_until(lambda: bool(failures(run.results)) or child.exitcode is not None, 60)
    run.found.seconds.append(time.monotonic() - stopped)
    run.end(child, f"rank {rank}")
    if child.exitcode == 0:
        return f"rank {rank} had done its share: code 0 after {run.found.seconds[-1]:.1f} s"
    notes = [json.loads(path.read_text())["content"]["error"] for path in failures(run.results)]
    failed = [note for note in notes if not note.startswith("is fine-tuned from")]  # a child is blocked
    named = len(failed) == 1 and failed[0].startswith(f"stalled: rank {rank} of {DEVICES}")
    run.found.expect(child.exitcode == 1 and named, f"rank {rank}: code {child.exitcode}, {notes}\n{run.log}")
    first_lines = [note.partition("\n")[0] for note in failed]
    return f"rank {rank} stopped: noted after {run.found.seconds[-1]:.1f} s, {first_lines}"


if __name__ == "__main__":
    sys.exit(runs.repeat(disturb, (DEVICES,), "a stopped process is named and ended", LIMIT_S))
