"""Overview: every method against the baseline on every task, and what that comes to over the tasks.

A task counts with one table, and there with its primary column and with the decoding of one row of the baseline: the
same for all of its methods. Of several settings of a method the test column picks none (`baseline.choices`).
Differences are oriented: positive where a method is better than the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE, Choice, baseline_row, choices, rows_beside
from bench.leaderboards.statistics.intervals import SMALLEST, Interval, aggregate, probability_of_improvement
from bench.leaderboards.statistics.mean_rank import mean_ranks
from bench.leaderboards.statistics.overall import FEWEST, relative_scores
from bench.leaderboards.statistics.seed_spread import CANNOT_RANK, seed_deviation, why_unmarked
from bench.leaderboards.statistics.value_statistics import TableStatistics, ValueStatistics
from bench.leaderboards.table import Table, metric_name, order_for_readers

__all__ = ["Overview", "OverviewCell", "OverviewColumn", "OverviewRow", "overview"]


@dataclass(frozen=True)
class OverviewCell:
    """One method on one task.

    Args:
        mean: over seeds; None where there is no number.
        n: seeds it is the mean of.
        difference: from the baseline's mean, in the column's unit, positive where better; None for the baseline and
            without a number.
        size: the difference in standard deviations of a seed; None where the column cannot rank this row.
        differs: whether its table has a dagger at the value.
        why: why there is no number, else empty.
    """

    mean: float | None
    n: int
    difference: float | None = None
    size: float | None = None
    differs: bool = False
    why: str = ""


@dataclass(frozen=True)
class OverviewColumn:
    """The values of one task that methods are compared in.

    Args:
        place: of its table.
        task: its name.
        column: of the table, the task's primary metric.
        higher_is_better: its direction.
        backbone, decoding: of the baseline's row and of all that stand beside it.
        why_unranked: why seeds do not tell the rows of the column apart (`seed_spread.MEANINGS`); empty where they do.
        cells: by method, best first.
        by_seed: by method, its number of each seed; of trained rows, empty where it has none.
        chosen: by method with several settings, which of them stands here, for people.
    """

    place: int
    task: str
    column: str
    higher_is_better: bool
    backbone: str
    decoding: str
    why_unranked: str
    cells: Mapping[str, OverviewCell]
    by_seed: Mapping[str, Mapping[int, float]]
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def can_rank(self) -> bool:
        """Whether seeds tell the rows of the column apart."""
        return not self.why_unranked


@dataclass(frozen=True)
class OverviewRow:
    """One method over all tasks.

    Args:
        method: its name.
        marks: of its rows, such as `control`.
        trained: whether a model was trained; controls such as `lead` have none.
        n_tasks: on how many tasks it has a number.
        improves: probability that a run of it beats one of the baseline on a task drawn at random, over
            `improves_tasks` (`intervals.probability_of_improvement`); None on fewer than two tasks.
        relative: interquartile mean of its scores relative to the baseline's mean, 1 being as good, over
            `relative_tasks` (`intervals.aggregate`, `overall.relative_scores`); None on fewer than two tasks.
        mean_rank: over the tasks that can rank, among the methods that these rank, which three seeds are needed for
            (`mean_rank.mean_ranks`).
    """

    method: str
    marks: Sequence[str]
    trained: bool
    n_tasks: int
    improves: Interval | None = None
    improves_tasks: Sequence[str] = ()
    relative: Interval | None = None
    relative_tasks: Sequence[str] = ()
    mean_rank: float | None = None


@dataclass(frozen=True)
class Overview:
    """All methods over all tasks.

    Args:
        columns: a task each, in the order of the tables.
        rows: the baseline first, then methods with most tasks first, then controls without a trained model.
        notes: what is left out, and why, for people.
    """

    columns: Sequence[OverviewColumn] = ()
    rows: Sequence[OverviewRow] = ()
    notes: Sequence[str] = field(default_factory=list)


def overview(tables: Sequence[Table], statistics: Sequence[TableStatistics]) -> Overview:
    """Return what the tables say over all tasks; nothing where no table has the baseline beside a method.

    Args:
        tables: as they are shown.
        statistics: of each table.
    """
    columns = _columns(tables, statistics)
    if not columns:
        return Overview()
    ranks, why = mean_ranks([_means(column) for column in columns if column.can_rank])
    rows = [_row(method, marks, columns, ranks) for method, marks in _methods(tables, columns).items()]
    rows.sort(key=_order)
    return Overview(columns, rows, [*_left_out(tables, columns), *why])


def _columns(tables: Sequence[Table], statistics: Sequence[TableStatistics]) -> list[OverviewColumn]:
    """Return a column for each task that has a table with the baseline beside a method, in the order of the tables.

    Of several, the first for readers (`order_for_readers`): real rows and three seeds come first.
    """
    columns: dict[str, OverviewColumn] = {}
    for place in order_for_readers(tables):
        if tables[place].task not in columns:
            column = _column(place, tables[place], statistics[place])
            if column is not None:
                columns[column.task] = column
    return sorted(columns.values(), key=lambda column: column.place)


def _column(place: int, table: Table, statistics: TableStatistics) -> OverviewColumn | None:
    """Return the cells of one task; None where its column has no direction, or nothing beside the baseline."""
    found = baseline_row(table)
    if found is None:
        return None
    base, column = found
    value = base.values[column]
    if value.higher_is_better is None or value.mean is None:
        return None
    beside = [row for row in (*rows_beside(table, base), *_untrained(table, base)) if column in row.values]
    chosen = choices(beside, base, column)
    may_be_marked = statistics.markable.get(column, set())
    why_unranked = _why_unranked(table, base, column)
    deviation = _seed_deviation([row.values[column] for row in (base, *beside) if row.backbone])
    cells = {BASELINE: OverviewCell(value.mean, value.n)}
    by_seed = {BASELINE: value.by_seed}
    by_seed |= {row.method: {} for row in beside if row.backbone}
    for method, choice in chosen.items():
        row = choice.row
        if row is None:
            cells[method] = OverviewCell(None, 0, why=choice.why)
            continue
        at = table.rows.index(row)
        known = statistics.values[at].get(column, ValueStatistics())
        ranked = not why_unranked and at in may_be_marked
        cells[method] = _cell(row, row.values[column], value, known.differs, deviation if ranked else None)
        if row.backbone and not row.values[column].conflict:
            by_seed[method] = row.values[column].by_seed
    for row in _always_diverged(table, base):
        if row.method not in cells:
            cells[row.method] = _cell(row, Value({}, value.higher_is_better, ""), value, False, None)
            by_seed[row.method] = {}
    if len(cells) == 1:
        return None
    return OverviewColumn(
        place,
        table.task,
        column,
        value.higher_is_better,
        base.backbone,
        base.decoding,
        why_unranked,
        cells,
        by_seed,
        _said_of(chosen),
    )


def _why_unranked(table: Table, base: TableRow, column: str) -> str:
    """Return why a column cannot rank the baseline and what stands beside it; nothing where it can."""
    block = [table.rows[place] for place in table.blocks[base.backbone]]
    why = why_unmarked(block, column)
    if not why and base.values[column].n < SMALLEST:
        why = CANNOT_RANK
    return why


def _said_of(chosen: Mapping[str, Choice]) -> dict[str, str]:
    """Return of each method with several settings which of them stands in the overview, for people."""
    said = {}
    for method, choice in chosen.items():
        if choice.row is None:
            said[method] = f"none of {choice.settings} settings of {method}, since none was picked on validation"
        elif choice.settings > 1:
            said[method] = f"of {choice.settings} settings of {method} the one {choice.why} ({choice.row.settings})"
    return said


def _untrained(table: Table, base: TableRow) -> Iterator[TableRow]:
    """Yield the rows without a trained model that write as the baseline does: controls that any method should beat."""
    for row in table.rows:
        if not row.backbone and row.decoding == base.decoding:
            yield row


def _always_diverged(table: Table, base: TableRow) -> Iterator[TableRow]:
    """Yield the rows of the baseline's backbone that no seed has a number of: they write nothing, by no decoding."""
    for row in table.rows:
        if row.diverged and not row.values and row.backbone == base.backbone:
            yield row


