"""Significance cache: tests and intervals of pairs of rows, asked once and kept by what decides them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.cache import cache_root
from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.errors import DamagedError, StoreError
from bench.leaderboards.row import StoredSums, Value
from bench.leaderboards.statistics.intervals import bootstrap_difference
from bench.leaderboards.statistics.significance import ROUNDS, compare, over_seeds
from bench.metrics.sums import Sums

__all__ = ["SignificanceCache", "cache_folder", "has_sums"]

VERSION = 2
"""In the key of what is kept; raise it when a test or an interval would come out otherwise."""

HELD = 2**26
"""Bytes of sums that are held at a time."""

Numbers = Sequence[float | None] | None


def cache_folder() -> Path:
    """Return where p-values and intervals are kept: they cost seconds a table."""
    return cache_root() / "tests"


@dataclass
class SignificanceCache:
    """The tests of one table.

    Args:
        rounds: random swaps of a test.
        folder: where results are kept; None to keep none.
        loaded: the sums of values that were read last, by file and column.
        held: bytes of them.
    """

    rounds: int = ROUNDS
    folder: Path | None = None
    loaded: dict[tuple[str, str], Sums | None] = field(default_factory=dict)
    held: int = 0

    def items(self, value: Value) -> dict[int, Sums]:
        """Return the sums of a value, by seed; empty where a seed lacks it or the value is a conflict."""
        if not has_sums(value):
            return {}
        by_seed = {}
        for seed, stored in value.sums.items():
            items = self._loaded(stored)
            if items is None:
                return {}
            by_seed[seed] = items
        return by_seed

    def test(self, ours: Value, theirs: Value) -> tuple[float, float] | None:
        """Return p and difference of two rows; None where they cannot be tested."""
        if not may_be_tested(ours, theirs):
            return None

        def ask() -> Numbers:
            our_items, their_items = self.items(ours), self.items(theirs)
            if not set(our_items) & set(their_items) or _sizes(our_items) != _sizes(their_items):
                return None
            comparison = compare(our_items, their_items, self.rounds)
            return comparison.p, comparison.difference

        numbers = self._kept("test", ours, theirs, ask)
        if numbers is None:
            return None
        p, difference = numbers
        assert p is not None
        assert difference is not None
        return p, difference

    def interval(self, ours: Value, theirs: Value) -> tuple[float | None, float | None]:
        """Return the ends of the bootstrap interval of the difference of two rows that `test` can test."""

        def ask() -> Numbers:
            our_items, their_items = self.items(ours), self.items(theirs)
            seeds = sorted(set(our_items) & set(their_items))
            our_sums = over_seeds([our_items[seed] for seed in seeds])
            interval = bootstrap_difference(our_sums, over_seeds([their_items[seed] for seed in seeds]))
            return interval.low, interval.high

        numbers = self._kept("interval", ours, theirs, ask)
        assert numbers is not None
        low, high = numbers
        return low, high

    def _loaded(self, stored: StoredSums) -> Sums | None:
        """Return the sums of one seed's value; None where its file is not there or is damaged."""
        key = (str(stored.path), stored.name)
        if key not in self.loaded:
            if self.held > HELD:
                self.loaded, self.held = {}, 0
            try:
                self.loaded[key] = items = stored.load()
            except DamagedError:  # who reads the store lists it
                return None
            if items is not None:
                self.held += items.values.nbytes
        return self.loaded[key]

    def _kept(self, kind: str, ours: Value, theirs: Value, ask: Callable[[], Numbers]) -> Numbers:
        """Return what is kept of two rows, asked for where there is nothing yet."""
        if self.folder is None:
            return ask()
        path = self.folder / f"{key_of([VERSION, kind, self.rounds, [_names(ours), _names(theirs)]])}.json"
        try:
            kept: Numbers = json.loads(path.read_bytes())
            return kept
        except (OSError, ValueError):
            numbers = ask()
        if numbers is not None:
            with contextlib.suppress(StoreError):  # it is only kept to save time
                write_atomic(path, json.dumps(numbers).encode(), replace=True, synced=False)
        return numbers


def has_sums(value: Value) -> bool:
    """Return whether every seed of a value has what it is made of, and the value is no conflict."""
    return bool(value.sums) and not value.conflict and value.sums.keys() == value.by_seed.keys()


def may_be_tested(ours: Value, theirs: Value) -> bool:
    """Return whether two values have sums of the same seed."""
    return has_sums(ours) and has_sums(theirs) and not ours.sums.keys().isdisjoint(theirs.sums)


def _sizes(by_seed: dict[int, Sums]) -> set[int]:
    return {len(items) for items in by_seed.values()}


def _names(value: Value) -> dict[str, list[str]]:
    """Return what names the sums of a value, by seed."""
    return {str(seed): [stored.digest, stored.name] for seed, stored in value.sums.items()}
