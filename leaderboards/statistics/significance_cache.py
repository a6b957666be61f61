"""Significance cache: tests and intervals of pairs of rows, computed once and kept in a file by what decides them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.cache import cache_root
from bench.base.keys import key_of
from bench.leaderboards.row import Value
from bench.leaderboards.statistics.intervals import bootstrap_differences
from bench.leaderboards.statistics.significance import AT_ONCE, ROUNDS, SwappedSums, compare_all
from bench.leaderboards.statistics.sums_reader import SumsReader, may_be_tested

__all__ = ["SignificanceCache", "cache_file"]

VERSION = 3
"""In the key of what is kept; raise it when a test or an interval would come out otherwise."""

LARGEST = 2**25
"""Bytes of the file: half a million tests."""

ValuePair = tuple[Value, Value]
"""Ours and theirs."""
Numbers = Sequence[float | None] | None


def cache_file() -> Path:
    """Return where p-values and intervals are kept: they cost seconds a table."""
    return cache_root() / "tests.jsonl"


class KeptNumbers:
    """Numbers under keys in one file, a line each: `[key, number, number]`. Several processes may add to it.

    Args:
        path: of the file; None to keep nothing. Where it cannot be read or written, nothing is kept.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.numbers: dict[str, list[float | None]] = {}
        if path is None:
            return
        with contextlib.suppress(OSError):
            for line in path.read_bytes().splitlines():
                with contextlib.suppress(ValueError, TypeError):  # a line that was cut
                    key, low, high = json.loads(line)
                    self.numbers[key] = [low, high]

    def add(self, found: Mapping[str, Sequence[float | None]]) -> None:
        """Keep numbers; a file that has grown too large begins anew."""
        self.numbers.update((key, list(numbers)) for key, numbers in found.items())
        if self.path is None or not found:
            return
        lines = "".join(json.dumps([key, *numbers]) + "\n" for key, numbers in found.items())
        with contextlib.suppress(OSError):  # it is only kept to save time
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size > LARGEST:
                self.path.unlink()
            with self.path.open("ab", buffering=0) as file:
                file.write(lines.encode())


@dataclass
class SignificanceCache:
    """The tests of one table.

    Args:
        rounds: random swaps of a test.
        kept: what was computed before.
        reader: of what values are made of.
        swapped: sums after swaps, which tests of a row share.
    """

    rounds: int = ROUNDS
    kept: KeptNumbers = field(default_factory=lambda: KeptNumbers(None))
    reader: SumsReader = field(default_factory=SumsReader)
    swapped: SwappedSums = field(default_factory=SwappedSums)

    def test(self, ours: Value, theirs: Value) -> tuple[float, float] | None:
        """Return p and difference of two rows; None where they cannot be tested."""
        return self.tests([(ours, theirs)])[0]

    def tests(self, pairs: Sequence[ValuePair]) -> list[tuple[float, float] | None]:
        """Return what `test` returns of each pair. Pairs of one column have as many items, so they cost least."""
        tested = [place for place, pair in enumerate(pairs) if may_be_tested(*pair)]
        tests: list[tuple[float, float] | None] = [None] * len(pairs)
        kept = self._kept("test", [pairs[place] for place in tested], self._compared)
        for place, numbers in zip(tested, kept, strict=True):
            if numbers is not None:
                p, difference = numbers
                assert p is not None
                assert difference is not None
                tests[place] = p, difference
        return tests

    def interval(self, ours: Value, theirs: Value) -> tuple[float | None, float | None]:
        """Return the ends of the bootstrap interval of the difference of two rows that `test` can test."""
        return self.intervals([(ours, theirs)])[0]

    def intervals(self, pairs: Sequence[ValuePair]) -> list[tuple[float | None, float | None]]:
        """Return what `interval` returns of each pair."""
        ends = []
        for numbers in self._kept("interval", pairs, self._resampled):
            assert numbers is not None
            low, high = numbers
            ends.append((low, high))
        return ends

    def _compared(self, pairs: Sequence[ValuePair]) -> list[Numbers]:
        """Test pairs: p and difference of each, None where it cannot be tested."""
        found: list[Numbers] = [None] * len(pairs)
        sides = {}
        for place, (ours, theirs) in enumerate(pairs):
            both = self.reader.sides(ours, theirs)
            if both is not None:
                sides[place] = both
        for place, comparison in zip(
            sides, compare_all(list(sides.values()), self.rounds, swapped=self.swapped), strict=True
        ):
            found[place] = comparison.p, comparison.difference
        return found

    def _resampled(self, pairs: Sequence[ValuePair]) -> list[Numbers]:
        """Return the ends of the interval of each pair."""
        both_sums = []
        for ours, theirs in pairs:
            sides = self.reader.sides(ours, theirs)
            assert sides is not None
            both_sums.append((sides.ours, sides.theirs))
        return [(interval.low, interval.high) for interval in bootstrap_differences(both_sums)]

    def _kept(
        self, kind: str, pairs: Sequence[ValuePair], ask: Callable[[Sequence[ValuePair]], list[Numbers]]
    ) -> list[Numbers]:
        """Return what is kept of each pair, asked for where there is nothing yet; of equal pairs, once."""
        keys = [key_of([VERSION, kind, self.rounds, [_names(ours), _names(theirs)]]) for ours, theirs in pairs]
        by_key = dict(zip(keys, pairs, strict=True))
        found: dict[str, Numbers] = {key: self.kept.numbers.get(key) for key in by_key}
        missing = [key for key, numbers in found.items() if numbers is None]
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            computed = dict(zip(some, ask([by_key[key] for key in some]), strict=True))
            found |= computed
            self.kept.add({key: numbers for key, numbers in computed.items() if numbers is not None})
        return [found[key] for key in keys]


def _names(value: Value) -> dict[str, list[str]]:
    """Return what names the sums of a value, by seed."""
    return {str(seed): [stored.digest, stored.name] for seed, stored in value.sums.items()}
