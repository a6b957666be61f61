"""`bench work`: one worker of a plan, on any machine that sees the store. Start as many as there are places."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.queue.plan_file import PlanFile


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench work`."""
    parser.add_argument("plan", type=Path, metavar="PLAN", help="the file that bench plan has written")
    parser.add_argument(
        "--no-board", action="store_true", help="with loggers: log no board, since whoever waits for the cells does"
    )


def run(given: argparse.Namespace) -> int:
    """Work; return the exit code: also 75 after SIGTERM or SIGUSR2, where an engine should start it again."""
    from bench.queue.work import work

    if given.no_board:
        return work(given.plan)
    return work(given.plan, log_board_of)


def log_board_of(plan: PlanFile) -> None:
    """Log the board of the tasks of a plan on its loggers."""
    from bench.board.logged import log_stored
    from bench.config.arguments import RunArguments

    configs = [job.cell["config"] for job in plan.jobs]
    limited = any(config["trainer"]["limit"] is not None for config in configs)
    log_stored({str(config["task"]) for config in configs}, RunArguments.from_dict(plan.arguments), limited=limited)
