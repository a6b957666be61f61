"""Aligned: rows of texts as a table without lines, for a terminal of any width."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from bench.leaderboards.render.text.text_table import TextRow, TextTable, width_of

__all__ = ["aligned"]


def aligned(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1, width: int | None = None
) -> list[str]:
    """Return the lines of a table: texts to the left, numbers to the right, in parts where the line is too short.

    Every part has the first column. Nothing is cut: a text goes on in the next line, and a number that is wider than
    the line makes its own line longer.

    Args:
        headings: of each column.
        rows: cells, one for each heading.
        texts: how many columns, from the left, are text.
        width: characters of a line; those of the terminal by default, 200 without one.

    >>> aligned(["rung", "steps"], [["1M", "7"], ["10M", "12"]])
    ['rung  steps', '1M        7', '10M      12']
    """
    lines = [TextRow([Text(cell) for cell in row]) for row in rows]
    stream = io.StringIO()
    plain = Console(file=stream, force_terminal=False, color_system=None, width=width or width_of(), highlight=False)
    TextTable("", headings, lines, labels=texts, repeated=1, framed=False).print(plain)
    return [line.rstrip() for line in stream.getvalue().splitlines()]
