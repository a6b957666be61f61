"""Significance cache: tests and intervals of pairs of rows, asked once and kept by what decides them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.errors import StoreError
from bench.leaderboards.row import Value
from bench.leaderboards.statistics.intervals import bootstrap_difference
from bench.leaderboards.statistics.significance import ROUNDS, compare, over_seeds
from bench.metrics.sums import Sums

__all__ = ["SignificanceCache", "cache_folder"]

VERSION = 2
"""In the key of what is kept; raise it when a test or an interval would come out otherwise."""

Numbers = tuple[float | None, ...]


def cache_folder() -> Path:
    """Return where p-values and intervals are kept: they cost seconds a table."""
    return Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "objective-bench")) / "tests"


@dataclass
class SignificanceCache:
    """The tests of one table.

    Args:
        rounds: random swaps of a test.
        folder: where results are kept; None to keep none.
        loaded: what values are made of, by file and column, as far as it was read.
    """

    rounds: int = ROUNDS
    folder: Path | None = None
    loaded: dict[tuple[str, str], Sums | None] = field(default_factory=dict)

    def items(self, value: Value) -> dict[int, Sums]:
        """Return the sums of a value, by seed; empty where a seed lacks it or the value is a conflict."""
        if value.conflict or set(value.items) != set(value.by_seed):
            return {}
        by_seed = {}
        for seed, stored in value.items.items():
            key = (str(stored.cell.items_path(stored.digest)), stored.name)
            if key not in self.loaded:
                self.loaded[key] = stored.load()
            items = self.loaded[key]
            if items is None:
                return {}
            by_seed[seed] = items
        return by_seed

    def test(self, ours: Value, theirs: Value) -> tuple[float, float] | None:
        """Return p and difference of two rows; None where they cannot be tested."""
        our_items, their_items = self.items(ours), self.items(theirs)
        if not set(our_items) & set(their_items) or _sizes(our_items) != _sizes(their_items):
            return None

        def ask() -> Numbers:
            comparison = compare(our_items, their_items, self.rounds)
            return comparison.p, comparison.difference

        p, difference = self._kept("test", ours, theirs, ask)
        assert p is not None
        assert difference is not None
        return p, difference

    def interval(self, ours: Value, theirs: Value) -> tuple[float | None, float | None]:
        """Return the ends of the bootstrap interval of the difference of two rows that `test` can test."""
        our_items, their_items = self.items(ours), self.items(theirs)
        seeds = sorted(set(our_items) & set(their_items))

        def ask() -> Numbers:
            our_sums = over_seeds([our_items[seed] for seed in seeds])
            interval = bootstrap_difference(our_sums, over_seeds([their_items[seed] for seed in seeds]))
            return interval.low, interval.high

        low, high = self._kept("interval", ours, theirs, ask)
        return low, high

    def _kept(self, kind: str, ours: Value, theirs: Value, ask: Callable[[], Numbers]) -> Numbers:
        """Return what is kept of two rows, asked for where there is nothing yet."""
        if self.folder is None:
            return ask()
        path = self.folder / f"{key_of([VERSION, kind, self.rounds, [_names(ours), _names(theirs)]])}.json"
        if path.is_file():
            return tuple(json.loads(path.read_text()))
        numbers = ask()
        with suppress(StoreError):  # a full disk or a read-only home: then they are computed again
            write_atomic(path, json.dumps(numbers).encode())
        return numbers


def _sizes(by_seed: dict[int, Sums]) -> set[int]:
    return {len(items) for items in by_seed.values()}


def _names(value: Value) -> dict[str, list[str]]:
    """Return what names the sums of a value, by seed."""
    return {str(seed): [stored.digest, stored.name] for seed, stored in value.items.items()}
