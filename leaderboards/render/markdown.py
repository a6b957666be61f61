"""Markdown: leaderboards as tables, the best value of a column in bold, a dagger at significant differences."""

from __future__ import annotations

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import Grid, GridCell, Line, grid_of
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.remarks import under_table

__all__ = ["markdown"]


def markdown(leaderboards: Leaderboards) -> str:
    """Render tables as Markdown, with what is said of all of them below."""
    parts = []
    for table in leaderboards.tables:
        remarks = "".join(f"\n*{escaped(remark)}*\n" for remark in under_table(table))
        parts.append(f"### {escaped(table.title)}\n\n{_table(grid_of(table))}\n{remarks}")
    notes = "".join(f"\n{escaped(note)}\n" for note in leaderboards.notes)
    return "\n".join(parts) + notes


def _table(grid: Grid) -> str:
    head = [escaped(heading) for heading in grid.headings]
    rows = [[_label(line), *map(_cell, line.shown(grid.table.columns))] for line in grid.lines]
    return "\n".join(markdown_table(head, rows, texts=2))


def _label(line: Line) -> str:
    return escaped(line.indented)


def _cell(cell: GridCell) -> str:
    text = escaped(cell.whole)
    if cell.best:
        text = f"**{text}**"
    if cell.differs:
        text += "†"
    return text
