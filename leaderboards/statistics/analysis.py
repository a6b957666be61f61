"""Analysis: intervals, tests and ties of a leaderboard, from what its values are made of.

Of each shown column: the 95 % interval over seeds (from three seeds on); the difference from the baseline of the same
backbone and decoding with its bootstrap interval over items, and paired randomisation, corrected by Holm over all rows
and columns of the table; groups of rows that do not differ from their best. Columns that are no sums over rows (KLD,
Self-BLEU, MAUVE) have the first alone. Differences and groups are marks only where seeds tell a column's rows apart
(`seed_spread.markable`): a test over items says that two trained models differ, not that two methods do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.statistics.overall import closest
from bench.leaderboards.statistics.seed_spread import markable, unmarked
from bench.leaderboards.statistics.significance import holm, tie_groups
from bench.leaderboards.statistics.significance_cache import SignificanceCache
from bench.leaderboards.statistics.sums_reader import has_sums
from bench.leaderboards.statistics.tradeoff import at_equal
from bench.leaderboards.statistics.value_statistics import TableStatistics, ValueStatistics
from bench.leaderboards.statistics.wins import wins_of
from bench.leaderboards.table import Table

__all__ = ["table_statistics"]


def table_statistics(table: Table, cache: SignificanceCache) -> TableStatistics:
    """Return what is known of a table beside its means.

    Args:
        table: as it is shown; tests are of its shown columns, intervals over seeds of all.
        cache: of its tests.
    """
    columns = {column: None for row in table.rows for column in row.values}
    may_be_marked = {column: markable(table, column) for column in columns}
    values = [_intervals(row) for row in table.rows]
    baselines = [baseline_of(table, row) for row in table.rows]
    differences: list[Difference] = []
    groups = {}
    for column in table.columns:  # both of a column, so that its files are read once
        differences += _differences(table, column, baselines, cache)
        if may_be_marked.get(column):
            groups[column] = _groups(table, column, cache)
    _add_differences(values, differences)
    _add_groups(values, groups, may_be_marked)
    return TableStatistics(
        values,
        may_be_marked,
        unmarked(table),
        wins_of(table, values, may_be_marked),
        at_equal(table.rows),
        closest(table),
    )


def _intervals(row: TableRow) -> dict[str, ValueStatistics]:
    """Return the interval of every value of a row that has a mean: over trainings, or over one's sampling seeds."""
    intervals = {}
    for column, value in row.values.items():
        if value.mean is not None:
            intervals[column] = ValueStatistics(seed_mean(value.repeated).half)
    return intervals


@dataclass(frozen=True)
class Difference:
    """A value's difference from its baseline, with the p-value before it is corrected over the table.

    Args:
        place: of the row.
        column: of the value.
        against: the baseline's row, by its place.
        p: of the test.
        difference: of all seeds together.
        low, high: ends of its interval.
    """

    place: int
    column: str
    against: int
    p: float
    difference: float
    low: float | None
    high: float | None


def _differences(
    table: Table, column: str, baselines: Sequence[int | None], cache: SignificanceCache
) -> list[Difference]:
    """Return the difference of every value of a column that can be tested against its baseline."""
    pairs = {}
    for place, (row, base) in enumerate(zip(table.rows, baselines, strict=True)):
        if base is None:
            continue
        ours, theirs = row.values.get(column), table.rows[base].values.get(column)
        if ours is not None and theirs is not None and ours.higher_is_better is not None:
            pairs[place, base] = ours, theirs
    tests = {}
    for places, test in zip(pairs, cache.tests(list(pairs.values())), strict=True):
        if test is not None:
            tests[places] = test
    intervals = cache.intervals([pairs[places] for places in tests])
    differences = []
    for (place, base), (low, high) in zip(tests, intervals, strict=True):
        p, difference = tests[place, base]
        differences.append(Difference(place, column, base, p, difference, low, high))
    return differences


def _add_differences(values: list[dict[str, ValueStatistics]], differences: Sequence[Difference]) -> None:
    """Add differences from the baseline, their p-values corrected over the table."""
    p_values = holm([difference.p for difference in differences])
    for found, p in zip(differences, p_values, strict=True):
        of_row = values[found.place]
        of_row[found.column] = replace(
            of_row[found.column],
            p=p,
            difference=found.difference,
            low=found.low,
            high=found.high,
            against=found.against,
        )


def _add_groups(
    values: list[dict[str, ValueStatistics]],
    groups: Mapping[str, Sequence[int | None]],
    may_be_marked: Mapping[str, set[int]],
) -> None:
    """Add tie groups to the shown columns whose rows may be marked."""
    for column, of_column in groups.items():
        for place in sorted(may_be_marked[column]):
            if column in values[place]:
                values[place][column] = replace(values[place][column], group=of_column[place], markable=True)


def _groups(table: Table, column: str, cache: SignificanceCache) -> list[int | None]:
    """Return each row's tie group in a column, those of another backbone behind those of the first.

    Rows without a trained model stand in every block, and have the group of the first that they are in.
    """
    groups: list[int | None] = [None] * len(table.rows)
    behind = 0
    for block in table.blocks.values():
        for place, group in enumerate(_groups_of(table, block, column, cache)):
            if group is not None and groups[place] is None:
                groups[place] = behind + group
        behind = 1 + max((group for group in groups if group is not None), default=-1)
    return groups


def _groups_of(table: Table, block: Sequence[int], column: str, cache: SignificanceCache) -> list[int | None]:
    """Return the tie groups of a block by place in the table; none unless every row with a value can be tested."""
    values = {}
    for place in block:
        row = table.rows[place]
        if column in row.values and row.values[column].mean is not None:
            values[place] = row.values[column]
    untested: list[int | None] = [None] * len(table.rows)
    if len(values) < 2:
        return untested
    higher_is_better = next(iter(values.values())).higher_is_better
    if higher_is_better is None or not all(map(has_sums, values.values())):
        return untested

    def p_values_of(ours: int, others: Sequence[int]) -> list[float]:
        tests = cache.tests([(values[ours], values[theirs]) for theirs in others])
        return [_p_of(test) for test in tests]

    means: list[float | None] = [None] * len(table.rows)
    for place, value in values.items():
        means[place] = value.mean
    return tie_groups(means, p_values_of, higher_is_better)


def _p_of(test: tuple[float, float] | None) -> float:
    """Return the p of a test; 1 where there is none, so that the rows tie."""
    if test is None:
        return 1.0
    return test[0]
