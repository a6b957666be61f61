"""Human tables: a study's results as plain tables in the order of HistAlign tables 4 and 6, its numbers below ours."""

from __future__ import annotations

from collections.abc import Sequence

from bench.leaderboards.human.results import Difference, HumanResults
from bench.leaderboards.published.papers import PublishedCell, paper_table
from bench.leaderboards.render.grid import number, plain
from bench.leaderboards.statistics.significance import ALPHA

__all__ = ["Grid", "grids", "markdown", "terminal"]

Grid = tuple[str, list[str], list[list[str]]]
"""Title, headings, rows."""
PUBLISHED = "  published: "
TESTS = ["difference", "95 % interval", "p bootstrap", "p", "p Holm"]


def grids(found: HumanResults) -> list[Grid]:
    """Return the tables: shares or means, tests, agreement."""
    first = _pairwise(found) if found.kind == "pairwise" else _single(found)
    agreed = [[one.question, _two(one.nominal), _two(one.ordinal), number(one.raw), str(one.units)]
              for one in found.agreement]  # fmt: skip
    heads = ["question", "alpha nominal", "alpha ordinal", "same answer %", "units"]
    return [*first, ("Agreement of raters (Krippendorff's alpha)", heads, agreed)]


def remarks(found: HumanResults) -> list[str]:
    """Return what stands under the tables."""
    counted = f"{found.items} items, {len(found.raters)} raters, {found.judgements} judgements"
    paper = paper_table(_address(found))
    beside = any(row[0].startswith(PUBLISHED) for _, _, rows in grids(found) for row in rows)
    why = f"; not comparable with ours: {paper.rows[0][0].why_not}" if paper.rows[0][0].why_not else ""
    return [counted, "* p Holm < 0.05; tests are over items, p by paired randomisation",
            *([f"{paper.name}: {paper.about.rstrip('.')}{why}"] if beside else []), *found.remarks]  # fmt: skip


def terminal(found: HumanResults) -> str:
    """Return the tables as aligned text."""
    parts = []
    for title, head, rows in grids(found):
        cells = [[plain(cell) for cell in row] for row in (head, *rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        lines = ["  ".join(cell.rjust(width) if i else cell.ljust(width)
                           for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
                 for row in cells]  # fmt: skip
        parts.append("\n".join([plain(title), lines[0], "-" * max(map(len, lines)), *lines[1:]]) + "\n")
    return "\n".join(parts) + "".join(f"  {plain(remark)}\n" for remark in remarks(found))


def markdown(found: HumanResults) -> str:
    """Return the tables as Markdown."""
    parts = []
    for title, head, rows in grids(found):
        lines = [f"| {' | '.join(map(_md, row))} |" for row in (head, *rows)]
        parts.append(
            "\n".join([f"### {_md(title)}", "", lines[0], "|---|" + "---:|" * (len(head) - 1), *lines[1:], ""])
        )
    return "\n".join(parts) + "".join(f"\n*{_md(remark)}*\n" for remark in remarks(found))


def _pairwise(found: HumanResults) -> list[Grid]:
    one, other = found.methods
    heads = [f"{pair.question} {what}" for pair in found.pairs for what in ("win", "tie", "lose")]
    rows = [
        [label, *(number(share) for pair in found.pairs for share in getattr(pair, votes).shares)]
        for label, votes in ((f"{one} vs {other}", "judgements"), ("  majority of an item's raters", "majority"))
    ]
    rows += _published_pair(found, heads)
    tests = [[pair.question, *_test(pair.difference), number(pair.left_share)] for pair in found.pairs]
    return [(f"{one} against {other}: percent of judgements", ["", *heads], rows),
            ("Wins less losses", ["question", *TESTS, "left %"], tests)]  # fmt: skip


def _published_pair(found: HumanResults, heads: Sequence[str]) -> list[list[str]]:
    """Rows of table 4 for these two methods, the other way round where ours is."""
    lines = []
    for row in paper_table(_address(found)).rows:
        pair = (row[0].method, row[0].than)
        if set(pair) == set(found.methods):
            turned = {"win": "lose", "lose": "win"} if pair != found.methods else {}
            values = {cell.metric: cell.value for cell in row}
            names = [head.split(" ") for head in heads]
            lines.append([_label(row[0]), *(number(values.get(f"human/{question}-{turned.get(what, what)}"))
                                            for question, what in names)])  # fmt: skip
    return lines


def _single(found: HumanResults) -> list[Grid]:
    questions = list(dict.fromkeys(one.question for one in found.ratings))
    rows: list[list[str]] = []
    for method in found.methods:
        ours = {one.question: one for one in found.ratings if one.method == method}
        rows.append([method, *(f"{number(ours[q].mean.value)}{_star(ours[q].difference)}" if q in ours else ""
                               for q in questions)])  # fmt: skip
        for row in paper_table(_address(found)).rows:
            if row[0].method == method:
                values = {cell.metric: cell.value for cell in row}
                rows.append([_label(row[0]), *(number(values.get(f"human/{q}")) for q in questions)])
    tests = [[f"{one.method}, {one.question}", *_test(one.difference)] for one in found.ratings if one.difference]
    return [("Percent of judgements that say yes", ["", *questions], rows),
            (f"Differences to {found.methods[0]}", ["", *TESTS], tests)]  # fmt: skip


def _address(found: HumanResults) -> str:
    return "histalign/table4" if found.kind == "pairwise" else "histalign/table6"


def _label(cell: PublishedCell) -> str:
    return f"{PUBLISHED}{cell.paper} {cell.table}, {cell.row}"


def _test(one: Difference) -> list[str]:
    ends = "" if one.low is None else f"{number(one.low)} to {number(one.high)}"
    return [f"{one.value:+.2f}{_star(one)}", ends, *(f"{p:.4f}" for p in (one.p_bootstrap, one.p, one.adjusted))]


def _star(one: Difference | None) -> str:
    return "*" if one is not None and one.adjusted < ALPHA else ""


def _two(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _md(text: str) -> str:
    return "".join("\\" + c if c in "\\|<>[]*_`" else c for c in plain(text))
