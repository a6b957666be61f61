"""Rows of a leaderboard: one method under one configuration and decoding, and its values."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.keys import key_of
from bench.models import METHODS
from bench.store.store import CellFolder

if TYPE_CHECKING:
    from bench.metrics.sums import Sums
    from bench.store.sums_file import SumsFile

WHY_NOT = "|not applicable: "
"""What parts the signature of a value that there is not from the reason."""


@dataclass(frozen=True, slots=True)
class StoredSums:
    """What one seed's value is made of, read from the store when it is wanted."""

    cell: CellFolder
    digest: str
    name: str

    def load(self) -> Sums | None:
        """Return it; None where the file is not there or the column is no sum over rows."""
        file = self.file()
        if file is None:
            return None
        return file.column(self.name)

    def file(self) -> SumsFile | None:
        """Return the file; None where it is not there."""
        return self.cell.sums_file(self.digest)

    @property
    def path(self) -> Path:
        """The file."""
        return self.cell.sums_path(self.digest)


@dataclass(slots=True)
class Value:
    """One number of a row: the mean over seeds, with the seeds it comes from; none where the metric has no value.

    Args:
        by_seed: the number of each seed.
        higher_is_better: None where neither way is better.
        signature: everything the number depends on.
        conflict: whether one seed has two different numbers.
        why: why there is no value, as the metric says.
        sums: what the number of a seed is made of, for the seeds that have it.
    """

    by_seed: dict[int, float]
    higher_is_better: bool | None
    signature: str
    conflict: bool = False
    why: str = ""
    sums: dict[int, StoredSums] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """Mean over seeds; None for a conflict and where the metric has no value."""
        if self.conflict or not self.by_seed:
            return None
        return statistics.fmean(self.by_seed.values())

    @property
    def why_none(self) -> str:
        """Why the metric has no value, or nothing."""
        if self.by_seed:
            return ""
        return self.why or "undefined"

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.by_seed)


@dataclass
class TableRow:
    """One method under one configuration and decoding.

    Args:
        method, backbone, decoding: names; no backbone where nothing is trained, no decoding where nothing is generated.
        config: what its cells share, their seed left out; empty for what people wrote.
        by_signature: values by metric name and signature, as they are stored.
        values: the same by column of the table.
        diverged: how many seeds have no number because training diverged.
        seeds: that were run.
        settings: what parts it from other rows of its method and backbone, for people.
        remark: what a reader must know of it.
        tried: combinations of settings it was picked from.
        picked: which settings these were, how many, and by what one was picked, for people; empty without a search.
        trial_losses: the validation NLL of each combination, nats per token; None for one that has none.
        tie_break_losses: the same of those that tied and were repeated at full length; none where one was clearly best.
        controls: methods whose gain it would explain away.
        keys: of its trained cells.
        imported: whose texts they are, where another system wrote them.
        parameters: of its model; None where it has none, or the record does not say.
        unpinned: hub copies of backbones and rows that were asked for by a branch, and what to do, for people.
    """

    method: str
    backbone: str
    decoding: str
    config: Mapping[str, Any]
    by_signature: dict[tuple[str, str], Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    diverged: int = 0
    seeds: set[int] = field(default_factory=set)
    settings: str = ""
    remark: str = ""
    tried: int = 0
    picked: str = ""
    trial_losses: tuple[float | None, ...] = ()
    tie_break_losses: tuple[float | None, ...] = ()
    controls: tuple[str, ...] = ()
    keys: set[str] = field(default_factory=set)
    unpinned: set[str] = field(default_factory=set)
    imported: str = ""
    parameters: int | None = None

    @property
    def id(self) -> str:
        """Its method, and a hash of everything else that parts it from other rows of a table."""
        return f"{self.method}-{key_of({'config': self.config, 'decoding': self.decoding})[:6]}"

    def remember(self, remark: str) -> None:
        """Add a remark that it does not have yet."""
        if remark not in self.remark:
            self.remark = "; ".join(filter(None, [self.remark, remark]))

    @property
    def n(self) -> int:
        """How many seeds it is the mean of: those of the value that has most."""
        return max((value.n for value in self.values.values()), default=0)

    def means(self, columns: Iterable[str]) -> dict[str, float | None]:
        """Return its means of some columns, None where it has none."""
        means: dict[str, float | None] = dict.fromkeys(columns)
        for column in means:
            if column in self.values:
                means[column] = self.values[column].mean
        return means

    @property
    def untuned(self) -> str:
        """Settings that decide the row's place and that no grid was given for, or nothing."""
        entry = METHODS.get(self.method) or METHODS.get(self.method.partition(".")[0])
        if entry is None or self.tried:
            return ""
        return entry.tuned_by

    @property
    def marks(self) -> list[str]:
        """What a reader must know before the numbers: some of `control`, `untuned` and `imported`."""
        marks = []
        if self.controls:
            marks.append("control")
        if self.untuned:
            marks.append("untuned")
        if self.imported:
            marks.append("imported")
        return marks

    @property
    def label(self) -> str:
        """Method, settings and marks, for people."""
        label = self.method
        if self.settings:
            label += f" ({self.settings})"
        if self.marks:
            label += f" [{', '.join(self.marks)}]"
        return label
