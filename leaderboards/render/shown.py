"""Shown: numbers as texts, and the numbers of papers, with the difference from ours where they may be compared."""

from __future__ import annotations

from bench.leaderboards.published.papers import Published
from bench.leaderboards.table import Table, metric_name

__all__ = ["deltas", "number", "printed_values", "signed", "why_not"]


def number(value: float | None) -> str:
    """Return a number as shown: two decimals, large whole ones without."""
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) > 100:
        return f"{value:.0f}"
    return f"{value:.2f}"


def signed(value: float) -> str:
    """Return a difference as shown.

    >>> signed(1.5), signed(-0.25)
    ('+1.50', '−0.25')
    """
    return f"−{number(-value)}" if value < 0 else f"+{number(value)}"


def printed_values(paper: Published, table: Table) -> dict[str, float]:
    """Return what a paper prints by our columns, so that each value is shown below ours."""
    named = {column: metric_name(column) for column in table.all_columns}
    return {column: paper.values[metric] for column, metric in named.items() if metric in paper.values}


def why_not(table: Table) -> str:
    """Return why published numbers are not comparable with those of a table, or nothing."""
    reasons = [table.watermark, "" if table.preset == "paper" else f"our rows are of preset {table.preset}"]
    return "; ".join(filter(None, reasons))


def deltas(table: Table, paper: Published) -> dict[str, dict[str, str]]:
    """Return ours less the paper's as shown, by the id of our row and column; nothing where not comparable."""
    found: dict[str, dict[str, str]] = {}
    printed = {} if why_not(table) else printed_values(paper, table)
    for row in table.rows:
        for column in printed if row.method == paper.method else ():
            if column in row.values and (mean := row.values[column].mean) is not None:
                found.setdefault(row.id, {})[column] = signed(mean - printed[column])
    return found
