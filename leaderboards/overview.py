"""Overview: every method against the baseline on every task, and over the tasks whose baseline is worth beating.

A task counts with one table, and there with its primary column and with the decoding of one row of the baseline: the
same for all of its methods. Of several settings of a method the test column picks none (`baseline.choices`).

A task is aggregated only where its baseline is better than every trivial control (`controls.best_trivial`): a
difference from a model that the first words of the source beat says nothing of the method. Nothing is aggregated over
fewer than `MIN_TASKS` such tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.leaderboards.controls import best_trivial
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE, Choice, baseline_row, choices, compared_rows
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.table import Table, metric_name, order_for_readers, table_ids, task_title

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
        table: the id of its table.
        task, title: its name, and as its publishers write it.
        column: of the table, the task's primary metric.
        higher_is_better: its direction.
        backbone, decoding: of the baseline's row and of all that are compared with it.
        aggregated: whether the baseline is better than every trivial control.
        rows: of the table.
        seeds: of the baseline.
        watermark: of the table.
        cells: by method, best first.
        chosen: which settings are shown of methods with several, for people.
        gate: what the comparison with the trivial controls has found, in a sentence.
        failed: whether a trivial control is at least as good.
    """

    place: int
    table: str
    task: str
    title: str
    column: str
    higher_is_better: bool
    backbone: str
    decoding: str
    aggregated: bool
    rows: int
    seeds: int
    watermark: str
    cells: Mapping[str, OverviewCell]
    chosen: Sequence[str]
    gate: str
    failed: bool


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
    def over_tasks(self) -> list[str]:
        """What follows over the tasks: a sentence for each method, or one that says why nothing is aggregated."""
        passed, nothing = sum(column.aggregated for column in self.columns), "Nothing is aggregated over tasks:"
        if passed < MIN_TASKS:
            return [
                f"{nothing} {passed} of {len(self.columns)} have a baseline that is better than every trivial control, "
                f"and an aggregate needs {MIN_TASKS}."
            ]
        lines = [
            f"{row.method} is better than {BASELINE} on {row.better} and worse on {row.worse} of "
            f"{len(row.aggregated)} tasks ({', '.join(row.aggregated)}; paired over seeds, p <= {ALPHA:g} after Holm)."
            for row in self.rows
            if row.aggregated
        ]
        return lines or [f"{nothing} no method was tested on {MIN_TASKS} of {passed} tasks."]

    @property
    def sentences(self) -> list[str]:
        """The gate of each task, and where there are several tasks what follows over them."""
        gates = [column.gate for column in self.columns]
        return gates if len(gates) < 2 else [*gates, *self.over_tasks]

    @property
    def text_lines(self) -> list[str]:
        """The same for the notes below text tables: of a single task only a gate that was not passed."""
        return self.sentences if len(self.columns) > 1 else [column.gate for column in self.columns if column.failed]

    def content(self) -> dict[str, Any] | None:
        """Return it as content of a board; None where there is nothing to show."""
        if not self.columns:
            return None
        tasks, methods = list(map(asdict, self.columns)), []
        for row in map(asdict, self.rows):
            tested = row.pop("aggregated")
            over = {"better": row.pop("better"), "worse": row.pop("worse"), "tasks": list(tested)}
            cells = {task["task"]: task["cells"][row["method"]] for task in tasks if row["method"] in task["cells"]}
            methods.append({**row, "over_tasks": over if tested else None, "cells": cells})
        for task in tasks:
            for name in ("place", "cells", "chosen", "gate", "failed"):
                del task[name]
        about = {"baseline": BASELINE, "sentences": self.sentences, "notes": list(self.notes)}
        return {**about, "tasks": tasks, "methods": methods}


def overview(tables: Sequence[Table]) -> Overview:
    """Return what the tables say over all tasks; nothing where no table compares a method with the baseline.

    Args:
        tables: as they are shown, with statistics.
    """
    found: dict[str, OverviewColumn] = {}
    ids = table_ids(tables)
    for place in order_for_readers(tables):  # of several tables of a task, real rows and three seeds come first
        if tables[place].task not in found:
            column = _column(place, ids[place], tables[place])
            if column is not None:
                found[column.task] = column
    if not found:
        return Overview()
    columns = sorted(found.values(), key=lambda column: column.place)
    rows_of: dict[str, list[TableRow]] = {}
    for column in columns:
        for row in tables[column.place].rows:
            if row.method in column.cells:
                rows_of.setdefault(row.method, []).append(row)
    rows = [_row(method, of_method, columns) for method, of_method in rows_of.items()]
    rows.sort(
        key=lambda row: (row.method != BASELINE, not row.trained, -row.n_tasks, row.worse - row.better, row.method)
    )
    return Overview(columns, rows, _notes(tables, columns))


