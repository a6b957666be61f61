"""Overview as content of a board: JSON types only, as `board.schema.json` describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isinf
from typing import Any

from bench.leaderboards.overview import Overview, OverviewCell, OverviewColumn, OverviewRow
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.table import Table

__all__ = ["overview_content"]

LARGEST = 99.0
"""Of a size in seed deviations: where seeds do not differ at all it is infinite, and JSON has no such number."""


def overview_content(found: Overview, tables: Sequence[Table], ids: Sequence[str]) -> dict[str, Any] | None:
    """Return an overview as content of a board; None where there is nothing to show.

    Args:
        found: the overview.
        tables: it is of.
        ids: of the tables.
    """
    if not found.columns:
        return None
    return {
        "baseline": BASELINE,
        "tasks": [_task(column, tables[column.place], ids[column.place]) for column in found.columns],
        "methods": [_method(row, found.columns) for row in found.rows],
        "notes": list(found.notes),
    }


def _task(column: OverviewColumn, table: Table, table_id: str) -> dict[str, Any]:
    return {
        "task": column.task,
        "table": table_id,
        "column": column.column,
        "higher_is_better": column.higher_is_better,
        "backbone": column.backbone,
        "decoding": column.decoding,
        "can_rank": column.can_rank,
        "why_unranked": column.why_unranked,
        "rows": table.n,
        "seeds": column.cells[BASELINE].n,
        "watermark": table.watermark,
    }


def _method(row: OverviewRow, columns: Sequence[OverviewColumn]) -> dict[str, Any]:
    cells = {column.task: _cell(column.cells[row.method]) for column in columns if row.method in column.cells}
    return {
        "method": row.method,
        "marks": list(row.marks),
        "trained": row.trained,
        "n_tasks": row.n_tasks,
        "improves": _aggregate(row.improves, row.improves_tasks),
        "relative": _aggregate(row.relative, row.relative_tasks),
        "mean_rank": row.mean_rank,
        "cells": cells,
    }


def _aggregate(value: Interval | None, tasks: Sequence[str]) -> dict[str, Any] | None:
    if value is None:
        return None
    return {**asdict(value), "tasks": list(tasks)}


def _cell(cell: OverviewCell) -> Mapping[str, Any]:
    content = asdict(cell)
    if cell.size is not None and isinf(cell.size):
        content["size"] = LARGEST
        if cell.size < 0:
            content["size"] = -LARGEST
    return content
