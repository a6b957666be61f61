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
from bench.leaderboards.render.board import as_json, board
from bench.leaderboards.render.footnotes import under_table
from bench.leaderboards.render.text_table import TextTable, escaped, markdown_table, terminal
from bench.leaderboards.table import Table, metric_name

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
    """Return a frame with a line for each row of the board and the means of its metrics as columns."""
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
    """Return a field; a text without control characters, so that no spreadsheet takes it for a formula."""
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
class Line:
    """One line of a table: a row of ours, of a paper, or of human texts.

    Args:
        kind: `ours`, `paper` or `human`.
        label: as shown.
        cells: backbone, seeds and the values of the shown columns, each with `text` and, if it has any, its marks.
    """

    kind: str
    label: str
    cells: Sequence[Mapping[str, Any]]

    @property
    def indented(self) -> str:
        """The label, that of a paper set in below the row of ours it follows."""
        return f"  {self.label}" if self.kind == "paper" else self.label


def contents(leaderboards: Leaderboards) -> list[tuple[Table, dict[str, Any]]]:
    """Return every table with its content."""
    return list(zip(leaderboards.tables, board(leaderboards)["tables"], strict=True))


def headings(table: Mapping[str, Any]) -> list[str]:
    """Return the headings of a table of a board."""
    return [*FIXED, *(column["name"] for column in table["columns"] if column["shown"])]


def lines_of(table: Mapping[str, Any]) -> Iterator[Line]:
    """Yield our rows, each method followed by its published rows once, and then the rows of human texts.

    Args:
        table: of a board.
    """
    columns, followed = headings(table)[len(FIXED) :], set[str]()

    def line(kind: str, label: str, backbone: str, seeds: str, values: Mapping[str, Mapping[str, Any]]) -> Line:
        cells = [{"text": backbone}, {"text": seeds}, *(values.get(column, {"text": ""}) for column in columns)]
        return Line(kind, label, cells)

    for row in table["methods"]:
        yield line("ours", row["label"], row["backbone"], row["seeds_text"], row["values"])
        for paper in table["published"] if row["method"] not in followed else ():
            if paper["method"] == row["method"]:
                texts = {column: {"text": text} for column, text in paper["texts"].items()}
                yield line("paper", paper["name"], paper["backbone"], "", texts)
        followed.add(row["method"])
    for row in table["human"]:
        yield line("human", row["label"], "", "", row["values"])


def whole(cell: Mapping[str, Any]) -> str:
    """Return everything of a cell but its marks: `33.12 ±1.00 (n=2)`."""
    interval, fewer = cell.get("interval"), cell.get("fewer")
    return cell["text"] + (f" ±{interval}" if interval else "") + (f" ({fewer})" if fewer else "")


# Terminal ------------------------------------------------------------------------------------------------------------


def in_terminal(leaderboards: Leaderboards) -> str:
    """Render tables for a terminal, with the notes below; best values are bold there, second ones underlined."""
    tables = [(text_table(content, table.primary), under_table(table)) for table, content in contents(leaderboards)]
    return terminal(tables) + "".join(f"{one_line(note)}\n" for note in leaderboards.notes)


def text_table(table: Mapping[str, Any], primary: str) -> TextTable:
    """Return a table of a board as one of texts; where it is split, the primary column is its first value."""
    titles, lines = headings(table), list(lines_of(table))
    values = sorted(range(len(FIXED), len(titles)), key=lambda place: metric_name(titles[place]) != primary)
    ours = [line.label for line in lines if line.kind == "ours"]
    repeated = 1 if len(set(ours)) == len(ours) else 2  # only the backbone tells two rows apart

    def cells(line: Line) -> list[Text]:
        style = "" if line.kind == "ours" else "dim"
        styles = ["bold" if cell.get("best") else "underline" if cell.get("second") else style for cell in line.cells]
        texts = [one_line(whole(cell)) + "†" * cell.get("differs", False) for cell in line.cells]
        return [Text(one_line(line.indented), style=style), *map(Text, texts, styles)]

    return TextTable(
        one_line(table["title"]),
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
    for table, content in contents(leaderboards):
        rows = [[escaped(line.indented), *map(_markdown_cell, line.cells)] for line in lines_of(content)]
        lines = "\n".join(markdown_table(list(map(escaped, headings(content))), rows, texts=2))
        footnotes = "".join(f"\n*{escaped(footnote)}*\n" for footnote in under_table(table))
        parts.append(f"### {escaped(table.title)}\n\n{lines}\n{footnotes}")
    return "\n".join(parts) + "".join(f"\n{escaped(note)}\n" for note in leaderboards.notes)


def _markdown_cell(cell: Mapping[str, Any]) -> str:
    text = escaped(whole(cell))
    return (f"**{text}**" if cell.get("best") else text) + "†" * cell.get("differs", False)


# LaTeX ---------------------------------------------------------------------------------------------------------------

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", "±": r"$\pm$", "†": r"$^\dagger$", "·": r"$\cdot$",
}  # fmt: skip
"""Hyphens are in braces, so that two of them do not become a dash. `pandas` escapes neither these nor `<`, `>`, `|`."""


def latex(leaderboards: Leaderboards) -> str:
    r"""Render booktabs tables; the first line says which packages they need.

    The best value of a column is bold and the second underlined; a dagger marks significant differences.
    """
    tables = [_latex_table(table, content) for table, content in contents(leaderboards)]
    return "\n".join([r"% \usepackage{booktabs,textcomp}", *tables])


def latex_escaped(text: str) -> str:
    """Return a text as LaTeX that prints it.

    >>> latex_escaped("50 % of $x_1$")
    '50 \\\\% of \\\\$x\\\\_1\\\\$'
    """
    return "".join(SPECIAL.get(c, c) for c in one_line(text))


def _latex_table(table: Table, content: Mapping[str, Any]) -> str:
    rows = [
        [("" if line.kind == "ours" else r"\quad ") + latex_escaped(line.label), *map(_latex_cell, line.cells)]
        for line in lines_of(content)
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_escaped(table.title)}}}\label{{tab:{re.sub('[^a-zA-Z0-9.]', '-', content['id'])}}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(headings(content)) - 2)}}}",
            r"\toprule",
            _latex_row(map(latex_escaped, headings(content))),
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


def _latex_cell(cell: Mapping[str, Any]) -> str:
    text = latex_escaped(whole(cell))
    if cell.get("best"):
        text = rf"\textbf{{{text}}}"
    elif cell.get("second"):
        text = rf"\underline{{{text}}}"
    return text + SPECIAL["†"] * cell.get("differs", False)
