"""Watched: what a run measures and selects by while it is trained. Nothing is loaded that trains or scores."""

from __future__ import annotations

from bench.base.entries import split_names
from bench.cells.wanted import kinds_of
from bench.config.config import VALIDATED, TrainerConfig
from bench.config.resolve import Method
from bench.errors import UsageError, did_you_mean, nearest
from bench.metrics import find_metric
from bench.metrics.columns import direction_of, expand
from bench.tasks.core.task import Task


def check_watched(trainer: TrainerConfig, method: Method, task: Task) -> None:
    """Refuse a validation that a training of a method could not measure or select by.

    Raises:
        UsageError: as `families_of` and `is_lower_better`, and where the task has no texts to watch.
    """
    if method.is_baseline:
        return
    watched = families_of(trainer, task)
    is_lower_better(trainer, task)
    if watched and "generation" not in kinds_of(method, task):
        raise UsageError(f"trainer.watch needs texts, and {task.name} has no decoding")


def families_of(trainer: TrainerConfig, task: Task) -> list[str]:
    """Return the metric families that are watched in validation.

    Raises:
        UsageError: one is unknown, or reads no texts, or there is no validation.
    """
    if (trainer.watch or trainer.select or trainer.patience) and not trainer.validate:
        raise UsageError(
            "trainer.watch, select and patience need trainer.validate: epochs from one validation to the next"
        )
    names = split_names([trainer.watch])
    texts = [name for name in task.info.metrics if find_metric(name).value.kind == "generation"]
    for name in names:
        if name not in texts:
            near = did_you_mean(name, texts)
            raise UsageError(f"trainer.watch names '{name}', which scores no texts of {task.name}{near}")
    return names


def is_lower_better(trainer: TrainerConfig, task: Task) -> bool:
    """Return which way the column goes that the best step is selected by.

    Raises:
        UsageError: no family that is watched has the column, or neither more nor less of it is better.
    """
    column = trainer.select
    if not column or column in VALIDATED:
        return True
    patterns = columns_of(families_of(trainer, task))
    try:
        higher_is_better = direction_of(column, patterns)
    except KeyError:
        raise UsageError(_no_column(column, patterns, task)) from None
    if higher_is_better is None:
        raise UsageError(f"trainer.select names '{column}', of which neither more nor less is better")
    return not higher_is_better


def columns_of(families: list[str]) -> list[str]:
    """Return the patterns of the columns of metric families, with their signs."""
    return [pattern for family in families for pattern in find_metric(family).value.columns]


def _no_column(column: str, patterns: list[str], task: Task) -> str:
    """Return the error for a column that validation does not measure, with what was meant."""
    known = [*VALIDATED, *(pattern[1:] for pattern in patterns)]
    text = f"trainer.select names '{column}', which this validation does not measure; it measures {', '.join(known)}"
    if near := nearest(column, [*VALIDATED, *names_of(patterns)]):
        return f"{text}; did you mean '{near}'?"
    for family in task.info.metrics:
        if find_metric(family).value.kind == "generation" and column in names_of(columns_of([family])):
            return f"{text}; it is a column of {family}: set trainer.watch={family}"
    return text


def names_of(patterns: list[str]) -> list[str]:
    """Return the columns that patterns with signs stand for."""
    return [name for pattern in patterns for name in expand(pattern[1:])]
