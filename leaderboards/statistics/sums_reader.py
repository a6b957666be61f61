"""Sums reader: the sufficient statistics of values, read from their files; the files read last are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.errors import DamagedError
from bench.leaderboards.row import StoredSums, Value
from bench.leaderboards.statistics.significance import over_seeds
from bench.metrics.sums import Sums
from bench.store.sums_file import SumsFile

__all__ = ["SumsReader", "has_sums"]

BYTES_HELD = 3 * 2**24
"""Of files, at a time."""


@dataclass
class SumsReader:
    """Reads the sufficient statistics of values. A file has those of many columns and is read once.

    Args:
        files: that were read last, by path; None for one that is not there or is damaged.
        size: of them, in bytes.
        summed: what `over_seeds` has returned.
    """

    files: dict[str, SumsFile | None] = field(default_factory=dict)
    size: int = 0
    summed: dict[tuple[tuple[int, str, str], ...], Sums | None] = field(default_factory=dict)

    def sums(self, value: Value) -> dict[int, Sums]:
        """Return the statistics of a value, by seed; empty where a seed has none or the value is a conflict."""
        if not has_sums(value):
            return {}
        by_seed = {}
        for seed, stored in value.sums.items():
            file = self._file(stored)
            if file is None or (column := file.column(stored.name)) is None:
                return {}
            by_seed[seed] = column
        return by_seed

    def over_seeds(self, value: Value, seeds: Sequence[int]) -> Sums | None:
        """Return the statistics of a value summed over some of its seeds; None where they are not all there.

        None too where the seeds have unlike numbers of items.
        """
        if not has_sums(value):
            return None
        key = tuple((seed, str(value.sums[seed].path), value.sums[seed].name) for seed in seeds)
        if key not in self.summed:
            by_seed = self.sums(value)
            runs = [by_seed[seed] for seed in seeds if seed in by_seed]
            alike = bool(runs) and len({(run.form, len(run)) for run in runs}) == 1
            self.summed[key] = over_seeds(runs) if alike else None
        return self.summed[key]

    def _file(self, stored: StoredSums) -> SumsFile | None:
        """Return the file of one seed's statistics; None where it is not there or is damaged."""
        key = str(stored.path)
        if key not in self.files:
            if self.size > BYTES_HELD:
                self.files, self.size = {}, 0
            try:
                file = stored.file()
            except DamagedError:  # the reader of the store lists it
                return None
            self.files[key] = file
            if file is not None:
                self.size += file.nbytes
        return self.files[key]


def has_sums(value: Value) -> bool:
    """Return whether every seed of a value has sufficient statistics, and the value is no conflict."""
    return bool(value.sums) and not value.conflict and value.sums.keys() == value.by_seed.keys()
