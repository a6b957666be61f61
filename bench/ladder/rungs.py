"""Rungs: how long the models of each size are trained, on how much text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.cells.plan import make_plan
from bench.cells.progress import Progress
from bench.config.arguments import RunArguments
from bench.config.config import steps_of
from bench.config.resolve import find_method, recipe_of
from bench.cost.training_rows import training_rows
from bench.errors import UsageError
from bench.ladder.asked import MOST_EPOCHS, PRESET, Asked
from bench.ladder.rates import Rates, rate_scale
from bench.ladder.sizes import Size
from bench.leaderboards.statistics.baseline import BASELINE
from bench.tasks import find_task

__all__ = ["PlannedRung", "planned_rungs"]


@dataclass(frozen=True)
class PlannedRung:
    """One size of model and its training.

    Args:
        size: of the model.
        steps: optimiser steps.
        finetuned_steps: of a method that goes on from another one's weights; 0 where no method does.
        rows: of the training split.
        batch_size: rows of a step.
        scale: of the learning rates, before the trials.
    """

    size: Size
    steps: int
    finetuned_steps: int
    rows: int
    batch_size: int
    scale: float

    @property
    def epochs(self) -> float:
        """Passes over the training rows."""
        return self.steps * self.batch_size / self.rows

    @property
    def most_epochs(self) -> float:
        """The same with the steps of a fine-tuning."""
        return (self.steps + self.finetuned_steps) * self.batch_size / self.rows

    @property
    def search(self) -> Rates:
        """The trials of every method."""
        return Rates(self.scale)

    @property
    def sets(self) -> tuple[str, ...]:
        """Size and steps as they are typed after --set."""
        sets = (*self.size.sets, f"trainer.steps={self.steps}")
        if self.finetuned_steps:
            sets = (*sets, f"finetuned:trainer.steps={self.finetuned_steps}")
        return sets

    def arguments(self, asked: Asked, methods: Sequence[str]) -> RunArguments:
        """Return the `bench run` of some methods on this rung."""
        sets = self.sets
        if not any(find_method(name).parent for name in methods):
            sets = replace(self, finetuned_steps=0).sets
        return asked.arguments(tuple(methods), sets)


def planned_rungs(asked: Asked, methods: Sequence[str], progress: Progress) -> tuple[PlannedRung, ...]:
    """Return the rungs of a ladder, smallest first.

    Args:
        asked: the ladder.
        methods: that are trained.
        progress: told where the text is from.

    Raises:
        UsageError: a rung would pass over the text more than `MOST_EPOCHS` times.
    """
    plan = make_plan(asked.arguments((BASELINE,), ()), progress.say, progress.rows)
    cell = plan.cells[0]
    rows, batch_size = training_rows(cell).rows, cell.config.trainer.batch_size
    recipe = recipe_of(find_task(asked.task).value, PRESET)
    share = 0.0
    if any(find_method(name).parent for name in methods):
        share = finetuned_share(recipe)
    rungs = []
    for size, epochs in zip(asked.sizes, asked.epochs, strict=True):
        steps = steps_of(epochs, rows, batch_size)
        finetuned_steps = 0
        if share:
            finetuned_steps = max(1, round(share * steps))
        rung = PlannedRung(size, steps, finetuned_steps, rows, batch_size, rate_scale(size.width, recipe))
        refuse_repeated_text(rung)
        rungs.append(rung)
    return tuple(rungs)


def finetuned_share(recipe: Mapping[str, Any]) -> float:
    """Return the steps of a fine-tuning in a recipe over those of a training.

    >>> finetuned_share({"trainer.steps": 300, "finetuned:trainer.steps": 75})
    0.25
    """
    steps = recipe.get("trainer.steps")
    if not steps:
        return 1.0
    return float(recipe.get("finetuned:trainer.steps", steps) / steps)


def refuse_repeated_text(rung: PlannedRung) -> None:
    """Refuse a rung that reads its text too often.

    Raises:
        UsageError: saying how often.
    """
    if rung.most_epochs > MOST_EPOCHS:
        raise UsageError(
            f"rung {rung.size.name} would read its {rung.rows:,} training rows {rung.most_epochs:.2f} times, with a "
            f"fine-tuning; a ladder does at most {MOST_EPOCHS:g} times. Give fewer --epochs, or more text"
        )
