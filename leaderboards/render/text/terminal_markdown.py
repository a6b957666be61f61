"""Terminal Markdown: a report that is Markdown, as a terminal of any width shows it."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from bench.leaderboards.render.markdown_table import SPECIAL
from bench.leaderboards.render.text.aligned import aligned
from bench.leaderboards.render.text.text_table import width_of

__all__ = ["for_stdout", "terminal_markdown"]

CELLS = re.compile(r"(?<!\\)\|")
"""Between cells: a stroke that is not escaped."""
MARKED = re.compile(r"^(\s*(?:[-*]|\d+\.) |#+ |\s*)")
"""What stands before the text of a line: the mark of a list or of a heading, or spaces."""


def for_stdout(text: str) -> str:
    """Return Markdown as stdout should have it: laid out where that is a terminal, else as it is."""
    if sys.stdout.isatty():
        return terminal_markdown(text)
    return text


def terminal_markdown(text: str, width: int | None = None) -> str:
    """Return Markdown whose tables are aligned and whose lines are not longer than a terminal's.

    Args:
        text: tables as `markdown_table` writes them; a paragraph is a line.
        width: characters of a line; those of the terminal by default, 200 without one.
    """
    width = width or width_of()
    lines: list[str] = []
    for is_table, block in groupby(text.split("\n"), key=lambda line: line.startswith("|")):
        if is_table:
            lines += table_lines(list(block), width)
        else:
            for line in block:
                lines += wrapped(line, width)
    return "\n".join(lines)


def table_lines(lines: Sequence[str], width: int) -> list[str]:
    """Return the lines of a table: its heading, its rule and its rows.

    >>> table_lines(["| a | n |", "|---|---:|", "| mle\\\\_x | 12 |"], 80)
    ['a       n', 'mle_x  12']
    """
    heading, rule, *rows = lines
    texts = sum(not column.endswith(":") for column in rule.strip("|").split("|"))
    return aligned(cells(heading), map(cells, rows), texts=texts, width=width)


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [unescaped(cell.strip()) for cell in CELLS.split(line)[1:-1]]


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield a line in lines that a terminal has room for; what follows stands below its text.

    >>> list(wrapped("- one two three", 9))
    ['- one two', '  three']
    """
    mark = MARKED.match(line)
    assert mark is not None, "the pattern matches nothing, too"
    indent = " " * len(mark.group())
    yield from textwrap.wrap(
        unescaped(line), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]


def unescaped(text: str) -> str:
    r"""Return a text without the strokes that `escaped` has put before characters.

    >>> print(unescaped(r"seq\_rep"))
    seq_rep
    """
    return re.sub(rf"\\([{re.escape(SPECIAL)}])", r"\1", text)
