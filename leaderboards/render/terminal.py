"""Terminal: leaderboards as text; where it can, the best value of a column is bold and the second underlined."""

from __future__ import annotations

import io

from rich.text import Text

from bench.base.redaction import one_line
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import FIXED, Grid, GridCell, Line, grid_of
from bench.leaderboards.render.remarks import under_table
from bench.leaderboards.render.text.text_table import TextRow, TextTable, console_of
from bench.leaderboards.table import metric_name

__all__ = ["terminal"]


def terminal(leaderboards: Leaderboards, width: int | None = None, *, whole: bool = True) -> str:
    """Render tables for a terminal.

    Args:
        leaderboards: what is shown.
        width: in characters; the terminal's own where not given.
        whole: whether columns that do not fit stand in further parts; else they are left out.
    """
    stream = io.StringIO()
    console = console_of(stream, width)
    for table in leaderboards.tables:
        text_table(grid_of(table)).print(console, whole=whole)
        for remark in under_table(table):
            console.print(Text(f"  {one_line(remark)}"))
        console.print()
    return stream.getvalue()


def text_table(grid: Grid) -> TextTable:
    """Return a leaderboard as a table of texts; where it is split, the primary column is its first value."""
    values = list(range(len(FIXED), len(grid.headings)))
    for place in values:
        if metric_name(grid.headings[place]) == grid.table.primary:
            values.remove(place)
            values.insert(0, place)
            break
    repeated = 1
    if _needs_backbone(grid):
        repeated = 2
    return TextTable(
        title=one_line(grid.table.title),
        headings=grid.headings,
        rows=[_row(line, grid.table.columns) for line in grid.lines],
        labels=2,
        repeated=repeated,
        order=[*range(repeated, len(FIXED)), *values],
    )


def _needs_backbone(grid: Grid) -> bool:
    """Return whether only the backbone tells two rows apart, of ours or of the papers below one of ours."""
    ours, papers = set[str](), set[str]()
    for line in grid.lines:
        if line.ours:
            papers = set()
        labels = ours if line.ours else papers
        if line.label in labels:
            return True
        labels.add(line.label)
    return False


def _row(line: Line, columns: list[str]) -> TextRow:
    cells = [_cell(cell, line) for cell in line.shown(columns)]
    return TextRow([Text(one_line(line.indented), style=_style(line)), *cells], is_optional=not line.ours)


def _cell(cell: GridCell, line: Line) -> Text:
    text = one_line(cell.whole)
    if cell.differs:
        text += "†"
    style = _style(line)
    if cell.best:
        style = "bold"
    elif cell.second:
        style = "underline"
    return Text(text, style=style)


def _style(line: Line) -> str:
    if line.ours:
        return ""
    return "dim"
