"""Leaks: whether rows of a test or validation split are in the training split too, as they are or nearly so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.tasks.core.example import Example
from bench.tasks.core.task import Task
from bench.verify.near_copies import near_copies

__all__ = ["Leak", "leaks"]

OFFICIAL = "official"
"""Status of a split that is what its publisher gave out."""
MANY, SOME = 0.10, 0.01
"""Shares of the rows of a split from which on a finding is certain, or is to be looked at."""
FEWEST = 2
"""Number of rows that a certain finding has at least."""


@dataclass(frozen=True)
class Leak:
    """One finding about the data of a task.

    Args:
        text: split, number of rows, and where they were found.
        is_certain: whether it makes numbers wrong. A finding in a split that is what its publisher gave out is not:
            published numbers have it, too.
    """

    text: str
    is_certain: bool


def leaks(task: Task, splits: Iterable[str]) -> Iterator[Leak]:
    """Yield what is found of the rows of some splits in the training split, and of test rows in the validation split.

    Args:
        task: with its data.
        splits: names of the splits that runs were evaluated on.
    """
    train = task.split("train")
    for name in splits:
        split = task.split(name)
        rows, place = split.examples, f"{task.name}, {name} split"
        if not rows or name == "train":
            continue
        counts = {"are in the training split, too": n_shared(task, rows, train.examples)}
        if name == "test":
            counts["are in the validation split, too"] = n_shared(task, rows, task.split("valid").examples)
        for what, n in counts.items():
            if n >= FEWEST and n > SOME * len(rows):
                is_certain = n > MANY * len(rows) and split.status != OFFICIAL
                yield Leak(f"{place}: {n} of {len(rows)} rows {what}", is_certain)
        if name == "test" and (text := near_copies(task)):
            yield Leak(f"{place}: {text}", not train.status == split.status == OFFICIAL)


def n_shared(task: Task, rows: Sequence[Example], others: Sequence[Example]) -> int:
    """Return how many rows another split has, too; case and white space do not count."""
    known = {content_of(task, row) for row in others}
    return sum(content_of(task, row) in known for row in rows)


def content_of(task: Task, row: Example) -> tuple[str, str]:
    """Return the normalised source and target of a row."""
    return normal(task.plain_source(row)), normal(row.target)


def normal(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.lower().split())
