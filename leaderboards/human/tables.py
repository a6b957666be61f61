"""Human tables: a study's results as plain tables in the order of HistAlign tables 4 and 6, its numbers below ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.base.outward import plain
from bench.leaderboards.human.results import Difference, HumanResults, Pair, Votes
from bench.leaderboards.published.papers import PublishedCell, PublishedTable, paper_table
from bench.leaderboards.render.grid import number
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.text.aligned import aligned
from bench.leaderboards.statistics.significance import ALPHA

__all__ = ["HumanTable", "markdown", "tables", "terminal"]

PUBLISHED = "  published: "
OUTCOMES = ("win", "tie", "lose")
TESTS = ("difference", "95 % interval", "p bootstrap", "p", "p Holm")


@dataclass(frozen=True)
class HumanTable:
    """A table as text: `rows` have a cell for each of `headings`."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(results: HumanResults) -> list[HumanTable]:
    """Return the tables of a study: shares or means, tests, agreement."""
    agreement = []
    for question in results.agreement:
        alphas = [_two_decimals(question.nominal), _two_decimals(question.ordinal)]
        agreement.append([question.question, *alphas, number(question.raw), str(question.units)])
    headings = ["question", "alpha nominal", "alpha ordinal", "same answer %", "units"]
    numbers = _pairwise(results) if results.kind == "pairwise" else _single(results)
    return [*numbers, HumanTable("Agreement of raters (Krippendorff's alpha)", headings, agreement)]


def remarks(results: HumanResults) -> list[str]:
    """Return what stands under the tables."""
    said = [
        f"{results.items} items, {len(results.raters)} raters, {results.judgements} judgements",
        "* p Holm < 0.05; tests are over items, p by paired randomisation",
    ]
    if any(row[0].startswith(PUBLISHED) for table in tables(results) for row in table.rows):
        paper = _paper_table(results)
        about, why_not = f"{paper.name}: {paper.about.rstrip('.')}", paper.rows[0][0].why_not
        if why_not:
            about = f"{about}; not comparable with ours: {why_not}"
        said.append(about)
    return [*said, *results.remarks]


# Formats ----------------------------------------------------------------------------------------------------------


def terminal(results: HumanResults) -> str:
    """Return the tables as aligned text, the first column to the left."""
    parts = []
    for table in tables(results):
        head, *rows = [list(map(plain, row)) for row in (table.headings, *table.rows)]
        parts.append("\n".join([plain(table.title), *aligned(head, rows)]) + "\n")
    return "\n".join(parts) + "".join(f"  {plain(remark)}\n" for remark in remarks(results))


def markdown(results: HumanResults) -> str:
    """Return the tables as Markdown."""
    parts = []
    for table in tables(results):
        head, *rows = [[escaped(cell) for cell in row] for row in (table.headings, *table.rows)]
        parts.append("\n".join([f"### {escaped(table.title)}", "", *markdown_table(head, rows, texts=1), ""]))
    return "\n".join(parts) + "".join(f"\n*{escaped(remark)}*\n" for remark in remarks(results))


# A pair of methods ------------------------------------------------------------------------------------------------


def _pairwise(results: HumanResults) -> list[HumanTable]:
    """Return the tables of shares and of tests of a pairwise study."""
    ours, theirs = results.methods
    headings = [f"{pair.question} {outcome}" for pair in results.pairs for outcome in OUTCOMES]
    rows = [
        [f"{ours} vs {theirs}", *_shares(pair.judgements for pair in results.pairs)],
        ["  majority of an item's raters", *_shares(pair.majority for pair in results.pairs)],
        *_published_pairs(results),
    ]
    tests = [[pair.question, *_test(pair.difference), number(pair.left_share)] for pair in results.pairs]
    return [
        HumanTable(f"{ours} against {theirs}: percent of judgements", ["", *headings], rows),
        HumanTable("Wins less losses", ["question", *TESTS, "left %"], tests),
    ]


def _shares(votes: Iterable[Votes]) -> list[str]:
    return [number(share) for of_question in votes for share in of_question.shares]


def _published_pairs(results: HumanResults) -> list[list[str]]:
    """Return the rows of table 4 for these two methods; wins and losses change places where ours do."""
    rows = []
    for row in _paper_table(results).rows:
        methods = (row[0].method, row[0].than)
        if methods == results.methods:
            rows.append([_label(row[0]), *_published_shares(row, results.pairs, OUTCOMES)])
        elif methods == results.methods[::-1]:
            rows.append([_label(row[0]), *_published_shares(row, results.pairs, OUTCOMES[::-1])])
    return rows


def _published_shares(row: Sequence[PublishedCell], pairs: Sequence[Pair], outcomes: Sequence[str]) -> list[str]:
    metrics = [f"human/{pair.question}-{outcome}" for pair in pairs for outcome in outcomes]
    return _published_numbers(row, metrics)


# Methods on their own ---------------------------------------------------------------------------------------------


def _single(results: HumanResults) -> list[HumanTable]:
    """Return the tables of means and of tests of a single study."""
    questions = list(dict.fromkeys(rating.question for rating in results.ratings))
    metrics = [f"human/{question}" for question in questions]
    rows: list[list[str]] = []
    for method in results.methods:
        rows.append([method, *_means(results, method, questions)])
        for row in _paper_table(results).rows:
            if row[0].method == method:
                rows.append([_label(row[0]), *_published_numbers(row, metrics)])
    tests = []
    for rating in results.ratings:
        if rating.difference is not None:
            tests.append([f"{rating.method}, {rating.question}", *_test(rating.difference)])
    return [
        HumanTable("Percent of judgements that say yes", ["", *questions], rows),
        HumanTable(f"Differences to {results.methods[0]}", ["", *TESTS], tests),
    ]


def _means(results: HumanResults, method: str, questions: Sequence[str]) -> list[str]:
    """Return a method's mean for each question, with a star where it differs from the first method's."""
    means = dict.fromkeys(questions, "")
    for rating in results.ratings:
        if rating.method == method:
            means[rating.question] = f"{number(rating.mean.value)}{_star(rating.difference)}"
    return list(means.values())


# Cells ------------------------------------------------------------------------------------------------------------


def _paper_table(results: HumanResults) -> PublishedTable:
    return paper_table({"pairwise": "histalign/table4", "single": "histalign/table6"}[results.kind])


def _label(cell: PublishedCell) -> str:
    return f"{PUBLISHED}{cell.paper} {cell.table}, {cell.row}"


def _published_numbers(row: Sequence[PublishedCell], metrics: Sequence[str]) -> list[str]:
    values = {cell.metric: cell.value for cell in row}
    return [number(values.get(metric)) for metric in metrics]


def _test(difference: Difference) -> list[str]:
    """Return the cells of a difference, one for each of `TESTS`."""
    interval = ""
    if difference.low is not None:
        interval = f"{number(difference.low)} to {number(difference.high)}"
    p_values = (difference.p_bootstrap, difference.p, difference.adjusted)
    return [f"{difference.value:+.2f}{_star(difference)}", interval, *(f"{p:.4f}" for p in p_values)]


def _star(difference: Difference | None) -> str:
    if difference is None or difference.adjusted >= ALPHA:
        return ""
    return "*"


def _two_decimals(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:.2f}"
