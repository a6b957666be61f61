"""Sums reader: what values are made of, read from their files and summed over seeds; what was read last is held."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import DamagedError
from bench.leaderboards.row import StoredSums, Value
from bench.leaderboards.statistics.significance import Sides, over_seeds
from bench.metrics.sums import Sums
from bench.store.sums_file import SumsFile

__all__ = ["SumsReader", "has_sums", "may_be_tested"]

FILES_HELD = 3 * 2**24
"""Bytes of files that are held at a time."""
SUMS_HELD = 2**24
"""Bytes of sums over seeds that are held at a time."""

Names = tuple[tuple[int, Path, str, str], ...]
"""Of each seed of a value: the seed, the cell's folder, the hash of the file and the column."""


@dataclass(frozen=True)
class Summed:
    """A value's sums over some of its seeds; `sizes` are the numbers of items of all its seeds."""

    sums: Sums
    sizes: frozenset[int]


@dataclass
class SumsReader:
    """Reads the sums of values. The files of a table are read once, where they are not more than can be held.

    Args:
        files: that were read last, by path; None for one that is not there.
        file_bytes: of them.
        summed: what was made of them last, by names and seeds.
        summed_bytes: of them.
    """

    files: dict[str, SumsFile | None] = field(default_factory=dict)
    file_bytes: int = 0
    summed: dict[tuple[Names, tuple[int, ...]], Summed] = field(default_factory=dict)
    summed_bytes: int = 0

    def sums(self, value: Value) -> dict[int, Sums]:
        """Return the sums of a value, by seed; empty where a seed lacks it or the value is a conflict."""
        if not has_sums(value):
            return {}
        by_seed = {}
        for seed, stored in value.sums.items():
            file = self._file(stored)
            if file is None or (column := file.column(stored.name)) is None:
                return {}
            by_seed[seed] = column
        return by_seed

    def sides(self, ours: Value, theirs: Value) -> Sides | None:
        """Return two values over the seeds that both have; None where they cannot be tested.

        Raises:
            ValueError: unlike forms, or a value that is no number.
        """
        if not may_be_tested(ours, theirs):
            return None
        seeds = tuple(sorted(ours.sums.keys() & theirs.sums.keys()))
        our_sums, their_sums = self._over_seeds(ours, seeds), self._over_seeds(theirs, seeds)
        if our_sums is None or their_sums is None or our_sums.sizes != their_sums.sizes:
            return None
        return Sides(our_sums.sums, their_sums.sums, seeds)

    def _over_seeds(self, value: Value, seeds: tuple[int, ...]) -> Summed | None:
        """Return the sums of a value over some of its seeds; None where a seed lacks them."""
        names = tuple((seed, stored.cell.path, stored.digest, stored.name) for seed, stored in value.sums.items())
        if (names, seeds) not in self.summed:
            by_seed = self.sums(value)
            if not by_seed:
                return None
            if self.summed_bytes > SUMS_HELD:
                self.summed, self.summed_bytes = {}, 0
            summed = Summed(over_seeds([by_seed[seed] for seed in seeds]), frozenset(map(len, by_seed.values())))
            self.summed[names, seeds] = summed
            self.summed_bytes += summed.sums.values.nbytes
        return self.summed[names, seeds]

    def _file(self, stored: StoredSums) -> SumsFile | None:
        """Return the file of one seed's sums; None where it is not there or is damaged."""
        key = str(stored.path)
        if key not in self.files:
            if self.file_bytes > FILES_HELD:
                self.files, self.file_bytes = {}, 0
            try:
                file = stored.file()
            except DamagedError:  # who reads the store lists it
                return None
            self.files[key] = file
            if file is not None:
                self.file_bytes += file.nbytes
        return self.files[key]


def has_sums(value: Value) -> bool:
    """Return whether every seed of a value has what it is made of, and the value is no conflict."""
    return bool(value.sums) and not value.conflict and value.sums.keys() == value.by_seed.keys()


def may_be_tested(ours: Value, theirs: Value) -> bool:
    """Return whether two values have sums of the same seed."""
    return has_sums(ours) and has_sums(theirs) and not ours.sums.keys().isdisjoint(theirs.sums)
