"""Grid: what a leaderboard shows, decided once as data; every format writes these texts and marks in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.leaderboards.published.papers import Published
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import MIN_SEEDS, Table, metric_name

HUMAN = "human (the true continuations)"
FIXED = ("method", "backbone", "seeds")
"""Headings before those of the columns."""


@dataclass(frozen=True)
class GridCell:
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


EMPTY = GridCell("")


@dataclass(frozen=True)
class Line:
    """One line of a table: a row of ours, of a paper, or what people wrote.

    Args:
        kind: which of these.
        label: method, settings and marks; or the paper and its table.
        backbone, seeds: as shown.
        cells: by column; a value that is not there is missing.
        marks: `control`, `untuned`, `imported`.
    """

    kind: Literal["ours", "paper", "human"]
    label: str
    backbone: str
    seeds: str
    cells: Mapping[str, GridCell]
    marks: Sequence[str] = ()

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

    def shown(self, columns: Sequence[str]) -> list[GridCell]:
        """Return the cells after the label: backbone, seeds and the columns."""
        return [GridCell(self.backbone), GridCell(self.seeds), *(self.cells.get(column, EMPTY) for column in columns)]


@dataclass(frozen=True)
class Grid:
    """What is shown of one table.

    Args:
        table: it.
        columns: all that have a value, the shown ones first.
        rows, papers, human: a line for each of the table's rows, published rows and rows of what people wrote.
        why_not: why published numbers are not comparable with ours; empty where they are.
        deltas: of each published row, ours less the paper's as shown, by place of our row and column; empty where not
            comparable.
    """

    table: Table
    columns: Sequence[str]
    rows: Sequence[Line]
    papers: Sequence[Line]
    human: Sequence[Line]
    why_not: str
    deltas: Sequence[Mapping[int, Mapping[str, str]]]

    @property
    def headings(self) -> list[str]:
        """Headings of what text formats show."""
        return [*FIXED, *self.table.columns]

    @property
    def lines(self) -> list[Line]:
        """Our rows, each followed by what papers publish for its method, once, and what people's texts score."""
        lines: list[Line] = []
        methods = set[str]()
        for row, line in zip(self.table.rows, self.rows, strict=True):
            lines.append(line)
            for paper, paper_line in zip(self.table.published, self.papers, strict=True):
                if paper.method == row.method and row.method not in methods:
                    lines.append(paper_line)
            methods.add(row.method)
        return [*lines, *self.human]


def grid_of(table: Table) -> Grid:
    """Return what is shown of a table."""
    columns = _columns(table)
    best, second = {}, {}
    for column in columns:
        best[column], second[column] = table.best_and_second(column, MIN_SEEDS)
    rows = []
    for place, row in enumerate(table.rows):
        cells, n = {}, row.n
        for column in columns:
            if column in row.values:
                cells[column] = _cell(row.values[column], n, place in best[column], place in second[column])
        rows.append(Line("ours", row.label, row.backbone, _seeds(row), cells, row.marks))
    return Grid(
        table,
        columns,
        rows,
        [_paper_line(paper, columns) for paper in table.published],
        [_human_line(row, columns) for row in table.human],
        _why_not(table),
        [_deltas(table, paper, columns) for paper in table.published],
    )


def _columns(table: Table) -> list[str]:
    """Return the columns as shown, then what else there is a value of."""
    there = set()
    for row in table.rows:
        there |= {column for column, value in row.values.items() if value.by_seed or value.conflict}
    return [*table.columns, *sorted(there - set(table.columns))]


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


def _cell(value: Value, seeds: int, best: bool = False, second: bool = False) -> GridCell:
    """Return a value as shown; a conflict is never a number, and a mean over fewer seeds than its row says so."""
    if value.conflict:
        return GridCell("conflict")
    if value.mean is None:
        return GridCell("n/a")
    fewer = ""
    if value.n < seeds:
        fewer = f"n={value.n}"
    return GridCell(number(value.mean), number(value.half), fewer, best, second, value.differs)


def _seeds(row: TableRow) -> str:
    """Return how many seeds a row is the mean of, and how many diverged."""
    if row.diverged:
        return f"{row.n} (div {row.diverged}/{len(row.seeds)})"
    return str(row.n)


def _human_line(row: TableRow, columns: Sequence[str]) -> Line:
    cells = {column: _cell(row.values[column], 1) for column in columns if column in row.values}
    return Line("human", HUMAN, "", "", cells)


def _paper_line(paper: Published, columns: Sequence[str]) -> Line:
    cells = {column: GridCell(number(value)) for column, value in printed_values(paper, columns).items()}
    return Line("paper", paper.name, paper.backbone, "", cells)


def printed_values(paper: Published, columns: Sequence[str]) -> dict[str, float]:
    """Return what a paper prints by our columns, so that each value stands below ours."""
    return {column: paper.values[metric_name(column)] for column in columns if metric_name(column) in paper.values}


def _why_not(table: Table) -> str:
    """Return why published numbers are not comparable with those of a table, or nothing."""
    reasons = []
    if table.watermark:
        reasons.append(table.watermark)
    if table.preset != "paper":
        reasons.append(f"our rows are of preset {table.preset}")
    return "; ".join(reasons)


def _deltas(table: Table, paper: Published, columns: Sequence[str]) -> dict[int, dict[str, str]]:
    """Return our means less a paper's values as shown, by place of our row and column; nothing if not comparable."""
    deltas: dict[int, dict[str, str]] = {}
    if _why_not(table):
        return deltas
    printed = printed_values(paper, columns)
    for place, row in enumerate(table.rows):
        if row.method != paper.method:
            continue
        for column in printed:
            if column in row.values and (mean := row.values[column].mean) is not None:
                deltas.setdefault(place, {})[column] = signed(mean - printed[column])
    return deltas
