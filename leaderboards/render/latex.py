"""LaTeX: leaderboards as booktabs tables, best in bold, second underlined, a dagger at significant differences."""

from __future__ import annotations

from collections.abc import Iterable

from bench.base.redaction import one_line
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import GridCell, Line, grid_of
from bench.leaderboards.render.remarks import under_table
from bench.leaderboards.table import Table

__all__ = ["escaped", "latex"]

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    "·": r"$\cdot$",
}
"""Hyphens stand apart, so that none joins into a dash."""


def latex(leaderboards: Leaderboards) -> str:
    r"""Render tables for a paper; needs `\usepackage{booktabs,textcomp}` and nothing else."""
    parts = map(_table, leaderboards.tables)
    return "\n".join(parts)


def escaped(text: str) -> str:
    """Return a text that stands for itself.

    >>> escaped("50 % of $x_1$")
    '50 \\\\% of \\\\$x\\\\_1\\\\$'
    """
    return "".join(SPECIAL.get(c, c) for c in one_line(text))


def _table(table: Table) -> str:
    grid = grid_of(table)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\begin{{tabular}}{{ll{'r' * (len(grid.headings) - 2)}}}",
        r"\toprule",
        _row(map(escaped, grid.headings)),
        r"\midrule",
    ]
    for line in grid.lines:
        lines.append(_row([_label(line), *map(_cell, line.shown(table.columns))]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {escaped(remark)}" for remark in under_table(table)]
    return "\n".join([*lines, r"\end{table}", ""])


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _label(line: Line) -> str:
    if line.ours:
        return escaped(line.label)
    return rf"\quad {escaped(line.label)}"


def _cell(cell: GridCell) -> str:
    text = escaped(cell.whole)
    if cell.best:
        text = rf"\textbf{{{text}}}"
    elif cell.second:
        text = rf"\underline{{{text}}}"
    if cell.differs:
        text += SPECIAL["†"]
    return text
