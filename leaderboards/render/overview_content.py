"""Overview as content of a board: JSON types only, as `board.schema.json` describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench.leaderboards.overview import Overview, OverviewColumn, OverviewRow
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.table import Table

__all__ = ["overview_content"]


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
        "sentences": found.sentences,
        "tasks": [_task(column, tables[column.place], ids[column.place]) for column in found.columns],
        "methods": [_method(row, found.columns) for row in found.rows],
        "notes": list(found.notes),
    }


def _task(column: OverviewColumn, table: Table, table_id: str) -> dict[str, Any]:
    return {
        "task": column.task,
        "title": column.title,
        "table": table_id,
        "column": column.column,
        "higher_is_better": column.higher_is_better,
        "backbone": column.backbone,
        "decoding": column.decoding,
        "aggregated": column.gate.passed,
        "rows": table.n,
        "seeds": column.cells[BASELINE].n,
        "watermark": table.watermark,
    }


def _method(row: OverviewRow, columns: Sequence[OverviewColumn]) -> dict[str, Any]:
    over_tasks = None
    if row.aggregated:
        over_tasks = {"better": row.better, "worse": row.worse, "tasks": list(row.aggregated)}
    return {
        "method": row.method,
        "marks": list(row.marks),
        "trained": row.trained,
        "n_tasks": row.n_tasks,
        "over_tasks": over_tasks,
        "cells": {column.task: asdict(column.cells[row.method]) for column in columns if row.method in column.cells},
    }