def _column(place: int, table_id: str, table: Table) -> OverviewColumn | None:
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
    title, metric = task_title(table.task, table.data_title), metric_name(column)
    control = best_trivial(base, table.rows, column)
    passed, gate = False, f"no trivial control has a row that can be compared with {base.method}; not aggregated."
    if control is not None:
        method, theirs = control
        numbers = f"({metric} {value.mean:.2f} against {theirs:.2f})"
        passed = value.mean > theirs if value.higher_is_better else value.mean < theirs
        gate = f"{base.method} is not better than the trivial control {method} {numbers}; not aggregated."
        if passed:
            gate = f"{base.method} is better than every trivial control, the best of which is {method} {numbers}."
    return OverviewColumn(
        place=place,
        table=table_id,
        task=table.task,
        title=title,
        column=column,
        higher_is_better=value.higher_is_better,
        backbone=base.backbone,
        decoding=base.decoding,
        aggregated=passed,
        rows=table.n,
        seeds=value.n,
        watermark=table.watermark,
        cells=cells,
        chosen=[text for method, choice in chosen.items() if (text := _text_of(method, choice))],
        gate=f"{title}: {gate}",
        failed=control is not None and not passed,
    )


def _text_of(method: str, choice: Choice) -> str:
    """Return which setting of a method the overview shows, for people; nothing where it has only one."""
    if choice.row is None:
        return f"none of {choice.settings} settings of {method}, since none was picked on validation"
    if choice.settings == 1:
        return ""
    return f"of {choice.settings} settings of {method} the one {choice.why} ({choice.row.settings})"


def _cell(row: TableRow, value: Value, base: Value) -> OverviewCell:
    """Return the cell of a row."""
    if value.mean is None or base.mean is None:
        diverged = f"diverged {row.diverged}/{len(row.seeds)}" if row.diverged else value.missing_reason
        return OverviewCell(None, value.n, why="conflict" if value.conflict else diverged)
    difference = value.mean - base.mean if value.difference is None else value.difference
    sign = 1 if base.higher_is_better else -1
    return OverviewCell(value.mean, value.n, sign * difference, None if value.p is None else value.differs)


def _row(method: str, rows: Sequence[TableRow], columns: Sequence[OverviewColumn]) -> OverviewRow:
    """Return one method over all columns; its rows are given."""
    cells = [(column, column.cells[method]) for column in columns if method in column.cells]
    marks = [mark for mark in rows[0].marks if mark != "untuned"]
    about = (method, marks, any(row.backbone for row in rows), sum(cell.mean is not None for _, cell in cells))
    tested = [(column, cell) for column, cell in cells if column.aggregated and cell.differs is not None]
    if len(tested) < MIN_TASKS:
        return OverviewRow(*about)
    signs = [cell.difference or 0.0 for _, cell in tested if cell.differs]
    better, worse = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    return OverviewRow(*about, [column.title for column, _ in tested], better, worse)


def _notes(tables: Sequence[Table], columns: Sequence[OverviewColumn]) -> list[str]:
    """Return notes: which settings are shown, tasks without a column, methods without a baseline."""
    notes = [f"{column.title} shows {'; '.join(column.chosen)}" for column in columns if column.chosen]
    compared = f"with the backbone and decoding of the {BASELINE} row of a task"
    places, counted = {column.place for column in columns}, {column.task for column in columns}
    if tasks := list(dict.fromkeys(table.task for table in tables if table.task not in counted)):
        notes.append(f"tasks without a column, since no method has a row {compared}: {', '.join(tasks)}")
    trained = {
        row.method
        for place, table in enumerate(tables)
        if place in places or table.task not in counted
        for row in table.rows
        if row.backbone
    }
    if absent := sorted(trained.difference(*(column.cells for column in columns))):
        notes.append(f"not here, since they have no row {compared}: {', '.join(absent)}")
    return notes
