"""Analysis: the intervals and tests of a leaderboard.

Every value has its 95 % t interval over seeds, from three seeds on. Every value of a shown column has its difference
from the baseline of the same backbone and decoding, paired by seed, with a t interval and a p-value; and beside them
the p-value of the paired randomisation test over test items, where the column is a sum over items. Each of the two is
corrected by Holm over the rows of its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.statistics.paired import holm, paired_difference
from bench.leaderboards.statistics.significance import ROUNDS, compare_all, may_be_tested
from bench.leaderboards.statistics.sums_reader import SumsReader
from bench.leaderboards.statistics.value_statistics import TableStatistics, ValueStatistics
from bench.leaderboards.table import Table

__all__ = ["differences", "table_statistics", "with_holm"]


def table_statistics(table: Table, rounds: int = ROUNDS) -> TableStatistics:
    """Return the statistics of a table.

    Args:
        table: as it is shown; tests are of its shown columns, intervals over seeds of all columns.
        rounds: random swaps of a test over items.
    """
    values = [_intervals(row) for row in table.rows]
    tested = []
    for place, row in enumerate(table.rows):
        base = baseline_of(table, row)
        if base is None:
            continue
        for column in table.columns:
            ours, theirs = row.values.get(column), table.rows[base].values.get(column)
            if ours is not None and theirs is not None and ours.higher_is_better is not None:
                tested.append((place, base, column, ours, theirs))
    found = differences([(ours, theirs) for *_, ours, theirs in tested], rounds)
    by_column: dict[str, list[tuple[int, ValueStatistics]]] = {}
    for (place, base, column, *_), difference in zip(tested, found, strict=True):
        if difference is not None:
            half = values[place][column].half
            by_column.setdefault(column, []).append((place, replace(difference, half=half, against=base)))
    for column, of_rows in by_column.items():
        corrected = with_holm([known for _, known in of_rows])
        for (place, _), known in zip(of_rows, corrected, strict=True):
            values[place][column] = known
    return TableStatistics(values)


def _intervals(row: TableRow) -> dict[str, ValueStatistics]:
    """Return the interval of every value of a row that has a mean: over trainings, or over one's sampling seeds."""
    intervals = {}
    for column, value in row.values.items():
        if value.mean is not None:
            intervals[column] = ValueStatistics(seed_mean(value.repeated).half)
    return intervals


def differences(pairs: Sequence[tuple[Value, Value]], rounds: int = ROUNDS) -> list[ValueStatistics | None]:
    """Return the difference of each pair of values, with p-values that are not corrected; None without a shared seed.

    Args:
        pairs: ours and theirs, of one column each; the pairs of a table cost least together.
        rounds: random swaps of the test over items.
    """
    found: list[ValueStatistics | None] = [None] * len(pairs)
    reader, tested = SumsReader(), {}
    for place, (ours, theirs) in enumerate(pairs):
        if ours.mean is None or theirs.mean is None:
            continue
        effect = paired_difference(ours.by_seed, theirs.by_seed)
        if effect is None:
            continue
        interval = effect.interval
        found[place] = ValueStatistics(None, interval.value, interval.low, interval.high, effect.p)
        seeds = sorted(effect.by_seed)
        first, second = reader.over_seeds(ours, seeds), reader.over_seeds(theirs, seeds)
        if first is not None and second is not None and may_be_tested(first, second):
            tested[place] = first, second
    for place, p in zip(tested, compare_all(list(tested.values()), rounds), strict=True):
        known = found[place]
        assert known is not None
        found[place] = replace(known, p_items=p)
    return found


def with_holm(family: Sequence[ValueStatistics]) -> list[ValueStatistics]:
    """Return differences with both p-values corrected by Holm over all of them."""
    seeds, items = _corrected([known.p for known in family]), _corrected([known.p_items for known in family])
    return [replace(known, p=p, p_items=q) for known, p, q in zip(family, seeds, items, strict=True)]


def _corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected by Holm over those there are."""
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(corrected) for p in p_values]
