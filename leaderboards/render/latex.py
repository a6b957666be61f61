"""LaTeX: leaderboards as booktabs tables, best in bold, second underlined, a dagger at significant differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.leaderboards.render.grid import Cell, headings, lines, plain, remarks
from bench.leaderboards.statistics.value_statistics import Judged
from bench.leaderboards.table import Table

__all__ = ["escaped", "latex"]

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\"": r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "-": "{-}", "±": r"$\pm$", "†": r"$^\dagger$", "·": r"$\cdot$",
}  # fmt: skip


def latex(tables: Sequence[Table], judged: Sequence[Sequence[Mapping[str, Judged]]] = ()) -> str:
    """Render tables for a paper; needs `\\usepackage{booktabs,textcomp}` and nothing else.

    Args:
        tables: as they are shown.
        judged: what `analysis.analysed` found, for intervals and daggers.
    """
    parts = []
    for i, table in enumerate(tables):
        known = judged[i] if judged else ()
        head = headings(table)
        body = [" & ".join([_label(line.label, line.ours), *map(_cell, line.cells)]) + r" \\"
                for line in lines(table, known)]  # fmt: skip
        notes = [rf"\par\footnotesize {escaped(remark)}" for remark in remarks(table, known)]
        parts.append("\n".join([
            r"\begin{table}", r"\centering", rf"\caption{{{escaped(table.title)}}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}", r"\toprule",
            " & ".join(map(escaped, head)) + r" \\", r"\midrule", *body, r"\bottomrule", r"\end{tabular}", *notes,
            r"\end{table}", "",
        ]))  # fmt: skip
    return "\n".join(parts)


def escaped(text: str) -> str:
    """Return a text that stands for itself; hyphens apart, so that none joins into a dash.

    >>> escaped("50 % of $x_1$")
    '50 \\\\% of \\\\$x\\\\_1\\\\$'
    """
    return "".join(SPECIAL.get(c, c) for c in plain(text))


def _label(label: str, ours: bool) -> str:
    return escaped(label) if ours else r"\quad " + escaped(label.strip())


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if text and cell.best:
        text = rf"\textbf{{{text}}}"
    elif text and cell.second:
        text = rf"\underline{{{text}}}"
    return text + (r"$^\dagger$" if cell.differs and text else "")
