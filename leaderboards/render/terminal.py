"""Terminal: leaderboards as text; where it can, the best value of a column is bold and the second underlined."""

from __future__ import annotations

import io
import shutil
import sys

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bench.base.outward import plain
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import FIXED, Grid, GridCell, Line, grid_of
from bench.leaderboards.render.remarks import under_table

__all__ = ["short", "terminal", "width_of"]

NARROWEST = 120
LABEL = 24
"""Characters that a label has at least."""
LONG = 9
"""A longer heading is broken at its first hyphen."""


def terminal(leaderboards: Leaderboards, width: int | None = None) -> str:
    """Render tables for a terminal.

    Args:
        leaderboards: what is shown.
        width: in characters; the terminal's own where not given.
    """
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=sys.stdout.isatty(), width=width or width_of(), highlight=False)
    for table, statistics in zip(leaderboards.tables, leaderboards.statistics, strict=True):
        console.print(_table(grid_of(table, statistics)))
        for remark in under_table(table, statistics):
            console.print(Text(f"  {plain(remark)}"))
        console.print()
    return stream.getvalue()


def width_of() -> int:
    """Return the width of the terminal, or what a table needs at least."""
    return max(NARROWEST, shutil.get_terminal_size((150, 24)).columns)


def short(heading: str) -> str:
    """Return a column's heading on two narrow lines where it is long.

    >>> short("sentence-bleu-1"), short("ms-jaccard-1"), short("ppl/word"), short("bleu-1")
    ('sent-\\nbleu-1', 'ms-\\njaccard-1', 'ppl\\nword', 'bleu-1')
    """
    name = heading.replace("sentence-", "sent-").replace("/", "\n")
    if len(name) > LONG and "\n" not in name:
        return name.replace("-", "-\n", 1)
    return name


def _table(grid: Grid) -> RichTable:
    method, backbone, seeds = FIXED
    rich_table = RichTable(title=Text(plain(grid.table.title)), title_justify="left", pad_edge=False)
    rich_table.add_column(Text(method), min_width=LABEL)
    rich_table.add_column(Text(backbone), no_wrap=True, min_width=0)
    rich_table.add_column(Text(seeds), justify="right", no_wrap=True, min_width=0)
    for column in grid.table.columns:
        rich_table.add_column(Text(short(column)), justify="right", no_wrap=True, min_width=0)
    for line in grid.lines:
        cells = [_cell(cell, line) for cell in line.shown(grid.table.columns)]
        rich_table.add_row(Text(plain(line.indented), style=_style(line)), *cells)
    return rich_table


def _cell(cell: GridCell, line: Line) -> Text:
    text = plain(cell.whole)
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