def _seed_deviation(values: Sequence[Value]) -> float:
    """Return the standard deviation of one seed, pooled over rows; 0 without a row of two seeds."""
    groups = [list(value.by_seed.values()) for value in values if value.n > 1 and not value.conflict]
    if not groups:
        return 0.0
    return seed_deviation(groups)


def _cell(row: TableRow, value: Value, base: Value, differs: bool, deviation: float | None) -> OverviewCell:
    """Return a cell; a deviation of None means that the column cannot rank the row."""
    if value.mean is None or base.mean is None:
        why = value.why_none
        if value.conflict:
            why = "conflict"
        elif row.diverged:
            why = f"diverged {row.diverged}/{len(row.seeds)}"
        return OverviewCell(None, value.n, why=why)
    difference = value.mean - base.mean
    if not base.higher_is_better:
        difference = -difference
    size = None
    if deviation:
        size = difference / deviation
    elif deviation is not None and difference:
        size = math.copysign(math.inf, difference)
    elif deviation is not None:
        size = 0.0
    return OverviewCell(value.mean, value.n, difference, size, differs)


def _means(column: OverviewColumn) -> dict[str, float]:
    """Return by trained method that the column can rank its mean, turned so that higher is better."""
    sign = 1 if column.higher_is_better else -1
    means = {}
    for method in column.by_seed:
        cell = column.cells[method]
        if cell.mean is not None and (method == BASELINE or cell.size is not None):
            means[method] = sign * cell.mean
    return means


def _methods(tables: Sequence[Table], columns: Sequence[OverviewColumn]) -> dict[str, Sequence[str]]:
    """Return the marks of every method of the columns."""
    names = set[str]().union(*(column.cells for column in columns))
    marks: dict[str, Sequence[str]] = {}
    for column in columns:
        for row in tables[column.place].rows:
            if row.method in names and row.method not in marks:
                marks[row.method] = [mark for mark in row.marks if mark != "untuned"]
    return marks


