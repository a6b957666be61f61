"""Formats: leaderboards for a terminal, in Markdown, as LaTeX and as CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from bench.base.printable import one_line, printable
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import HUMAN_LABEL, as_json, board
from bench.leaderboards.render.footnotes import under_table
from bench.leaderboards.render.text_table import TextTable, escaped, markdown_table, terminal
from bench.leaderboards.row import TableRow, number
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.table import Table, metric_name, table_ids

if TYPE_CHECKING:
    import pandas as pd


def render(leaderboards: Leaderboards, form: str) -> str:
    """Render leaderboards in one of `FORMATS`."""
    functions = {
        "terminal": in_terminal, "markdown": markdown, "csv": comma_separated, "latex": latex, "json": as_json
    }  # fmt: skip
    return functions[form](leaderboards)


# Frames and CSV -------------------------------------------------------------------------------------------------------

ROW = ("task", "split", "rows", "preset", "method", "backbone", "decoding", "settings")
"""Columns that identify a row of a board; the first four are of its table."""
OF_VALUE = ("mean", "half", "n_seeds", "by_seed", "difference", "low", "high", "p", "p_items", "signature", "why")
LONG = (*ROW, "metric", *OF_VALUE, "higher_is_better", "watermark", "marks", "remark", "cells")
"""Columns of the long frame: `half` of the 95 % interval over seeds, `p` of the difference from the baseline."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def long_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame of a board with a line for each value, unrounded; the method of human texts is `human`."""
    import pandas as pd

    records = []
    for table in content["tables"]:
        directions = {column["name"]: column["higher_is_better"] for column in table["columns"]}
        of_table = {name: table[name] for name in (*ROW[:4], "watermark")}
        for row in (*table["methods"], *table["human"]):
            about = of_table | {name: row[name] for name in (*ROW[4:], "remark")}
            about |= {"marks": ", ".join(row["marks"]), "cells": list(row["cells"])}
            for column, value in row["values"].items():
                numbers = {name: value[name] for name in OF_VALUE}
                records.append({**about, "metric": column, "higher_is_better": directions[column], **numbers})
    return pd.DataFrame(records, columns=list(LONG))


def wide_frame(content: Mapping[str, Any]) -> pd.DataFrame:
    """Return a frame with a line for each row of a method and the means of its metrics as columns."""
    import pandas as pd

    metrics = dict.fromkeys(column["name"] for table in content["tables"] for column in table["columns"])
    lines = [
        {name: (table if name in ROW[:4] else row)[name] for name in ROW}
        | {"n_seeds": row["n_seeds"], "watermark": table["watermark"]}
        | {column: value["mean"] for column, value in row["values"].items()}
        for table in content["tables"]
        for row in table["methods"]
    ]
    return pd.DataFrame(lines, columns=[*ROW, "n_seeds", "watermark", *metrics])


def comma_separated(leaderboards: Leaderboards) -> str:
    """Render tables as CSV: the long frame of `Board.to_pandas`."""
    return str(long_frame(board(leaderboards)).map(_harmless).to_csv(index=False, lineterminator="\n"))


def _harmless(field: object) -> object:
    """Return a field, lists as JSON, and a text with an apostrophe before what a spreadsheet takes for a formula."""
    if isinstance(field, dict | list):
        return json.dumps(field)
    if not isinstance(field, str):
        return field
    text = printable(field)
    return f"'{text}" if text.startswith(FORMULA) else text


# Lines of tables -----------------------------------------------------------------------------------------------------

FIXED = ("method", "backbone", "seeds")
"""Headings before those of the columns."""


@dataclass(frozen=True)
class TableCell:
    """A text in a line, such as `33.12 ±1.00 (n=2)`, and how it is marked."""

    text: str
    best: bool = False
    second: bool = False
    differs: bool = False


@dataclass(frozen=True)
class Line:
    """One line of a table: a row of ours, of a paper, or of human texts.

    Args:
        kind: `ours`, `paper` or `human`.
        label: as shown.
        cells: backbone, seeds and the values of the shown columns.
    """

    kind: str
    label: str
    cells: Sequence[TableCell]

    @property
    def indented(self) -> str:
        """The label, that of a paper set in below the row of ours it follows."""
        return f"  {self.label}" if self.kind == "paper" else self.label


def lines_of(table: Table) -> Iterator[Line]:
    """Yield our rows, each method followed by its published rows once, and then the rows of human texts."""
    ranked = {column: table.best_and_second(column, MIN_SEEDS) for column in table.columns}

    def cells(row: TableRow, place: int | None) -> Iterator[TableCell]:
        for column in table.columns:
            if (value := row.values.get(column)) is None:
                yield TableCell("")
                continue
            interval, fewer, (best, second) = value.interval, row.fewer(value), ranked[column]
            text = value.text + (f" ±{interval}" if interval else "") + (f" ({fewer})" if fewer else "")
            yield TableCell(text, place in best, place in second, value.differs)

    followed = set[str]()
    for place, row in enumerate(table.rows):
        yield Line("ours", row.label, [TableCell(row.backbone), TableCell(row.seeds_text), *cells(row, place)])
        for paper in table.published if row.method not in followed else ():
            if paper.method == row.method:
                values = [TableCell(number(paper.values.get(metric_name(column)))) for column in table.columns]
                yield Line("paper", paper.name, [TableCell(paper.backbone), TableCell(""), *values])
        followed.add(row.method)
    for row in table.human:
        yield Line("human", HUMAN_LABEL, [TableCell(""), TableCell(""), *cells(row, None)])


