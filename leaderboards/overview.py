"""Overview: every method against the baseline on every task, and over the tasks whose baseline is worth beating.

A task counts with one table, and there with its primary column and with the decoding of one row of the baseline: the
same for all of its methods. Of several settings of a method the test column picks none (`baseline.choices`).

A task is aggregated only where its baseline is better than every trivial control (`controls.best_trivial`): a
difference from a model that the first words of the source beat says nothing of the method. Nothing is aggregated over
fewer than `MIN_TASKS` such tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.controls import best_trivial
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE, Choice, baseline_row, choices, compared_rows
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.table import Table, metric_name, order_for_readers, table_ids, task_title

MIN_TASKS = 3
"""Tasks that an aggregate is over at least."""


@dataclass(frozen=True)
class Overview:
    """All methods over all tasks; `board.schema.json` describes tasks, methods and their cells.

    Args:
        tasks: in the order of the tables.
        methods: the baseline first, then methods with most tasks first, then controls without a trained model.
        sentences: how the baseline of each task compares with the trivial controls, and over several tasks the result.
        text_lines: the sentences that text formats show: of a single task only that its baseline is not good enough.
        notes: which settings are shown, and what is left out and why.
    """

    tasks: Sequence[Mapping[str, Any]] = ()
    methods: Sequence[Mapping[str, Any]] = ()
    sentences: Sequence[str] = ()
    text_lines: Sequence[str] = ()
    notes: Sequence[str] = ()

    def content(self) -> dict[str, Any] | None:
        """Return it as content of a board; None where there is nothing to show."""
        names = ("sentences", "notes", "tasks", "methods")
        return {"baseline": BASELINE, **{name: list(getattr(self, name)) for name in names}} if self.tasks else None


@dataclass(frozen=True)
class _Column:
    """One task of the overview.

    Args:
        table: of the task.
        about: the task, as `board.schema.json` describes it.
        cells: by method, best first.
        chosen: which settings are shown of methods with several.
        comparison: the baseline against the trivial controls, in a sentence.
        failed: whether a trivial control is at least as good as the baseline.
    """

    table: Table
    about: Mapping[str, Any]
    cells: Mapping[str, Mapping[str, Any]]
    chosen: Sequence[str]
    comparison: str
    failed: bool


def overview(tables: Sequence[Table]) -> Overview:
    """Return what the tables say over all tasks; nothing where no table compares a method with the baseline.

    Args:
        tables: as they are shown, with statistics.
    """
    found: dict[int, _Column] = {}
    ids, seen = table_ids(tables), set[str]()
    for place in order_for_readers(tables):  # of several tables of a task, real rows and three seeds come first
        if tables[place].task not in seen and (column := _column(tables[place], ids[place])) is not None:
            found[place] = column
            seen.add(tables[place].task)
    if not found:
        return Overview()
    columns = [found[place] for place in sorted(found)]
    rows_of: dict[str, list[TableRow]] = {}
    for column in columns:
        for row in column.table.rows:
            if row.method in column.cells:
                rows_of.setdefault(row.method, []).append(row)
    methods = [_method(rows, columns) for rows in rows_of.values()]
    methods.sort(key=_order)
    sentences = [column.comparison for column in columns]
    text_lines = [column.comparison for column in columns if column.failed]
    if len(columns) > 1:
        text_lines = sentences = [*sentences, *_over_tasks(columns, methods)]
    return Overview([column.about for column in columns], methods, sentences, text_lines, _notes(tables, columns))


def _column(table: Table, table_id: str) -> _Column | None:
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
    cells = {BASELINE: _cell(value.mean, value.n)}
    for method, choice in chosen.items():
        cells[method] = _cell(None, 0, why=choice.why)
        if choice.row is not None:
            cells[method] = _cell_of(choice.row, choice.row.values[column], value)
    for row in table.rows:
        if row.diverged and not row.values and row.backbone == base.backbone and row.method not in cells:
            cells[row.method] = _cell_of(row, Value({}, value.higher_is_better, ""), value)
    if len(cells) == 1:
        return None
    title, metric = task_title(table.task, table.data_title), metric_name(column)
    control = best_trivial(base, table.rows, column)
    passed, comparison = False, f"no trivial control has a row that can be compared with {BASELINE}; not aggregated."
    if control is not None:
        method, theirs = control
        numbers = f"({metric} {value.mean:.2f} against {theirs:.2f})"
        passed = value.mean > theirs if value.higher_is_better else value.mean < theirs
        comparison = f"{BASELINE} is not better than the trivial control {method} {numbers}; not aggregated."
        if passed:
            comparison = f"{BASELINE} is better than every trivial control, the best of which is {method} {numbers}."
    about = {
        "table": table_id,
        "task": table.task,
        "title": title,
        "column": column,
        "higher_is_better": value.higher_is_better,
        "backbone": base.backbone,
        "decoding": base.decoding,
        "aggregated": passed,
        "rows": table.n,
        "seeds": value.n,
        "watermark": table.watermark,
    }
    settings = [text for method, choice in chosen.items() if (text := _settings_text(method, choice))]
    return _Column(table, about, cells, settings, f"{title}: {comparison}", control is not None and not passed)


def _settings_text(method: str, choice: Choice) -> str:
    """Return which setting of a method the overview shows, for people; nothing where it has only one."""
    if choice.row is None:
        return f"none of {choice.settings} settings of {method}, since none was picked on validation"
    if choice.settings == 1:
        return ""
    return f"of {choice.settings} settings of {method} the one {choice.why} ({choice.row.settings})"


def _cell(
    mean: float | None, n: int, difference: float | None = None, differs: bool | None = None, why: str = ""
) -> dict[str, Any]:
    return {"mean": mean, "n": n, "difference": difference, "differs": differs, "why": why}


def _cell_of(row: TableRow, value: Value, base: Value) -> dict[str, Any]:
    """Return the cell of a row: its mean and difference from the baseline, or why it has none."""
    if value.mean is None or base.mean is None:
        diverged = f"diverged {row.diverged}/{len(row.seeds)}" if row.diverged else value.missing_reason
        return _cell(None, value.n, why="conflict" if value.conflict else diverged)
    difference = value.mean - base.mean if value.difference is None else value.difference
    sign = 1 if base.higher_is_better else -1
    return _cell(value.mean, value.n, sign * difference, None if value.p is None else value.differs)


def _method(rows: Sequence[TableRow], columns: Sequence[_Column]) -> dict[str, Any]:
    """Return one method over all tasks, of which the rows are given."""
    method, over_tasks = rows[0].method, None
    cells = {column.about["task"]: column.cells[method] for column in columns if method in column.cells}
    tested = {
        column.about["title"]: cell
        for column in columns
        if column.about["aggregated"] and (cell := column.cells.get(method, {})).get("differs") is not None
    }
    if len(tested) >= MIN_TASKS:
        signs = [cell["difference"] > 0 for cell in tested.values() if cell["differs"]]
        over_tasks = {"better": sum(signs), "worse": len(signs) - sum(signs), "tasks": list(tested)}
    return {
        "method": method,
        "marks": [mark for mark in rows[0].marks if mark != "untuned"],
        "trained": any(row.backbone for row in rows),
        "n_tasks": sum(cell["mean"] is not None for cell in cells.values()),
        "over_tasks": over_tasks,
        "cells": cells,
    }


def _order(method: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort the baseline first, then methods with most tasks, and methods without a model last."""
    over = method["over_tasks"] or {"better": 0, "worse": 0}
    name = method["method"]
    return name != BASELINE, not method["trained"], -method["n_tasks"], over["worse"] - over["better"], name


