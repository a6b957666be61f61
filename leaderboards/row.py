"""Rows of a leaderboard: one method under one configuration and decoding, and its values."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.models import METHODS
from bench.store.store import CellFolder

if TYPE_CHECKING:
    from bench.metrics.sums import Sums

WHY_NOT = "|not applicable: "
"""What parts the signature of a value that there is not from the reason."""


@dataclass(frozen=True)
class StoredItems:
    """What one seed's value is made of, read from the store when it is wanted."""

    cell: CellFolder
    digest: str
    name: str

    def load(self) -> Sums | None:
        """Return it; None where the file is not there or the column is no sum over rows."""
        return self.cell.items(self.digest).get(self.name)


@dataclass(frozen=True)
class Value:
    """One number of a row: the mean over seeds, with the seeds it comes from; none where the metric has no value."""

    by_seed: Mapping[int, float]
    higher_is_better: bool | None
    signature: str
    conflict: bool = False
    why: str = ""  # there is no value
    items: Mapping[int, StoredItems] = field(default_factory=dict)  # by seed, where there are any

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None for a conflict and where the metric has no value."""
        return statistics.fmean(self.by_seed.values()) if self.by_seed and not self.conflict else None

    @property
    def why_none(self) -> str:
        """Why the metric has no value, or nothing."""
        return "" if self.by_seed else self.why or "undefined"

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.by_seed)


@dataclass
class TableRow:
    """One method under one configuration and decoding."""

    method: str
    backbone: str
    decoding: str
    config: Mapping[str, Any]
    found: dict[tuple[str, str], Value] = field(default_factory=dict)  # by metric name and signature
    values: dict[str, Value] = field(default_factory=dict)  # by column
    diverged: int = 0
    seeds: set[int] = field(default_factory=set)
    settings: str = ""
    remark: str = ""  # what a reader must know of this row
    tried: int = 0  # combinations of the grid it was picked from
    controls: tuple[str, ...] = ()  # methods whose gain it would explain away
    keys: set[str] = field(default_factory=set)

    @property
    def untuned(self) -> str:
        """Settings that decide the row's place and that no grid was given for, or nothing."""
        base = METHODS.get(self.method) or METHODS.get(self.method.partition(".")[0])
        return base.tuned_by if base is not None and not self.tried else ""

    @property
    def label(self) -> str:
        """For people."""
        settings = f" ({self.settings})" if self.settings else ""
        marks = [*(["control"] if self.controls else []), *(["untuned"] if self.untuned else [])]
        return self.method + settings + (f" [{', '.join(marks)}]" if marks else "")
