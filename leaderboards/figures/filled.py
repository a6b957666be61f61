"""Filled figures: a paper's figure with our numbers, and what its statements come to; a pure function of our tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.figures.figure_files import HUMAN, Figure, Point, Statement
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean
from bench.leaderboards.table import Table, metric_name

__all__ = ["HOLDS", "HOLDS_NOT", "UNKNOWN", "FilledFigure", "FilledPoint", "FilledStatement", "Made", "fill_figure"]

HOLDS, HOLDS_NOT, UNKNOWN = OUTCOMES = ("so here", "not so here", "cannot be said")
"""What a statement comes to by our numbers."""


@dataclass(frozen=True)
class Made:
    """What was planned for a point.

    Args:
        keys: of its cells; nothing where they could not be planned.
        at: its place, where the trained model says it; else None.
        reason: why there may be no number.
    """

    keys: frozenset[str] = frozenset()
    at: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class FilledPoint:
    """A point with our numbers.

    Args:
        point: of the figure.
        at: its place; None for one that has none.
        values: ours by column, means over seeds; columns without a number are not in it.
        reason: why there is no number; empty where there are some.
    """

    point: Point
    at: float | None
    values: Mapping[str, SeedMean]
    reason: str = ""


@dataclass(frozen=True)
class FilledStatement:
    """A statement of the paper and what our numbers say.

    Args:
        statement: the paper's.
        outcome: of `OUTCOMES`.
        ours: the numbers behind it, for people.
    """

    statement: Statement
    outcome: str
    ours: str


@dataclass(frozen=True)
class FilledFigure:
    """A figure with our numbers.

    Args:
        figure: the paper's.
        preset: of ours.
        points: with numbers, in the figure's order.
        statements: with what they come to.
        notes: what a reader must know.
        watermark: what keeps our numbers from being comparable with published ones, or nothing.
    """

    figure: Figure
    preset: str
    points: tuple[FilledPoint, ...]
    statements: tuple[FilledStatement, ...] = ()
    notes: tuple[str, ...] = ()
    watermark: str = ""

    def of_series(self, label: str) -> list[FilledPoint]:
        """Return the points of a series, from left to right."""
        points = [filled for filled in self.points if filled.point.series == label]
        return sorted(points, key=lambda filled: filled.at or 0)


def fill_figure(figure: Figure, ours: Sequence[Table], preset: str, made: Mapping[Point, Made]) -> FilledFigure:
    """Put our numbers into a figure.

    Args:
        figure: the paper's.
        ours: every table of its tasks, with all columns.
        preset: `small` or `paper`.
        made: by point, what was planned for it.
    """
    wanted = [table for table in ours if table.preset == preset]
    planned = frozenset[str]().union(*(each.keys for each in made.values()))
    filled = []
    for point in figure.points:
        found = _rows(point, wanted, made.get(point, Made()), figure.decoding, planned)
        filled.append(_filled(figure, point, found, made.get(point, Made())))
    draft = FilledFigure(figure, preset, tuple(filled))
    return replace(
        draft,
        statements=tuple(_judged(draft, statement) for statement in figure.statements),
        notes=tuple(_notes(figure, preset)),
        watermark=_watermark(wanted, planned),
    )


def _rows(point: Point, tables: Sequence[Table], made: Made, decoding: str, planned: frozenset[str]) -> list[TableRow]:
    """Return the rows of a point: of its cells and decoding; of people, the one beside cells of the figure."""
    rows: list[TableRow] = []
    for table in tables:
        if table.task != point.task:
            continue
        if point.method == HUMAN and any(row.keys & planned for row in table.rows):
            rows += table.human
        rows += [row for row in table.rows if row.keys & made.keys and row.decoding == decoding]
    return rows


def _filled(figure: Figure, point: Point, rows: Sequence[TableRow], made: Made) -> FilledPoint:
    at = point.at
    if made.at is not None:
        at = made.at
    if not rows:
        return FilledPoint(point, at, {}, made.reason or "not run")
    seeds = [seed for row in rows for seed in row.seeds]
    if len(seeds) > len(set(seeds)) or (point.method == HUMAN and len(rows) > 1):
        return FilledPoint(point, at, {}, f"{len(rows)} rows of ours could be meant")
    values = {}
    for column in figure.columns:
        numbers = _numbers_of(rows, column.metric)
        if numbers:
            values[column.label] = seed_mean(numbers)
    reason = ""
    if not values:
        reason = "its columns are not scored"
    return FilledPoint(point, at, values, reason)


def _numbers_of(rows: Sequence[TableRow], metric: str) -> list[float]:
    """Return the numbers of a metric by seed. Cells that start from others are a row for each seed."""
    numbers: list[float] = []
    for row in rows:
        for name, value in row.values.items():
            if metric_name(name) == metric and value.mean is not None:
                numbers += value.by_seed.values()
    return numbers


def _notes(figure: Figure, preset: str) -> list[str]:
    """Return what a reader of a whole figure must know."""
    notes = [f"Printed: {figure.printed_as}.", figure.level.text(), figure.note]
    if figure.statements:
        notes.append(
            f"'{HOLDS}' and '{HOLDS_NOT}' compare means of seeds and are no verdicts: bench claims gives those"
        )
    if preset == "small":
        notes.append("preset small has another backbone and other sizes than the paper: only directions say something")
    return notes


def _watermark(tables: Sequence[Table], planned: frozenset[str]) -> str:
    """Return what keeps the numbers of planned cells from being comparable with published ones."""
    marks = set()
    for table in tables:
        if table.watermark and any(row.keys & planned for row in table.rows):
            marks.add(f"{table.task}: {table.watermark}")
    return ". ".join(sorted(marks))


# Statements --------------------------------------------------------------------------------------------------------


def _judged(filled: FilledFigure, statement: Statement) -> FilledStatement:
    """Return what a statement comes to by our numbers."""
    of, than = _numbers(filled, statement.of, statement), _numbers(filled, statement.than, statement)
    if statement.kind in ("lower", "higher"):
        pairs = _at_both(of, than)
    elif statement.kind in ("ratio", "near"):
        return _share(statement, of, than)
    else:
        pairs = _by_choice(statement.kind, of, than)
    if not pairs:
        return FilledStatement(statement, UNKNOWN, "")
    shown = ", ".join(f"{ours:.2f} and {theirs:.2f}" for ours, theirs in pairs)
    outcome = HOLDS_NOT
    if all(_is_so(statement.kind, ours, theirs) for ours, theirs in pairs):
        outcome = HOLDS
    return FilledStatement(statement, outcome, shown)


def _is_so(kind: str, ours: float, theirs: float) -> bool:
    """Return whether a pair of numbers is as a kind of statement says."""
    if kind.startswith("not higher"):
        return ours <= theirs
    if kind.startswith("not lower"):
        return ours >= theirs
    if kind in ("lower", "falls to"):
        return ours < theirs
    return ours > theirs


def _numbers(filled: FilledFigure, label: str, statement: Statement) -> dict[float | None, float]:
    """Return by place the sum of a series' numbers in the columns of a statement; places without all are left out."""
    numbers = {}
    for point in filled.of_series(label):
        values = [point.values[column].mean for column in statement.columns if column in point.values]
        if len(values) == len(statement.columns):
            numbers[point.at] = sum(values)
    return numbers


