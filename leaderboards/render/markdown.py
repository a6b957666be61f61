"""Markdown: leaderboards as tables, the best value of a column in bold, a dagger at significant differences."""

from __future__ import annotations

from bench.base.outward import plain
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import Grid, GridCell, Line, grid_of
from bench.leaderboards.render.remarks import under_table

__all__ = ["escaped", "markdown"]

SPECIAL = "\\|<>[]*_`"


def markdown(leaderboards: Leaderboards) -> str:
    """Render tables as Markdown."""
    parts = []
    for table, statistics in zip(leaderboards.tables, leaderboards.statistics, strict=True):
        remarks = "".join(f"\n*{escaped(remark)}*\n" for remark in under_table(table, statistics))
        parts.append(f"### {escaped(table.title)}\n\n{_table(grid_of(table, statistics))}\n{remarks}")
    return "\n".join(parts)


def escaped(text: str) -> str:
    r"""Return a text that stands for itself.

    >>> print(escaped("a|b"))
    a\|b
    """
    return "".join("\\" + c if c in SPECIAL else c for c in plain(text))


def _table(grid: Grid) -> str:
    head = [escaped(heading) for heading in grid.headings]
    rules = ["---", "---", *["---:"] * (len(head) - 2)]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(rules)}|"]
    for line in grid.lines:
        cells = [_label(line), *map(_cell, line.shown(grid.table.columns))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _label(line: Line) -> str:
    return escaped(line.indented)


def _cell(cell: GridCell) -> str:
    text = escaped(cell.whole)
    if cell.best:
        text = f"**{text}**"
    if cell.differs:
        text += "†"
    return text
