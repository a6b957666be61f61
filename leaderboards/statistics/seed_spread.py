"""Seed spread: whether the rows of a column lie further apart than seeds explain, so that marks may rank them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.value_statistics import ALPHA
from bench.leaderboards.table import Table

__all__ = ["f_tail", "markable", "p_of_rows", "unmarked"]

FEWEST = 2
"""Seeds that a row needs for its own spread."""
DEPTH = 300
"""Terms of the continued fraction; far more than degrees of freedom of a table need."""


def markable(table: Table, column: str) -> set[int]:
    """Return the places of the rows that may be marked as best, second, different or tied in a column.

    The rule, for every format: a column is marked only where more than half of its trained rows have two seeds or more,
    and a one-way F test over these rows finds that their means differ by more than their seeds do (p <= 0.05, Fisher
    1925). In such a column every row may be marked but a trained one with a single seed. Rows that are not trained
    (`lead`) have no spread over seeds and take no part in the test; rows that share one model's value count once.

    The test takes seed variances as equal; it is a gate for marks and says nothing about any two rows.
    """
    trained = _trained(table, column)
    groups = [list(row.values[column].by_seed.values()) for row in trained if row.values[column].n >= FEWEST]
    if 2 * len(groups) <= len(trained) or p_of_rows(groups) > ALPHA:
        return set()
    places = set()
    for place, row in enumerate(table.rows):
        if column in row.values and (not row.backbone or row.values[column].n >= FEWEST):
            places.add(place)
    return places


def unmarked(table: Table) -> list[str]:
    """Return the shown columns that have a better direction and several values, and whose rows may not be marked."""
    names = []
    for column in table.columns:
        values = [row.values[column] for row in table.rows if column in row.values]
        ranked = [value for value in values if value.mean is not None and value.higher_is_better is not None]
        if len(ranked) > 1 and not markable(table, column):
            names.append(column)
    return names


def p_of_rows(groups: Sequence[Sequence[float]]) -> float:
    """Return p of a one-way F test: the chance of means so far apart if all rows had one mean and one seed variance.

    Args:
        groups: of each row, its values by seed; two rows or more with two values or more each, else p is 1.

    >>> round(p_of_rows([[6, 8, 4, 5, 3, 4], [8, 12, 9, 11, 6, 8], [13, 9, 11, 8, 7, 12]]), 4)
    0.0024
    """
    if len(groups) < 2 or min(map(len, groups)) < FEWEST:
        return 1.0
    count = sum(map(len, groups))
    grand = statistics.fmean([value for group in groups for value in group])
    between = within = 0.0
    for group in groups:
        mean = statistics.fmean(group)
        between += len(group) * (mean - grand) ** 2
        within += sum((value - mean) ** 2 for value in group)
    if between == 0:
        return 1.0
    if within == 0:
        return 0.0
    df = len(groups) - 1, count - len(groups)
    return f_tail(between / df[0] / (within / df[1]), *df)


def f_tail(f: float, between: int, within: int) -> float:
    """Return the chance that an F variable is above `f` (Abramowitz and Stegun 1964, 26.6.2).

    Args:
        f: above 0.
        between, within: degrees of freedom of the numerator and of the denominator.

    >>> round(f_tail(5.14325, 2, 6), 5), round(f_tail(18.51282, 1, 2), 5)
    (0.05, 0.05)
    """
    share = within / (within + between * f)
    if not share:
        return 0.0
    a, b = within / 2, between / 2
    if share < (a + 1) / (a + b + 2):
        return _beta_below(share, a, b)
    return 1 - _beta_below(1 - share, b, a)


def _beta_below(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function as a continued fraction, from its far end (26.5.8); quick for small x."""
    if x <= 0:
        return 0.0
    fraction = 1.0
    for k in range(DEPTH, 0, -1):
        m = k // 2
        if k % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1 + term / fraction
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_front) / (a * fraction)


def _trained(table: Table, column: str) -> list[TableRow]:
    """Return the trained rows with a value of a column, one for each model whose value several decodings share."""
    rows: dict[int, TableRow] = {}
    for row in table.rows:
        value = row.values.get(column)
        if value is not None and value.mean is not None and row.backbone:
            rows.setdefault(id(value), row)
    return list(rows.values())
