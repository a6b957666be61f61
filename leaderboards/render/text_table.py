"""Text table: a table for a terminal. One that is wider than the terminal is split by columns; nothing is cut."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

NARROWEST = 60
"""Characters that a table is laid out for at least."""
WIDE = 200
"""Characters of a line where there is no terminal and COLUMNS is not set."""
LONG = 9
"""A longer heading is broken at its first hyphen."""
FRAMED, PLAIN = (3, 2), (2, 0)
"""Characters between two columns and at both ends together: with a frame, and without one."""
UNDER = re.compile(r"/(?=\w\w)")
"""The stroke of a heading is a new line, but not before a unit of one letter."""
PIECES = re.compile(r"(?<=[\s+:,/])")
"""A label may be broken behind these: between words, and within settings, decodings and hub ids."""


def width_of() -> int:
    """Return the characters of a line: COLUMNS, else those of the terminal, else 200."""
    return max(NARROWEST, shutil.get_terminal_size((WIDE, 24)).columns)


def console_of(stream: io.StringIO, width: int | None = None) -> Console:
    """Return what writes for a terminal into a stream, in colours where stdout is one.

    Args:
        stream: that is written into.
        width: in characters; `width_of` by default.
    """
    return Console(file=stream, force_terminal=sys.stdout.isatty(), width=width or width_of(), highlight=False)


def short(heading: str) -> str:
    """Return a column's heading on two narrow lines where it is long.

    >>> short("sentence-bleu-1"), short("ms-jaccard-1"), short("ppl/word"), short("bleu-1"), short("tokens/s")
    ('sent-\\nbleu-1', 'ms-\\njaccard-1', 'ppl\\nword', 'bleu-1', 'tokens/s')
    """
    name = UNDER.sub("\n", heading.replace("sentence-", "sent-"))
    if len(name) > LONG and "\n" not in name:
        return name.replace("-", "-\n", 1)
    return name


def broken(label: str, width: int) -> str:
    """Return a label on lines of at most so many characters, as far as its words and settings allow.

    >>> broken("adadec.swapped [control, untuned]", 20)
    'adadec.swapped\\n[control, untuned]'
    """
    indent = label[: len(label) - len(label.lstrip())]
    lines = [indent]
    for piece in PIECES.split(label.strip()):
        if lines[-1] != indent and cell_len((lines[-1] + piece).rstrip()) > width:
            lines.append(indent)
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Args:
        title: above the table.
        headings: of the columns.
        rows: in order, with the cells of all columns.
        labels: how many of the first columns are labels, on the left; they are broken where the table is too wide.
        repeated: how many of the first columns every part of a split table has.
        order: of the other columns where the table is split; that of the headings where none is given.
        framed: whether lines are drawn around cells; else two spaces are between columns.
        underlined: the places of rows with a line below them.
        optional: the places of rows that are left out of the parts in which they have no value.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Text]]
    labels: int
    repeated: int
    order: Sequence[int] = ()
    framed: bool = True
    underlined: Collection[int] = ()
    optional: Collection[int] = ()

    def print(self, console: Console, *, whole: bool = True) -> None:
        """Print it; where it is too wide its labels are broken, then it is split into parts by columns.

        Args:
            console: where it is printed.
            whole: whether all parts are printed; else the first one, with the number of columns that are left out.
        """
        widths = self.natural
        if self.total(self.columns, widths) > console.width:
            widths = self.narrowed(console.width)
        parts = [self.columns]
        if self.total(self.columns, widths) > console.width:
            parts = self.parts(console.width, widths)
        left_out = 0
        if not whole:
            left_out, parts = len(self.columns) - len(parts[0]), parts[:1]
        for number, part in enumerate(parts, start=1):
            title = self.title
            if len(parts) > 1:
                title = f"part {number} of {len(parts)}: {title}".removesuffix(": ")
            if title:
                console.print(Text(title, style="italic"))
            # A single value may be wider than the terminal. Then its line is too: no digit is lost.
            wide_enough = Console(
                file=console.file,
                force_terminal=console.is_terminal,
                width=max(console.width, self.total(part, widths)),
                highlight=False,
            )
            wide_enough.print(self.part(part, widths))
        if left_out:
            console.print(Text(f"  {left_out} more columns do not fit here: bench report shows them"))

    @property
    def columns(self) -> list[int]:
        """The places of all columns."""
        return list(range(len(self.headings)))

    @cached_property
    def natural(self) -> list[int]:
        """The characters that each column needs so that nothing is broken."""
        widths = []
        for place, heading in enumerate(self.headings):
            texts = [*short(heading).split("\n"), *(row[place].plain for row in self.rows)]
            widths.append(max(map(cell_len, texts)))
        return widths

    def narrowed(self, width: int) -> list[int]:
        """Return the characters of each column where the table is wider than the line: labels have a third of it.

        Where two labels are in every part, each has a quarter. A longer word of a label is folded.
        """
        most = width // (2 + self.repeated)
        return [min(each, most) if place < self.labels else each for place, each in enumerate(self.natural)]

    def parts(self, width: int, widths: Sequence[int]) -> list[list[int]]:
        """Return the columns of each part: the repeated ones, and as many others as the line has room for."""
        repeated = self.columns[: self.repeated]
        parts = [repeated]
        for place in self.order or self.columns[self.repeated :]:
            if parts[-1] != repeated and self.total([*parts[-1], place], widths) > width:
                parts.append(repeated)
            parts[-1] = [*parts[-1], place]
        return parts

    def total(self, columns: Sequence[int], widths: Sequence[int]) -> int:
        """Return the characters that some columns take side by side, with what is between them."""
        between, edges = PLAIN
        if self.framed:
            between, edges = FRAMED
        return sum(widths[place] for place in columns) + between * (len(columns) - 1) + edges

    def part(self, columns: Sequence[int], widths: Sequence[int]) -> RichTable:
        """Return some columns as a table of `rich`."""
        table = RichTable(pad_edge=False)
        if not self.framed:
            table.box = None
        for place in columns:
            heading = Text(short(self.headings[place]))
            if place < self.labels:
                table.add_column(heading, width=widths[place], overflow="fold")
            else:
                table.add_column(heading, width=widths[place], justify="right", no_wrap=True)
        values = columns[self.repeated :]
        for number, row in enumerate(self.rows):
            if number in self.optional and not any(row[place].plain for place in values):
                continue
            cells = []
            for place in columns:
                cell = row[place]
                if place < self.labels:
                    cell = Text(broken(cell.plain, widths[place]), style=cell.style)
                cells.append(cell)
            table.add_row(*cells, end_section=number in self.underlined)
        return table


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
    lines = [[Text(cell) for cell in row] for row in rows]
    stream = io.StringIO()
    plain = Console(file=stream, force_terminal=False, color_system=None, width=width or width_of(), highlight=False)
    TextTable("", headings, lines, labels=texts, repeated=1, framed=False).print(plain)
    return [line.rstrip() for line in stream.getvalue().splitlines()]
