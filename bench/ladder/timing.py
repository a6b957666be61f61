"""Timing: how long a step and an evaluation of one rung take, from one short cell of the baseline."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.board.run import executed
from bench.cells.plan import make_plan
from bench.cells.progress import Progress
from bench.errors import RunError
from bench.ladder.asked import Asked
from bench.ladder.rungs import PlannedRung
from bench.leaderboards.statistics.baseline import BASELINE
from bench.store.store import Store

__all__ = ["Timing", "timed"]

STEPS = 20
"""Of the cell that is timed."""


@dataclass(frozen=True)
class Timing:
    """What a rung takes on one worker.

    Args:
        step_s: seconds of an optimiser step.
        evaluation_s: seconds of building the model, writing texts and scoring them.
        step_tokens: target tokens of a step, on average.
    """

    step_s: float
    evaluation_s: float
    step_tokens: float

    def as_dict(self) -> dict[str, float]:
        """Return plain content."""
        return asdict(self)

    def seconds(self, steps: int) -> float:
        """Return how long a cell of so many steps takes.

        >>> Timing(step_s=0.5, evaluation_s=30, step_tokens=2000).seconds(100)
        80.0
        """
        return self.step_s * steps + self.evaluation_s


class StepTimes(Progress):
    """A progress that notes when steps ended.

    Args:
        quiet: as of a progress.
    """

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self.step_ends: list[tuple[int, float]] = []

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Note the time."""
        self.step_ends.append((step, time.monotonic()))
        super().step(step, steps, values)

    @property
    def step_s(self) -> float | None:
        """Seconds of a step behind the first, which has the start in it; None where fewer than two ended."""
        if len(self.step_ends) < 2:
            return None
        (first, begun), (last, ended) = self.step_ends[0], self.step_ends[-1]
        return (ended - begun) / (last - first)


def timed(asked: Asked, rung: PlannedRung, progress: Progress) -> Timing:
    """Train and evaluate a short cell of the baseline in a store that is thrown away.

    Raises:
        RunError: it failed.
    """
    steps = min(STEPS, rung.steps)
    short = replace(rung, steps=steps, finetuned_steps=0)
    with tempfile.TemporaryDirectory() as results:
        alone = replace(asked, results=results, jobs=1)
        arguments = replace(short.arguments(alone, [BASELINE]), seeds=(0,))
        times = StepTimes(progress.quiet)
        with times:
            plan = make_plan(arguments, on_rows=progress.rows)
            begun = time.monotonic()
            outcome = executed(plan, arguments, times)
            seconds = time.monotonic() - begun
        if outcome.failed:
            raise RunError(outcome.failed)
        (cell,) = Store(arguments.results_folder).cells()
        record, circumstances = cell.trained(), cell.provenance()
    assert record is not None
    return timing_of(record, circumstances, seconds, times.step_s)


def timing_of(
    record: Mapping[str, Any], circumstances: Mapping[str, Any], seconds: float, step_s: float | None
) -> Timing:
    """Return the timing of a trained cell.

    Args:
        record: of its training.
        circumstances: that record's provenance.
        seconds: that all of the cell took.
        step_s: seconds of a step; None where too few were seen.
    """
    steps, train_s = record["train"]["steps"], float(circumstances["wall_s"])
    if step_s is None:
        step_s = train_s / steps
    return Timing(round(step_s, 4), round(max(0.0, seconds - train_s), 1), record["train"]["tokens"] / steps)
