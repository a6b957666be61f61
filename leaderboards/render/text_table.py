"""Tables of texts for a terminal and in Markdown.

A table that is wider than the terminal is split by columns; nothing is cut.
"""

import io
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bench.base.printable import one_line

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
MARKUP = "\\|<>[]*_`~&"


# Terminal -------------------------------------------------------------------------------------------------------------


def console_of(stream: io.StringIO, width: int | None = None) -> Console:
    """Return a console that writes into a stream as for a terminal, with colours if stdout is one.

    Args:
        stream: that is written into.
        width: in characters; by default COLUMNS, else those of the terminal, else 200.
    """
    width = width or max(NARROWEST, shutil.get_terminal_size((WIDE, 24)).columns)
    return Console(file=stream, force_terminal=sys.stdout.isatty(), width=width, highlight=False)


def short(heading: str) -> str:
    """Return a column's heading on two narrow lines where it is long.

    >>> short("sentence-bleu-1"), short("ms-jaccard-1"), short("ppl/word"), short("bleu-1"), short("tokens/s")
    ('sent-\\nbleu-1', 'ms-\\njaccard-1', 'ppl\\nword', 'bleu-1', 'tokens/s')
    """
    name = UNDER.sub("\n", heading.replace("sentence-", "sent-"))
    return name.replace("-", "-\n", 1) if len(name) > LONG and "\n" not in name else name


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Args:
        title: above the table.
        headings: of the columns.
        rows: in order, with the cells of all columns.
        labels: how many of the first columns are labels, on the left; they are folded where the table is too wide.
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

    def print(self, console: Console) -> None:
        """Print it; where it is too wide its labels have a third of the line, then it is split into parts by columns.

        Where two labels are in every part, each has a quarter.
        """
        columns = list(range(len(self.headings)))
        widths = [
            max(map(cell_len, [*short(heading).split("\n"), *(row[place].plain for row in self.rows)]))
            for place, heading in enumerate(self.headings)
        ]
        parts = [columns]
        if self._total(columns, widths) > console.width:
            most = console.width // (2 + self.repeated)
            widths = [min(width, most) if place < self.labels else width for place, width in enumerate(widths)]
        if self._total(columns, widths) > console.width:
            parts, repeated = [columns[: self.repeated]], columns[: self.repeated]
            for place in self.order or columns[self.repeated :]:
                if parts[-1] != repeated and self._total([*parts[-1], place], widths) > console.width:
                    parts.append(repeated)
                parts[-1] = [*parts[-1], place]
        for n, part in enumerate(parts, start=1):
            title = f"part {n} of {len(parts)}: {self.title}".removesuffix(": ") if len(parts) > 1 else self.title
            if title:
                console.print(Text(title, style="italic"))
            # A single value may be wider than the terminal. Then its line is too: no digit is lost.
            width = max(console.width, self._total(part, widths))
            wide = Console(file=console.file, force_terminal=console.is_terminal, width=width, highlight=False)
            wide.print(self._part(part, widths))

    def _total(self, columns: Sequence[int], widths: Sequence[int]) -> int:
        """Return the characters that some columns take side by side, with what is between them."""
        between, edges = FRAMED if self.framed else PLAIN
        return sum(widths[place] for place in columns) + between * (len(columns) - 1) + edges

    def _part(self, columns: Sequence[int], widths: Sequence[int]) -> RichTable:
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
        for n, row in enumerate(self.rows):
            if n not in self.optional or any(row[place].plain for place in columns[self.repeated :]):
                table.add_row(*(row[place] for place in columns), end_section=n in self.underlined)
        return table


def terminal(tables: Iterable[tuple[TextTable, Iterable[str]]]) -> str:
    """Return tables for a terminal, each with its notes below; where it can, texts have their styles."""
    stream = io.StringIO()
    console = console_of(stream)
    for table, notes in tables:
        table.print(console)
        for note in notes:
            console.print(Text(f"  {one_line(note)}"))
        console.print()
    return stream.getvalue()


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
    plain = Console(file=stream, color_system=None, width=console_of(stream, width).width, highlight=False)
    TextTable("", headings, lines, labels=texts, repeated=1, framed=False).print(plain)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


# Markdown -------------------------------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    r"""Return a text without control characters in which Markdown finds no markup.

    >>> print(escaped("a|b"))
    a\|b
    """
    return "".join("\\" + character if character in MARKUP else character for character in one_line(text))


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int | None = None) -> list[str]:
    """Return the lines of a Markdown table.

    Args:
        heading: of each column.
        rows: cells, already escaped.
        texts: how many columns, from the left, are texts, aligned to the left; the others are numbers, aligned to the
            right. None: all are texts.

    >>> print("\\n".join(markdown_table(["method", "bleu"], [["mle", "12.1"]], texts=1)))
    | method | bleu |
    |---|---:|
    | mle | 12.1 |
    """
    texts = len(heading) if texts is None else texts
    rules = ["---"] * texts + ["---:"] * (len(heading) - texts)
    return [f"| {' | '.join(heading)} |", f"|{'|'.join(rules)}|", *(f"| {' | '.join(row)} |" for row in rows)]
