"""`bench work`: one worker of a plan, on any machine that sees the store. Start as many as there are places."""

from __future__ import annotations

import argparse
from pathlib import Path


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench work`."""
    parser.add_argument("plan", type=Path, metavar="PLAN", help="the file that bench plan has written")


def run(given: argparse.Namespace) -> int:
    """Work; return the exit code: also 75 after SIGTERM or SIGUSR2, where an engine should start it again."""
    from bench.queue.work import work

    return work(given.plan)
