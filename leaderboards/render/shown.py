"""Shown: the texts and marks of a leaderboard, decided once; every format writes them in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.leaderboards.published.papers import Published
from bench.leaderboards.row import Value
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.table import Table, metric_name

HUMAN = "human (the true continuations)"
FIXED = ("method", "backbone", "seeds")
"""Headings before those of the columns."""


@dataclass(frozen=True)
class Shown:
    """A value as shown, and its marks.

    Args:
        text: the mean, `n/a` or `conflict`.
        interval: half the width of its 95 % interval over seeds, empty where there is none.
        fewer: `n=2` where it is the mean over fewer seeds than its row.
        best: whether it is the best of its column, `second` the second best.
        differs: whether it differs significantly from the baseline's over seeds: the dagger.
    """

    text: str
    interval: str = ""
    fewer: str = ""
    best: bool = False
    second: bool = False
    differs: bool = False

    @property
    def whole(self) -> str:
        """Everything but the marks: `33.12 ±1.00 (n=2)`."""
        whole = self.text
        if self.interval:
            whole += f" ±{self.interval}"
        if self.fewer:
            whole += f" ({self.fewer})"
        return whole


EMPTY = Shown("")


@dataclass(frozen=True)
class Line:
    """One line of a table: a row of ours, of a paper, or what people wrote.

    Args:
        kind: which of these.
        label: method, settings and marks; or the paper and its table.
        backbone, seeds: as shown.
        cells: by column; a value that is not there is missing.
    """

    kind: Literal["ours", "paper", "human"]
    label: str
    backbone: str
    seeds: str
    cells: Mapping[str, Shown]

    @property
    def ours(self) -> bool:
        """Whether it is of our own runs."""
        return self.kind == "ours"

    @property
    def indented(self) -> str:
        """The label, that of a paper set in below the row of ours it follows."""
        if self.kind == "paper":
            return f"  {self.label}"
        return self.label

    def shown(self, columns: Sequence[str]) -> list[Shown]:
        """Return the cells after the label: backbone, seeds and the columns."""
        return [Shown(self.backbone), Shown(self.seeds), *(self.cells.get(column, EMPTY) for column in columns)]


def shown_lines(table: Table) -> list[Line]:
    """Return our rows, each followed by what papers publish for its method, once, and what people's texts score."""
    lines: list[Line] = []
    papers = list(zip(table.published, paper_lines(table), strict=True))
    for row, line in zip(table.rows, our_lines(table), strict=True):
        lines += [line, *(printed for paper, printed in papers if paper.method == row.method)]
        papers = [(paper, printed) for paper, printed in papers if paper.method != row.method]
    return [*lines, *people_lines(table)]


def headings(table: Table) -> list[str]:
    """Return the headings of what text formats show."""
    return [*FIXED, *table.columns]


def all_columns(table: Table) -> list[str]:
    """Return the columns as shown, then every other one that has a value."""
    there = {name for row in table.rows for name, value in row.values.items() if value.by_seed or value.conflict}
    return [*table.columns, *sorted(there - set(table.columns))]


def our_lines(table: Table) -> list[Line]:
    """Return a line for each of our rows."""
    columns = all_columns(table)
    marked = {column: table.best_and_second(column, MIN_SEEDS) for column in columns}
    lines = []
    for place, row in enumerate(table.rows):
        cells, n = {}, row.n
        for column in columns:
            if column in row.values:
                best, second = (place in places for places in marked[column])
                cells[column] = _shown(row.values[column], n, best, second)
        seeds = f"{n} (div {row.diverged}/{len(row.seeds)})" if row.diverged else str(n)
        lines.append(Line("ours", row.label, row.backbone, seeds, cells))
    return lines


def people_lines(table: Table) -> list[Line]:
    """Return a line for each row of what people wrote."""
    return [
        Line(
            "human",
            HUMAN,
            "",
            "",
            {name: _shown(row.values[name], 1) for name in all_columns(table) if name in row.values},
        )
        for row in table.human
    ]


def paper_lines(table: Table) -> list[Line]:
    """Return a line for each published row."""
    return [
        Line(
            "paper",
            paper.name,
            paper.backbone,
            "",
            {c: Shown(number(v)) for c, v in printed_values(paper, table).items()},
        )
        for paper in table.published
    ]


def number(value: float | None) -> str:
    """Return a number as shown: two decimals, large whole ones without."""
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) > 100:
        return f"{value:.0f}"
    return f"{value:.2f}"


def signed(value: float) -> str:
    """Return a difference as shown.

    >>> signed(1.5), signed(-0.25)
    ('+1.50', '−0.25')
    """
    if value < 0:
        return f"−{number(-value)}"
    return f"+{number(value)}"


def _shown(value: Value, seeds: int, best: bool = False, second: bool = False) -> Shown:
    """Return a value as shown; a conflict is never a number, and a mean over fewer seeds than its row says so."""
    if value.conflict:
        return Shown("conflict")
    if value.mean is None:
        return Shown("n/a")
    fewer = f"n={value.n}" if value.n < seeds else ""
    return Shown(number(value.mean), number(value.half), fewer, best, second, value.differs)


# Published numbers ---------------------------------------------------------------------------------------------------


def printed_values(paper: Published, table: Table) -> dict[str, float]:
    """Return what a paper prints by our columns, so that each value stands below ours."""
    columns = all_columns(table)
    return {column: paper.values[metric_name(column)] for column in columns if metric_name(column) in paper.values}


def why_not(table: Table) -> str:
    """Return why published numbers are not comparable with those of a table, or nothing."""
    reasons = [table.watermark, "" if table.preset == "paper" else f"our rows are of preset {table.preset}"]
    return "; ".join(filter(None, reasons))


def deltas(table: Table, paper: Published) -> dict[str, dict[str, str]]:
    """Return ours less the paper's as shown, by the id of our row and column; nothing where not comparable."""
    found: dict[str, dict[str, str]] = {}
    printed = {} if why_not(table) else printed_values(paper, table)
    for row in table.rows:
        for column in printed if row.method == paper.method else ():
            if column in row.values and (mean := row.values[column].mean) is not None:
                found.setdefault(row.id, {})[column] = signed(mean - printed[column])
    return found