# Terminal ------------------------------------------------------------------------------------------------------------


def in_terminal(leaderboards: Leaderboards) -> str:
    """Render tables for a terminal, with the notes below; best values are bold there, second ones underlined."""
    tables = [(text_table(table), under_table(table)) for table in leaderboards.tables]
    return terminal(tables) + "".join(f"{one_line(note)}\n" for note in leaderboards.notes)


def text_table(table: Table) -> TextTable:
    """Return a table as one of texts; where it is split, the primary column is its first value."""
    titles, lines = [*FIXED, *table.columns], list(lines_of(table))
    values = sorted(range(len(FIXED), len(titles)), key=lambda place: metric_name(titles[place]) != table.primary)
    ours = [line.label for line in lines if line.kind == "ours"]
    repeated = 1 if len(set(ours)) == len(ours) else 2  # only the backbone tells two rows apart

    def cells(line: Line) -> list[Text]:
        style = "" if line.kind == "ours" else "dim"
        styles = ["bold" if cell.best else "underline" if cell.second else style for cell in line.cells]
        texts = [one_line(cell.text) + "†" * cell.differs for cell in line.cells]
        return [Text(one_line(line.indented), style=style), *map(Text, texts, styles)]

    return TextTable(
        one_line(table.title),
        titles,
        list(map(cells, lines)),
        labels=2,
        repeated=repeated,
        order=[*range(repeated, len(FIXED)), *values],
        optional={place for place, line in enumerate(lines) if line.kind != "ours"},
    )


# Markdown ------------------------------------------------------------------------------------------------------------


def markdown(leaderboards: Leaderboards) -> str:
    """Render tables as Markdown, with the notes on all of them below; the best value of a column is bold."""
    parts = []
    for table in leaderboards.tables:
        rows = [[escaped(line.indented), *map(_markdown_cell, line.cells)] for line in lines_of(table)]
        lines = "\n".join(markdown_table(list(map(escaped, [*FIXED, *table.columns])), rows, texts=2))
        footnotes = "".join(f"\n*{escaped(footnote)}*\n" for footnote in under_table(table, underlines=False))
        parts.append(f"### {escaped(table.title)}\n\n{lines}\n{footnotes}")
    return "\n".join(parts) + "".join(f"\n{escaped(note)}\n" for note in leaderboards.notes)


def _markdown_cell(cell: TableCell) -> str:
    text = escaped(cell.text)
    return (f"**{text}**" if cell.best else text) + "†" * cell.differs


# LaTeX ---------------------------------------------------------------------------------------------------------------

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", "±": r"$\pm$", "†": r"$^\dagger$", "·": r"$\cdot$",
}  # fmt: skip
"""Hyphens are in braces, so that two of them do not become a dash."""


def latex(leaderboards: Leaderboards) -> str:
    r"""Render booktabs tables; the first line says which packages they need.

    The best value of a column is bold and the second underlined; a dagger marks significant differences.
    """
    tables = map(_latex_table, leaderboards.tables, table_ids(leaderboards.tables))
    return "\n".join([r"% \usepackage{booktabs,textcomp}", *tables])


def latex_escaped(text: str) -> str:
    """Return a text as LaTeX that prints it.

    >>> latex_escaped("50 % of $x_1$")
    '50 \\\\% of \\\\$x\\\\_1\\\\$'
    """
    return "".join(SPECIAL.get(c, c) for c in one_line(text))


def _latex_table(table: Table, table_id: str) -> str:
    rows = [
        [("" if line.kind == "ours" else r"\quad ") + latex_escaped(line.label), *map(_latex_cell, line.cells)]
        for line in lines_of(table)
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_escaped(table.title)}}}\label{{tab:{re.sub('[^a-zA-Z0-9.]', '-', table_id)}}}",
            rf"\begin{{tabular}}{{llr{'r' * len(table.columns)}}}",
            r"\toprule",
            _latex_row(map(latex_escaped, [*FIXED, *table.columns])),
            r"\midrule",
            *map(_latex_row, rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize {latex_escaped(footnote)}" for footnote in under_table(table)),
            r"\end{table}",
            "",
        ]
    )


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _latex_cell(cell: TableCell) -> str:
    text = latex_escaped(cell.text)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    elif cell.second:
        text = rf"\underline{{{text}}}"
    return text + SPECIAL["†"] * cell.differs
