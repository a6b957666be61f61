"""Signals at random moments, to the parent, a rank or all: `python -m tools.chaos.signals --runs 50`."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

from bench.launch.signals import EXIT_CODES
from tests.e2e import children
from tools.chaos import _runs as runs

LIMIT_S = 15.0
"""From the signal to the end, on the small preset."""


def disturb(run: runs.Disturbance) -> str:
    """Send a signal at some moment; say what was done."""
    child = run.begin(trouble=children.hear_control_c)
    number, ranks = run.draw.choice(list(EXIT_CODES)), runs.ranks_of(run.results)
    who = run.draw.choice(["parent", "rank", "all"])
    assert child.pid is not None
    targets = {"parent": [child.pid], "rank": [run.draw.choice([*ranks.values(), child.pid])]}
    for process in targets.get(who, [child.pid, *ranks.values()]):
        with suppress(ProcessLookupError):
            os.kill(process, number)
    sent = time.monotonic()
    what = f"{number.name} to {who} of {run.devices} with {len(ranks)} ranks"
    children.ended(child, 60)
    run.found.seconds.append(time.monotonic() - sent)
    run.end(child, what)
    right = child.exitcode in (EXIT_CODES[number], 0)  # it may have ended by itself
    run.found.expect(right, f"{what}: exit code {child.exitcode}\n{run.log}")
    return f"{what}: code {child.exitcode} after {run.found.seconds[-1]:.1f} s"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(runs.repeat(disturb, (1, 2), "signals at random moments, to any process", LIMIT_S))
