"""Signals at random moments, to the parent, a rank or all: `python -m tests.chaos.signals --runs 50`."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from bench.base.signals import EXIT_CODES
from tests.chaos import _runs as runs
from tests.e2e import children

LIMIT_S = 15.0
"""From the signal to the end, on the small preset."""


def disturb(
    folder: Path, environment: dict[str, str], devices: int, seconds: float, draw: random.Random, found: runs.Findings
) -> str:
    """Send a signal at some moment of a run that takes so many seconds; say what was done."""
    results = folder / "results"
    child = runs.begin(folder, runs.arguments(results, devices), environment, children.ControlC())
    time.sleep(draw.uniform(0, seconds))
    number, ranks = draw.choice(list(EXIT_CODES)), runs.ranks_of(results)
    who = draw.choice(["parent", "rank", "all"])
    assert child.pid is not None
    targets = {"parent": [child.pid], "rank": [draw.choice([*ranks.values(), child.pid])]}
    for process in targets.get(who, [child.pid, *ranks.values()]):
        with suppress(ProcessLookupError):
            os.kill(process, number)
    sent = time.monotonic()
    what = f"{number.name} to {who} of {devices} with {len(ranks)} ranks"
    ended = children.ended(child, 60)
    found.seconds.append(time.monotonic() - sent)
    log = children.read(folder / "log")
    found.expect(ended, f"{what}: it did not end\n{log}")
    children.kill(child)
    right = child.exitcode in (EXIT_CODES[number], 0)  # it may have ended by itself
    found.expect(right, f"{what}: exit code {child.exitcode}\n{log}")
    left = children.users(folder)
    found.expect(left == [], f"{what}: processes {left} are left")
    return f"{what}: code {child.exitcode} after {found.seconds[-1]:.1f} s"


def main() -> int:
    """Run, print goal and measured; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, found = random.Random(given.seed), runs.Findings()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with runs.workplace() as (place, environment):
        undisturbed = {}
        for devices in (1, 2):
            folder = place / f"undisturbed-{devices}"
            code, _ = runs.finished(folder, runs.arguments(folder / "results", devices), environment)
            assert code == 0, children.read(folder / "log")
            again = place / f"timed-{devices}"
            _, seconds = runs.finished(again, runs.arguments(again / "results", devices), environment)
            undisturbed[devices] = runs.kept(folder / "results"), seconds
        for number in range(given.runs):
            devices, folder = draw.choice([1, 2]), place / str(number)
            contents, seconds = undisturbed[devices]
            said = disturb(folder, environment, devices, seconds, draw, found)
            code, _ = runs.finished(folder, runs.arguments(folder / "results", devices), environment)
            found.expect(code == 0, f"{said}: again it ended with {code}\n{children.read(folder / 'log')}")
            found.expect(runs.kept(folder / "results") == contents, f"{said}: other results")
            found.done += 1
            print(f"{number + 1}/{given.runs} {said}", flush=True)
    return found.show("signals at random moments, to any process", given.runs, LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