def _over_tasks(columns: Sequence[_Column], methods: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what follows over the tasks: a sentence for each method, or one that says why nothing is aggregated."""
    passed, nothing = sum(column.about["aggregated"] for column in columns), "Nothing is aggregated over tasks:"
    if passed < MIN_TASKS:
        return [
            f"{nothing} {passed} of {len(columns)} have a baseline that is better than every trivial control, "
            f"and an aggregate needs {MIN_TASKS}."
        ]
    lines = [
        f"{method['method']} is better than {BASELINE} on {over['better']} and worse on {over['worse']} of "
        f"{len(over['tasks'])} tasks ({', '.join(over['tasks'])}; paired over seeds, p <= {ALPHA:g} after Holm)."
        for method in methods
        if (over := method["over_tasks"])
    ]
    return lines or [f"{nothing} no method was tested on {MIN_TASKS} of {passed} tasks."]


def _notes(tables: Sequence[Table], columns: Sequence[_Column]) -> list[str]:
    """Return notes: which settings are shown, tasks without a column, methods without a baseline."""
    notes = [f"{column.about['title']} shows {'; '.join(column.chosen)}" for column in columns if column.chosen]
    compared = f"with the backbone and decoding of the {BASELINE} row of a task"
    shown = {column.table.task: column.table for column in columns}
    if tasks := list(dict.fromkeys(table.task for table in tables if table.task not in shown)):
        notes.append(f"tasks without a column, since no method has a row {compared}: {', '.join(tasks)}")
    trained = {
        row.method for table in tables if shown.get(table.task, table) is table for row in table.rows if row.backbone
    }
    if absent := sorted(trained.difference(*(column.cells for column in columns))):
        notes.append(f"not here, since they have no row {compared}: {', '.join(absent)}")
    return notes
