"""Leaks: rows of a test or validation split that the training split has too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.tasks.core.example import Example
from bench.tasks.core.task import Task

OFFICIAL = "official"
"""Status of a split that its publisher gave out."""
CERTAIN_SHARE, NOTED_SHARE = 0.10, 0.01
"""Shares of the rows of a split above which a finding is certain, or is noted."""
MIN_SHARED = 2
"""Least number of shared rows in a finding."""


@dataclass(frozen=True)
class Leak:
    """A finding about the data of a task.

    Args:
        text: split, number of rows, and where they were found.
        is_certain: whether it makes numbers wrong. In an official split it does not: published numbers have it, too.
    """

    text: str
    is_certain: bool


def leaks(task: Task, splits: Iterable[str]) -> Iterator[Leak]:
    """Yield findings about rows of some splits in the training split, and about test rows in the validation split.

    Args:
        task: with its data.
        splits: names of the splits that runs were evaluated on.
    """
    compared = {"valid": {"train": "training"}, "test": {"train": "training", "valid": "validation"}}
    for name in splits:
        rows, status = task.split(name).examples, task.split(name).status
        for other, where in compared.get(name, {}).items():
            n = n_shared(task, rows, task.split(other).examples)
            if n >= MIN_SHARED and n > NOTED_SHARE * len(rows):
                is_certain = n > CERTAIN_SHARE * len(rows) and status != OFFICIAL
                text = f"{task.name}, {name} split: {n} of {len(rows)} rows are in the {where} split, too"
                yield Leak(text, is_certain)


def n_shared(task: Task, rows: Sequence[Example], others: Sequence[Example]) -> int:
    """Return how many rows another split has, too; case and white space do not count."""
    known = {content_of(task, row) for row in others}
    return sum(content_of(task, row) in known for row in rows)


def content_of(task: Task, row: Example) -> tuple[str, str]:
    """Return source and target of a row in lower case with single spaces."""
    source, target = (" ".join(text.lower().split()) for text in (task.plain_source(row), row.target))
    return source, target