def _at_both(of: Mapping[float | None, float], than: Mapping[float | None, float]) -> list[tuple[float, float]]:
    return [(number, than[place]) for place, number in of.items() if place in than]


def _by_choice(
    kind: str, of: Mapping[float | None, float], choice: Mapping[float | None, float]
) -> list[tuple[float, float]]:
    """Return what is compared up to a chosen place, each number with the one before, or beyond it, with the choice's.

    Nothing where the place that was chosen is not known.
    """
    if len(choice) != 1 or None in choice:
        return []
    ((chosen, best),) = choice.items()
    placed = [(at, number) for at, number in of.items() if at is not None and chosen is not None]
    if kind.endswith("beyond"):
        return [(number, best) for at, number in placed if chosen is not None and at > chosen]
    rising = [number for at, number in placed if chosen is not None and at < chosen]
    rising.append(best)
    return [(number, before) for before, number in zip(rising, rising[1:], strict=False)]


def _share(
    statement: Statement, of: Mapping[float | None, float], than: Mapping[float | None, float]
) -> FilledStatement:
    """Compare one number with another by their ratio. A ratio is shown beside the printed one and not judged."""
    if None not in of or not than.get(None):
        return FilledStatement(statement, UNKNOWN, "")
    ratio = of[None] / than[None]
    assert statement.printed is not None
    if statement.kind == "ratio":
        outcome = HOLDS_NOT
        if (ratio > 1) == (statement.printed > 1):
            outcome = HOLDS
        return FilledStatement(statement, outcome, f"{ratio:.2f}; printed {statement.printed:.2f}; by direction")
    outcome = HOLDS_NOT
    if abs(ratio - 1) <= statement.printed:
        outcome = HOLDS
    return FilledStatement(statement, outcome, f"{abs(ratio - 1):.2f}; printed at most {statement.printed:.2f}")