def _row(
    method: str, marks: Sequence[str], columns: Sequence[OverviewColumn], ranks: Mapping[str, float]
) -> OverviewRow:
    n_tasks = sum(method in column.cells and column.cells[method].mean is not None for column in columns)
    trained = any(method in column.by_seed for column in columns)
    if method == BASELINE:
        return OverviewRow(method, marks, trained, n_tasks, mean_rank=ranks.get(method))
    improves = _improves(method, columns)
    relative = _relative(method, columns)
    return OverviewRow(method, marks, trained, n_tasks, *improves, *relative, ranks.get(method))


def _improves(method: str, columns: Sequence[OverviewColumn]) -> tuple[Interval | None, list[str]]:
    """Return the probability of improvement over the baseline, and the tasks it is over."""
    ours, theirs = {}, {}
    for column in columns:
        pair = _shared_seeds(method, column)
        if pair:
            ours[column.task], theirs[column.task] = pair
    if len(ours) < FEWEST:
        return None, []
    n = min(map(len, ours.values()))
    first = {task: values[:n] for task, values in ours.items()}
    second = {task: values[:n] for task, values in theirs.items()}
    return probability_of_improvement(first, second), list(ours)


def _why_not_relative(column: OverviewColumn) -> str:
    """Return why no method has a relative score on a task, or nothing."""
    found = [_relative_to_baseline(method, column) for method in column.by_seed if method != BASELINE]
    reasons = [reason for reason in found if isinstance(reason, str)]
    if not reasons or len(reasons) < len(found):
        return ""
    return f"{column.task} ({metric_name(column.column)}: {reasons[0]})"


def _shared_seeds(method: str, column: OverviewColumn) -> tuple[list[float], list[float]] | None:
    """Return the numbers of a method and of the baseline by the seeds both have, higher being better.

    None with fewer than `SMALLEST` of them.
    """
    ours, theirs = column.by_seed.get(method, {}), column.by_seed[BASELINE]
    seeds = sorted(set(ours) & set(theirs))
    if len(seeds) < SMALLEST:
        return None
    sign = 1 if column.higher_is_better else -1
    return [sign * ours[seed] for seed in seeds], [sign * theirs[seed] for seed in seeds]


def _relative(method: str, columns: Sequence[OverviewColumn]) -> tuple[Interval | None, list[str]]:
    """Return the interquartile mean of scores relative to the baseline's mean, and the tasks it is over."""
    scores = {}
    for column in columns:
        found = _relative_to_baseline(method, column)
        if isinstance(found, tuple):
            scores[column.task] = found[0]
    if len(scores) < FEWEST:
        return None, []
    n = min(map(len, scores.values()))
    return aggregate({task: values[:n] for task, values in scores.items()}), list(scores)


def _relative_to_baseline(method: str, column: OverviewColumn) -> tuple[list[float], list[float]] | str | None:
    """Return the scores of a method and of the baseline relative to the baseline's mean, or why there are none."""
    if method not in column.by_seed:
        return None
    both = [Value(dict(column.by_seed[name]), column.higher_is_better, "") for name in (method, BASELINE)]
    return relative_scores(*both)


def _order(row: OverviewRow) -> tuple[bool, bool, int, float, str]:
    """Sort the baseline first, rows without a trained model last, others by tasks and probability of improvement.

    Aggregates over unlike sets of tasks are not comparable, so a method with fewer tasks never stands above one with
    more.
    """
    improves = 0.5
    if row.improves is not None:
        improves = row.improves.value
    return row.method != BASELINE, not row.trained, -row.n_tasks, -improves, row.method


def _left_out(tables: Sequence[Table], columns: Sequence[OverviewColumn]) -> list[str]:
    """Say which tasks have no column or no relative scores, and which methods stand beside no baseline."""
    notes = []
    if reasons := [reason for column in columns if (reason := _why_not_relative(column))]:
        notes.append(f"no part of the relative scores: {'; '.join(reasons)}")
    for column in columns:
        if column.chosen:
            notes.append(f"{column.task} shows {'; '.join(column.chosen.values())}")
    shown = set[str]().union(*(column.cells for column in columns))
    beside = f"beside the {BASELINE} row of a task, of its backbone and decoding"
    counted = {column.task for column in columns}
    if tasks := list(dict.fromkeys(table.task for table in tables if table.task not in counted)):
        notes.append(f"tasks without a column, since no method stands {beside}: {', '.join(tasks)}")
    if absent := sorted(_trained(tables, columns) - shown):
        notes.append(f"not here, since they do not stand {beside}: {', '.join(absent)}")
    return notes


def _trained(tables: Sequence[Table], columns: Sequence[OverviewColumn]) -> set[str]:
    """Return the methods with a trained model of the tables that count, and of tasks that have none that does."""
    places = {column.place for column in columns}
    counted = {column.task for column in columns}
    methods = set()
    for place, table in enumerate(tables):
        if place in places or table.task not in counted:
            methods |= {row.method for row in table.rows if row.backbone}
    return methods
