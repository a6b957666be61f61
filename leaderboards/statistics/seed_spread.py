"""Seed spread: whether the rows of a column lie further apart than seeds explain, so that marks may rank them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.value_statistics import ALPHA
from bench.leaderboards.table import Table

__all__ = [
    "CANNOT_RANK",
    "FEWEST",
    "LEAST",
    "MEANINGS",
    "ONE_SEED",
    "markable",
    "of_shown",
    "p_of_rows",
    "seed_deviation",
    "spread_ratio",
    "unmarked",
    "why_unmarked",
]

FEWEST = 3
"""Seeds that a row needs for its own spread."""
LEAST = 1.0
"""A column ranks where the means of its methods lie this many seed deviations apart, or more."""
ONE_SEED, CANNOT_RANK = "one seed", "cannot rank here"
"""Why a column has no marks: nobody has run a second seed, or seeds do not tell its rows apart."""
MEANINGS: Mapping[str, str] = {
    ONE_SEED: "no other was run, and how far it would lie from this one is not known (bench run --seeds 0,1,2)",
    CANNOT_RANK: (
        "seeds do not tell the rows apart (over rows with three seeds or more: sd of their means below that of a seed, "
        "F test p > 0.05, or too few such rows)"
    ),
}
"""The same in a sentence."""


def markable(table: Table, column: str) -> set[int]:
    """Return the places of the rows that may be marked as best, second, different or tied in a column.

    The rule, for every format and within each backbone: a column ranks only where more than half of its trained rows
    have three seeds or more, the standard deviation of their means is at least that of a seed (`spread_ratio`), and a
    one-way F test over them finds that their means differ by more than their seeds do (p <= 0.05, Fisher 1925). In such
    a column every row may be marked but a trained one with fewer seeds. Rows that are not trained (`lead`) have no
    spread over seeds and take no part in the test; rows that share one model's value count once.

    The test takes seed variances as equal; it is a gate for marks and says nothing about any two rows.
    """
    places = set[int]()
    for block in table.blocks.values():
        if _ranks([table.rows[place] for place in block], column):
            places |= {place for place in block if _may_be_marked(table.rows[place], column)}
    return places


def _ranks(rows: Sequence[TableRow], column: str) -> bool:
    """Return whether a column ranks the rows of one backbone."""
    trained = _trained(rows, column)
    groups = [list(row.values[column].by_seed.values()) for row in trained if row.values[column].n >= FEWEST]
    if 2 * len(groups) <= len(trained):
        return False
    return spread_ratio(groups) >= LEAST and p_of_rows(groups) <= ALPHA


def _may_be_marked(row: TableRow, column: str) -> bool:
    return column in row.values and (not row.backbone or row.values[column].n >= FEWEST)


def unmarked(table: Table) -> dict[str, list[str]]:
    """Return by reason the shown columns that have a better direction and several values, and no marks.

    Where a column has marks on one backbone and none on another, or other reasons, backbones are named: `bleu-3 on
    small`. A reason is a key of `MEANINGS`.
    """
    names: dict[str, list[str]] = {}
    for column in table.columns:
        reasons = _reasons(table, column)
        if len(set(reasons.values())) == 1:
            for why in set(reasons.values()) - {""}:
                names.setdefault(why, []).append(column)
            continue
        for backbone, why in reasons.items():
            if why:
                names.setdefault(why, []).append(f"{column} on {backbone}")
    return names


def of_shown(
    names: Mapping[str, Sequence[str]], columns: Sequence[str], backbones: Collection[str]
) -> dict[str, list[str]]:
    """Return of what `unmarked` returns the part that is of some columns and backbones.

    >>> of_shown({"one seed": ["kld"], "cannot rank here": ["uniq", "ppl on a", "ppl on b"]}, ["ppl", "uniq"], {"b"})
    {'cannot rank here': ['uniq', 'ppl on b']}
    """
    shown = {*columns, *(f"{column} on {backbone}" for column in columns for backbone in backbones)}
    kept = {why: [name for name in of_why if name in shown] for why, of_why in names.items()}
    return {why: of_why for why, of_why in kept.items() if of_why}


def _reasons(table: Table, column: str) -> dict[str, str]:
    """Return by backbone why a column has no marks, empty where it has; without backbones that have no two values."""
    reasons = {}
    for backbone, block in table.blocks.items():
        rows = [table.rows[place] for place in block]
        values = [row.values[column] for row in rows if column in row.values]
        directed = [value for value in values if value.mean is not None and value.higher_is_better is not None]
        if len(directed) >= 2:
            reasons[backbone] = why_unmarked(rows, column)
    return reasons


def why_unmarked(rows: Sequence[TableRow], column: str) -> str:
    """Return why a column does not rank the rows of one backbone, a key of `MEANINGS`; nothing where it does."""
    if _ranks(rows, column):
        return ""
    trained = _trained(rows, column)
    if trained and all(row.values[column].n == 1 for row in trained):
        return ONE_SEED
    return CANNOT_RANK


def spread_ratio(groups: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of the rows' means over the pooled standard deviation of a seed.

    Args:
        groups: of each row, its values by seed; 0 with fewer than two rows of two values or more.

    >>> spread_ratio([[1.0, 3.0], [2.0, 4.0]]), spread_ratio([[1.0, 1.0], [2.0, 2.0]])
    (0.5, inf)
    """
    if len(groups) < 2 or min(map(len, groups)) < 2:
        return 0.0
    between, within = statistics.stdev([statistics.fmean(group) for group in groups]), seed_deviation(groups)
    if not between:
        return 0.0
    if not within:
        return math.inf
    return between / within


def seed_deviation(groups: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of one seed, pooled over rows.

    Args:
        groups: of each row, its values by seed: two or more.

    >>> round(seed_deviation([[1.0, 3.0], [2.0, 4.0]]), 4)
    1.4142
    """
    squares = sum((len(group) - 1) * statistics.variance(group) for group in groups)
    return math.sqrt(squares / sum(len(group) - 1 for group in groups))


def p_of_rows(groups: Sequence[Sequence[float]]) -> float:
    """Return p of a one-way F test: the chance of means so far apart if all rows had one mean and one seed variance.

    Args:
        groups: of each row, its values by seed; two rows or more with two values or more each, else p is 1.

    >>> round(p_of_rows([[6, 8, 4, 5, 3, 4], [8, 12, 9, 11, 6, 8], [13, 9, 11, 8, 7, 12]]), 4)
    0.0024
    """
    if len(groups) < 2 or min(map(len, groups)) < 2:
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
    from scipy.special import fdtrc  # it takes a fifth of a second

    df = len(groups) - 1, count - len(groups)
    return float(fdtrc(*df, between / df[0] / (within / df[1])))


def _trained(table_rows: Sequence[TableRow], column: str) -> list[TableRow]:
    """Return the trained rows with a value of a column, one for each model whose value several decodings share."""
    rows: dict[int, TableRow] = {}
    for row in table_rows:
        value = row.values.get(column)
        if value is not None and value.mean is not None and row.backbone:
            rows.setdefault(id(value), row)
    return list(rows.values())
