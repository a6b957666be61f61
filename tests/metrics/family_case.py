"""What the tester of every metric family knows of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.metrics.family_rows import Gold, Rows, Values, written


@dataclass(frozen=True)
class Case:
    """What the tester knows of a family.

    Args:
        rows: as stored, in no order.
        gold: what they are compared with.
        functions: columns by functions that stand beside the scorer; none where there are no such functions.
        best: makes rows and gold that are as good as can be.
        perfect: columns of such rows.
        empty: columns where every text is empty; None for what has no value then; `...` for no such rows.
        doubled: columns that another copy of every row changes, by definition.
    """

    rows: Rows
    gold: Gold
    functions: Callable[[Rows, Gold], Values] | None = None
    best: Callable[[Rows, Gold], tuple[Rows, Gold]] | None = None
    perfect: Mapping[str, float] = field(default_factory=dict)
    empty: Mapping[str, float | None] | None = None
    doubled: frozenset[str] = frozenset()


ROWS, GOLD = written()
