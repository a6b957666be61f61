"""What the tester of every metric family knows of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.metrics.family_rows import (
    Gold,
    Rows,
    Values,
    written,
)


@dataclass(frozen=True)
class Case:
    """What the tester knows of a family.

    Args:
        rows: as stored, in no order.
        gold: what they are compared with.
        make: returns its classes.
        feed: updates them with some of `pieces`.
        read: returns what the classes compute, by column.
        functions: the same columns by the pure functions.
        pieces: what the classes are fed; by default the rows.
        within: largest difference of class and function: 0 of integers, 1e-12 of float sums, more of float32 models.
        perfect: columns of rows that are as good as can be, by `best`.
        best: makes such rows and gold.
        empty: columns where every text is empty; None for what has no value then; `...` for no such rows.
        doubled: columns that another copy of every row changes, by definition.
    """

    rows: Rows
    gold: Gold
    make: Callable[[], dict[str, Any]]
    feed: Callable[[Mapping[str, Any], Any, Gold], None]
    functions: Callable[[Rows, Gold], Values]
    read: Callable[[Mapping[str, Any]], Values]
    pieces: Sequence[Any] = ()
    within: float = 0.0
    best: Callable[[Rows, Gold], tuple[Rows, Gold]] | None = None
    perfect: Mapping[str, float] = field(default_factory=dict)
    empty: Mapping[str, float | None] | None = None
    doubled: frozenset[str] = frozenset()


ROWS, GOLD = written()
SUMS = 1e-12
"""Of classes that add up in float64."""


def scalars(metrics: Mapping[str, Any]) -> Values:
    """Classes of one number, by column."""
    return {name: metric.compute().item() for name, metric in metrics.items()}


def spread(metrics: Mapping[str, Any]) -> Values:
    """Classes of several numbers: names are columns with a comma between."""
    return {name: value for names, metric in metrics.items()
            for name, value in zip(names.split(), metric.compute().reshape(-1).tolist(), strict=True)}  # fmt: skip
