"""Analysis: intervals, tests and ties of a leaderboard, from what its values are made of.

Of each shown column: the 95 % interval over seeds (from three seeds on); the difference from the baseline of the same
backbone and decoding with its bootstrap interval over items, and paired randomisation, corrected by Holm over all rows
and columns of the table; groups of rows that do not differ from their best. Columns that are no sums over rows (KLD,
Self-BLEU, MAUVE) have the first alone. Differences and groups are marks only where seeds tell a column's rows apart
(`seed_spread.markable`): a test over items says that two trained models differ, not that two methods do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import baseline_of
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.statistics.overall import closest
from bench.leaderboards.statistics.seed_spread import markable, unmarked
from bench.leaderboards.statistics.significance import holm, tie_groups
from bench.leaderboards.statistics.significance_cache import SignificanceCache, has_sums
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
    _add_differences(values, table, cache)
    _add_groups(values, table, cache, may_be_marked)
    return TableStatistics(
        values,
        may_be_marked,
        unmarked(table),
        wins_of(table, values, may_be_marked),
        at_equal(table.rows),
        closest(table),
    )


def _intervals(row: TableRow) -> dict[str, ValueStatistics]:
    """Return the interval over seeds of every value of a row that has a mean."""
    intervals = {}
    for column, value in row.values.items():
        if value.mean is not None:
            intervals[column] = ValueStatistics(seed_mean(list(value.by_seed.values())).half)
    return intervals


def _add_differences(values: list[dict[str, ValueStatistics]], table: Table, cache: SignificanceCache) -> None:
    """Add differences from the baseline, their p-values corrected over the table."""
    differences = list(_differences(table, cache))
    p_values = holm([p for _, _, _, p in differences])
    for (place, column, difference, _), p in zip(differences, p_values, strict=True):
        values[place][column] = replace(difference, half=values[place][column].half, p=p)


def _differences(table: Table, cache: SignificanceCache) -> Iterator[tuple[int, str, ValueStatistics, float]]:
    """Yield row, column, difference and uncorrected p of every value that can be tested against its baseline."""
    for place, row in enumerate(table.rows):
        base = baseline_of(table, row)
        if base is None:
            continue
        for column in table.columns:
            ours, theirs = row.values.get(column), table.rows[base].values.get(column)
            if ours is None or theirs is None or ours.higher_is_better is None:
                continue
            if test := cache.test(ours, theirs):
                p, difference = test
                low, high = cache.interval(ours, theirs)
                yield place, column, ValueStatistics(difference=difference, low=low, high=high, against=base), p


def _add_groups(
    values: list[dict[str, ValueStatistics]],
    table: Table,
    cache: SignificanceCache,
    may_be_marked: Mapping[str, set[int]],
) -> None:
    """Add tie groups to the shown columns whose rows may be marked."""
    for column in table.columns:
        places = may_be_marked.get(column)
        if not places:
            continue
        groups = _groups(table, column, cache)
        for place in sorted(places):
            if column in values[place]:
                values[place][column] = replace(values[place][column], group=groups[place], markable=True)


def _groups(table: Table, column: str, cache: SignificanceCache) -> list[int | None]:
    """Return each row's tie group in a column; none unless every row with a value can be tested."""
    values = {}
    for place, row in enumerate(table.rows):
        if column in row.values and row.values[column].mean is not None:
            values[place] = row.values[column]
    untested: list[int | None] = [None] * len(table.rows)
    if len(values) < 2:
        return untested
    higher_is_better = next(iter(values.values())).higher_is_better
    if higher_is_better is None or not all(map(has_sums, values.values())):
        return untested

    def p_of(ours: int, theirs: int) -> float:
        test = cache.test(values[ours], values[theirs])
        if test is None:
            return 1.0
        return test[0]

    means: list[float | None] = [None] * len(table.rows)
    for place, value in values.items():
        means[place] = value.mean
    return tie_groups(means, p_of, higher_is_better)
