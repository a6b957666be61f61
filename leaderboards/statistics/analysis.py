"""Analysis: the intervals and tests of a leaderboard.

Every value has its 95 % t interval over seeds, from three seeds on. Every value of a shown column has its difference
from the baseline of the same backbone and decoding, paired by seed, with a t interval and a p-value; and the p-value of
the paired randomisation test over test items, where the column is a sum over items. Each of the two is corrected by
Holm over the rows of its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.row import Value
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.statistics.paired import holm, paired_difference
from bench.leaderboards.statistics.significance import ROUNDS, compare_all, may_be_tested
from bench.leaderboards.statistics.sums_reader import SumsReader
from bench.leaderboards.table import Table

__all__ = ["Difference", "add_statistics", "differences", "with_holm"]


@dataclass(frozen=True)
class Difference:
    """The difference of two values; its fields are those of `Value`."""

    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_items: float | None = None


def add_statistics(table: Table, rounds: int = ROUNDS) -> None:
    """Give the values of a table their statistics.

    Args:
        table: as it is shown; tests are of its shown columns, intervals over seeds of all columns.
        rounds: random swaps of a test over items.
    """
    tested: list[tuple[str, Value, Value, str]] = []
    for row in table.rows:
        for value in row.values.values():
            _give(value, Difference(), "")
            value.half = None if value.mean is None else seed_mean(value.repeated).half
        place = baseline_of(table, row)
        if place is None:
            continue
        base, against = table.rows[place], table.rows[place].id
        for column in table.columns:
            ours, theirs = row.values.get(column), base.values.get(column)
            if ours is not None and theirs is not None and ours.higher_is_better is not None:
                tested.append((column, ours, theirs, against))
    found = differences([(ours, theirs) for _, ours, theirs, _ in tested], rounds)
    for column in table.columns:
        family = [
            (ours, against, difference)
            for (name, ours, _, against), difference in zip(tested, found, strict=True)
            if name == column and difference is not None
        ]
        corrected = with_holm([difference for *_, difference in family])
        for (ours, against, _), difference in zip(family, corrected, strict=True):
            _give(ours, difference, against)


def _give(value: Value, difference: Difference, against: str) -> None:
    """Give a value its difference from the row of an id."""
    for name, number in vars(difference).items():
        setattr(value, name, number)
    value.against = against


def differences(pairs: Sequence[tuple[Value, Value]], rounds: int = ROUNDS) -> list[Difference | None]:
    """Return the difference of each pair of values, with p-values that are not corrected; None without a shared seed.

    Args:
        pairs: ours and theirs, of one column each; the pairs of a table cost least together.
        rounds: random swaps of the test over items.
    """
    found: list[Difference | None] = [None] * len(pairs)
    reader, tested = SumsReader(), {}
    for place, (ours, theirs) in enumerate(pairs):
        if ours.mean is None or theirs.mean is None:
            continue
        effect = paired_difference(ours.by_seed, theirs.by_seed)
        if effect is None:
            continue
        interval = effect.interval
        found[place] = Difference(interval.value, interval.low, interval.high, effect.p)
        seeds = sorted(effect.by_seed)
        first, second = reader.over_seeds(ours, seeds), reader.over_seeds(theirs, seeds)
        if first is not None and second is not None and may_be_tested(first, second):
            tested[place] = first, second
    for place, p in zip(tested, compare_all(list(tested.values()), rounds), strict=True):
        known = found[place]
        assert known is not None
        found[place] = replace(known, p_items=p)
    return found


def with_holm(family: Sequence[Difference]) -> list[Difference]:
    """Return differences with both p-values corrected by Holm over all of them."""
    seeds, items = _corrected([known.p for known in family]), _corrected([known.p_items for known in family])
    return [replace(known, p=p, p_items=q) for known, p, q in zip(family, seeds, items, strict=True)]


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected by Holm over those there are."""
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]
