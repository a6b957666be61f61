"""Overview: every method against the baseline on every task, and over the tasks whose baseline is worth beating.

A task counts with one table, and there with its primary column and with the decoding of one row of the baseline: the
same for all of its methods. Of several settings of a method the test column picks none (`baseline.choices`).

A task is aggregated only where its baseline is better than every trivial control (`controls.gate`): a difference from a
model that the first words of the source beat says nothing of the method. Nothing is aggregated over fewer than
`MIN_TASKS` such tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.leaderboards.controls import Gate, gate
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE, Choice, baseline_row, choices, compared_rows
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.table import Table, metric_name, order_for_readers, task_title

__all__ = ["MIN_TASKS", "Overview", "OverviewCell", "OverviewColumn", "OverviewRow", "overview"]

MIN_TASKS = 3
"""Tasks that an aggregate is over at least."""


@dataclass(frozen=True)
class OverviewCell:
    """One method on one task.

    Args:
        mean: over seeds; None where there is no number.
        n: seeds it is the mean of.
        difference: from the baseline, in the column's unit, positive where better: the mean over the seeds that both
            have, or of the means where they share none; None for the baseline and without a number.
        differs: whether it is significant over seeds, as in its table; None where that was not tested.
        why: why there is no number, else empty.
    """

    mean: float | None
    n: int
    difference: float | None = None
    differs: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class OverviewColumn:
    """The values of one task that methods are compared in.

    Args:
        place: of its table.
        task, title: its name, and as its publishers write it.
        column: of the table, the task's primary metric.
        higher_is_better: its direction.
        backbone, decoding: of the baseline's row and of all that are compared with it.
        gate: whether the baseline is better than the trivial controls.
        cells: by method, best first.
        chosen: by method with several settings, which of them is shown, for people.
    """

    place: int
    task: str
    title: str
    column: str
    higher_is_better: bool
    backbone: str
    decoding: str
    gate: Gate
    cells: Mapping[str, OverviewCell]
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def gate_text(self) -> str:
        """What the gate found, with both numbers, in a sentence."""
        name, metric = self.title, metric_name(self.column)
        method, mean = self.gate.baseline
        if self.gate.control is None:
            return f"{name}: no trivial control has a row that can be compared with {method}; not aggregated."
        control, theirs = self.gate.control
        numbers = f"{metric} {mean:.2f} against {theirs:.2f}"
        if self.gate.passed:
            return f"{name}: {method} is better than every trivial control, the best of which is {control} ({numbers})."
        return f"{name}: {method} is not better than the trivial control {control} ({numbers}); not aggregated."


@dataclass(frozen=True)
class OverviewRow:
    """One method over all tasks.

    Args:
        method: its name.
        marks: of its rows, such as `control`.
        trained: whether a model was trained; controls such as `lead` have none.
        n_tasks: on how many tasks it has a number.
        aggregated: titles of the tasks with a passed gate where its difference from the baseline was tested; empty
            where they are fewer than `MIN_TASKS`.
        better, worse: on how many of these it is significantly better or worse than the baseline.
    """

    method: str
    marks: Sequence[str]
    trained: bool
    n_tasks: int
    aggregated: Sequence[str] = ()
    better: int = 0
    worse: int = 0


@dataclass(frozen=True)
class Overview:
    """All methods over all tasks.

    Args:
        columns: a task each, in the order of the tables.
        rows: the baseline first, then methods with most tasks first, then controls without a trained model.
        notes: which settings are shown, and what is left out and why, for people.
    """

    columns: Sequence[OverviewColumn] = ()
    rows: Sequence[OverviewRow] = ()
    notes: Sequence[str] = ()

    @property
    def gates(self) -> list[str]:
        """What the gate of each task found, a sentence each."""
        return [column.gate_text for column in self.columns]

    @property
    def over_tasks(self) -> list[str]:
        """What follows over the tasks: a sentence for each method, or one that says why nothing is aggregated."""
        passed = [column for column in self.columns if column.gate.passed]
        if len(passed) < MIN_TASKS:
            return [
                f"Nothing is aggregated over tasks: {len(passed)} of {len(self.columns)} have a baseline that is "
                f"better than every trivial control, and an aggregate needs {MIN_TASKS}."
            ]
        lines = []
        for row in self.rows:
            if row.aggregated:
                n = len(row.aggregated)
                lines.append(
                    f"{row.method} is better than {BASELINE} on {row.better} and worse on {row.worse} of {n} tasks "
                    f"({', '.join(row.aggregated)}; paired over seeds, p <= {ALPHA:g} after Holm)."
                )
        return lines or [
            f"Nothing is aggregated over tasks: no method was tested on {MIN_TASKS} of {len(passed)} tasks."
        ]

    @property
    def sentences(self) -> list[str]:
        """The gate of each task, and where there are several tasks what follows over them."""
        if len(self.columns) < 2:
            return self.gates
        return [*self.gates, *self.over_tasks]

    @property
    def text_lines(self) -> list[str]:
        """The same for the notes below text tables: of a single task only a gate that was not passed."""
        if len(self.columns) < 2:
            return [column.gate_text for column in self.columns if column.gate.control and not column.gate.passed]
        return self.sentences


def overview(tables: Sequence[Table]) -> Overview:
    """Return what the tables say over all tasks; nothing where no table compares a method with the baseline.

    Args:
        tables: as they are shown, with statistics.
    """
    columns = _columns(tables)
    if not columns:
        return Overview()
    rows_of: dict[str, list[TableRow]] = {}
    for column in columns:
        for row in tables[column.place].rows:
            if row.method in column.cells:
                rows_of.setdefault(row.method, []).append(row)
    rows = [_row(method, of_method, columns) for method, of_method in rows_of.items()]
    rows.sort(key=_order)
    return Overview(columns, rows, _notes(tables, columns))


def _columns(tables: Sequence[Table]) -> list[OverviewColumn]:
    """Return a column for each task with a table that compares a method with the baseline, in the order of the tables.

    Of several, the first for readers (`order_for_readers`): real rows and three seeds come first.
    """
    columns: dict[str, OverviewColumn] = {}
    for place in order_for_readers(tables):
        if tables[place].task not in columns:
            column = _column(place, tables[place])
            if column is not None:
                columns[column.task] = column
    return sorted(columns.values(), key=lambda column: column.place)


def _column(place: int, table: Table) -> OverviewColumn | None:
    """Return the cells of one task; None where its column has no direction, or no method is compared."""
    found = baseline_row(table)
    if found is None:
        return None
    base, column = found
    value = base.values[column]
    if value.higher_is_better is None or value.mean is None:
        return None
    untrained = [row for row in table.rows if not row.backbone and row.decoding == base.decoding]
    chosen = choices([*compared_rows(table, base), *untrained], base, column)
    cells = {BASELINE: OverviewCell(value.mean, value.n)}
    for method, choice in chosen.items():
        cells[method] = OverviewCell(None, 0, why=choice.why)
        if choice.row is not None:
            cells[method] = _cell(choice.row, choice.row.values[column], value)
    for row in table.rows:
        if row.diverged and not row.values and row.backbone == base.backbone and row.method not in cells:
            cells[row.method] = _cell(row, Value({}, value.higher_is_better, ""), value)
    if len(cells) == 1:
        return None
    return OverviewColumn(
        place,
        table.task,
        task_title(table.task, table.data_title),
        column,
        value.higher_is_better,
        base.backbone,
        base.decoding,
        gate(base, table.rows, column),
        cells,
        _texts_of(chosen),
    )


def _texts_of(chosen: Mapping[str, Choice]) -> dict[str, str]:
    """Return for each method with several settings which of them the overview shows, for people."""
    texts = {}
    for method, choice in chosen.items():
        if choice.row is None:
            texts[method] = f"none of {choice.settings} settings of {method}, since none was picked on validation"
        elif choice.settings > 1:
            texts[method] = f"of {choice.settings} settings of {method} the one {choice.why} ({choice.row.settings})"
    return texts


def _cell(row: TableRow, value: Value, base: Value) -> OverviewCell:
    """Return the cell of a row."""
    if value.mean is None or base.mean is None:
        why = value.missing_reason
        if value.conflict:
            why = "conflict"
        elif row.diverged:
            why = f"diverged {row.diverged}/{len(row.seeds)}"
        return OverviewCell(None, value.n, why=why)
    difference = value.mean - base.mean
    if value.difference is not None:
        difference = value.difference
    sign = 1 if base.higher_is_better else -1
    return OverviewCell(value.mean, value.n, sign * difference, None if value.p is None else value.differs)


def _row(method: str, rows: Sequence[TableRow], columns: Sequence[OverviewColumn]) -> OverviewRow:
    """Return one method over all columns; its rows are given."""
    cells = [(column, column.cells[method]) for column in columns if method in column.cells]
    about = (method, [mark for mark in rows[0].marks if mark != "untuned"], any(row.backbone for row in rows))
    n_tasks = sum(cell.mean is not None for _, cell in cells)
    tested = [(column, cell) for column, cell in cells if column.gate.passed and cell.differs is not None]
    if len(tested) < MIN_TASKS:
        return OverviewRow(*about, n_tasks)
    signs = [cell.difference or 0.0 for _, cell in tested if cell.differs]
    better, worse = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    return OverviewRow(*about, n_tasks, [column.title for column, _ in tested], better, worse)


def _order(row: OverviewRow) -> tuple[bool, bool, int, int, str]:
    """Sort the baseline first, rows without a trained model last, others by tasks and by what they win and lose."""
    return row.method != BASELINE, not row.trained, -row.n_tasks, row.worse - row.better, row.method


def _notes(tables: Sequence[Table], columns: Sequence[OverviewColumn]) -> list[str]:
    """Return notes: which settings are shown, tasks without a column, methods without a baseline."""
    notes = [f"{column.title} shows {'; '.join(column.chosen.values())}" for column in columns if column.chosen]
    shown = set[str]().union(*(column.cells for column in columns))
    compared = f"with the backbone and decoding of the {BASELINE} row of a task"
    counted = {column.task for column in columns}
    if tasks := list(dict.fromkeys(table.task for table in tables if table.task not in counted)):
        notes.append(f"tasks without a column, since no method has a row {compared}: {', '.join(tasks)}")
    if absent := sorted(_trained(tables, columns) - shown):
        notes.append(f"not here, since they have no row {compared}: {', '.join(absent)}")
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
