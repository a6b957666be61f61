"""Run of a rung: the search over the rates of some methods, and what was picked on all seeds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from bench.board.run import executed
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.cells.search.run import run_search
from bench.cells.standing import merged_in_the_way
from bench.config.arguments import RunArguments
from bench.ladder.asked import Asked
from bench.ladder.rungs import PlannedRung

__all__ = ["run_rung", "say_failed"]


def run_rung(asked: Asked, rung: PlannedRung, methods: Sequence[str], progress: Progress) -> Outcome:
    """Try the learning rates of some methods of a rung and run what was picked on all seeds.

    A search ends with the first cells that fail: nothing is picked where a rate was not tried. Cells of a kept board
    whose weights something needs are removed and made anew.
    """
    while True:
        try:
            _, outcome = run_search(rung.search, rung.arguments(asked, methods), progress, whole_or_ended)
        except Ended as ended:
            if ended.outcome is None:
                continue
            return ended.outcome
        return outcome


class Ended(Exception):
    """A search ends here.

    Args:
        outcome: of the cells that have failed; None where cells were removed, so that the search begins again.
    """

    def __init__(self, outcome: Outcome | None = None) -> None:
        super().__init__()
        self.outcome = outcome


def whole_or_ended(plan: Plan, arguments: RunArguments, progress: Progress) -> Outcome:
    """Run a plan of a search.

    Raises:
        Ended: a cell has failed, or was removed since its weights are needed and are gone.
    """
    gone = {folder.path for cell in plan.cells for folder in merged_in_the_way(cell)}
    for path in sorted(gone):
        progress.warn(f"'{path}' is of a kept board; its weights are needed, so it is trained anew")
        shutil.rmtree(path)
    if gone:
        raise Ended
    outcome = executed(plan, arguments, progress)
    if outcome.failed:
        raise Ended(outcome)
    return outcome


def say_failed(outcome: Outcome) -> None:
    """Name the cells that failed, and why."""
    for label, why in outcome.failed.items():
        print(f"bench: failed: {label}: {''.join(why.splitlines()[:1])}", file=sys.stderr)
