"""Renderers: leaderboards as terminal output, Markdown, CSV, LaTeX or JSON; `html` writes the page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

from bench.leaderboards.render.board import board
from bench.leaderboards.render.grid import Cell, headings, lines, plain, remarks
from bench.leaderboards.render.latex import latex
from bench.leaderboards.statistics.value_statistics import Judged
from bench.leaderboards.table import Table

FORMATS = ("terminal", "markdown", "csv", "latex", "json")

All = Sequence[Sequence[Mapping[str, Judged]]]
"""Of each table and row, what is known of its values by column; empty where nothing was analysed."""


def render(tables: Sequence[Table], notes: Sequence[str], form: str, judged: All = ()) -> str:
    """Render tables in one of `FORMATS`."""
    if form == "markdown":
        return markdown(tables, judged)
    if form == "csv":
        return comma_separated(tables, judged)
    if form == "latex":
        return latex(tables, judged)
    if form == "json":
        from bench.leaderboards.statistics.analysis import as_statistics  # needs numpy

        content = board(tables, notes, statistics=as_statistics(tables, judged) if judged else None)
        return json.dumps(content, indent=1, allow_nan=False) + "\n"
    return terminal(tables, judged=judged)


def markdown(tables: Sequence[Table], judged: All = ()) -> str:
    """Render tables as Markdown; the best value of a column is bold."""
    parts = []
    for i, table in enumerate(tables):
        known, head = judged[i] if judged else (), headings(table)
        body = [f"| {' | '.join([_md(line.label), *map(_md_cell, line.cells)])} |" for line in lines(table, known)]
        rule = "|" + "|".join(["---", "---", *("---:" for _ in head[2:])]) + "|"
        notes = "".join(f"\n*{_md(remark)}*\n" for remark in remarks(table, known))
        first = f"| {' | '.join(map(_md, head))} |"
        parts.append("\n".join([f"### {_md(table.title)}", "", first, rule, *body]) + "\n" + notes)
    return "\n".join(parts)


def _md_cell(cell: Cell) -> str:
    text = _md(cell.text)
    return (f"**{text}**" if cell.best and text else text) + ("†" if cell.differs and text else "")


def _md(text: str) -> str:
    return "".join("\\" + c if c in "\\|<>[]*_`" else c for c in plain(text))


def _csv(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def comma_separated(tables: Sequence[Table], judged: All = ()) -> str:
    """Render tables as one CSV: one line per row and column, unrounded, with seeds and signature."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["task", "split", "rows", "preset", "watermark", "method", "settings", "backbone", "decoding",
                     "column", "mean", "half", "p", "difference", "low", "high", "seeds", "by_seed", "signature",
                     "why_none", "controls", "untuned", "remark"])  # fmt: skip
    for at, table in enumerate(tables):
        for i, row in enumerate([*table.rows, *table.human]):
            known = judged[at][i] if judged and i < len(table.rows) else {}
            for column, value in row.values.items():
                one = known.get(column, Judged())
                writer.writerow([table.task, table.split, table.n, table.preset, table.watermark, _csv(row.method),
                                 _csv(row.settings), _csv(row.backbone), row.decoding, column, _exact(value.mean),
                                 *map(_exact, (one.half, one.p, one.difference, one.low, one.high)), value.n,
                                 json.dumps(dict(sorted(value.by_seed.items()))), value.signature, value.why_none,
                                 " ".join(row.controls), row.untuned if row.config else "",
                                 _csv(row.remark)])  # fmt: skip
    return out.getvalue()


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def terminal(tables: Sequence[Table], width: int | None = None, judged: All = ()) -> str:
    """Render tables for a terminal; where it can, the best value of a column is bold, the second underlined."""
    import sys

    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=sys.stdout.isatty(), width=width or _width(), highlight=False)
    for at, table in enumerate(tables):
        known = judged[at] if judged else ()
        grid = Grid(title=Text(plain(table.title)), title_justify="left", pad_edge=False)
        for i, heading in enumerate(headings(table)):
            grid.add_column(Text(short(heading) if i > 2 else heading), justify="left" if i < 2 else "right",
                            no_wrap=i > 0, min_width=0 if i else 24)  # fmt: skip
        for line in lines(table, known):
            style = "" if line.ours else "dim"
            cells = [Text(plain(c.text) + ("†" if c.differs and c.text else ""), style=_style(c, style))
                     for c in line.cells]  # fmt: skip
            grid.add_row(Text(plain(line.label), style=style), *cells)
        console.print(grid)
        for remark in remarks(table, known):
            console.print(Text(f"  {plain(remark)}"))
        console.print()
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def _style(cell: Cell, style: str) -> str:
    return "bold" if cell.best else "underline" if cell.second else style


def short(heading: str) -> str:
    """Return a column's heading on two narrow lines where it is long.

    >>> short("sentence-bleu-1"), short("ms-jaccard-1"), short("ppl/word"), short("bleu-1")
    ('sent-\\nbleu-1', 'ms-\\njaccard-1', 'ppl\\nword', 'bleu-1')
    """
    name = heading.replace("sentence-", "sent-").replace("/", "\n")
    return name.replace("-", "-\n", 1) if len(name) > 9 and "\n" not in name else name


def _width() -> int:
    import shutil

    return max(120, shutil.get_terminal_size((150, 24)).columns)
