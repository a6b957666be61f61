"""The board: every leaderboard as one JSON content (`board.schema.json`), for `--format json` and for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.grid import Grid, GridCell, Line, grid_of, printed_values
from bench.leaderboards.render.legend import legend
from bench.leaderboards.render.overview_content import overview_content
from bench.leaderboards.render.remarks import remarks
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import table_ids
from bench.leaderboards.table_names import table_names
from bench.leaderboards.training_costs import RATIO, SECONDS, SIGNATURES

__all__ = ["as_json", "board", "schema"]

SCHEMA = "objective-bench/board/2"
HUMAN = "human"
"""The method id of what people wrote; a second tokenizer's is `human-2`."""


def as_json(leaderboards: Leaderboards) -> str:
    """Render tables as the JSON content of a board."""
    return json.dumps(board(leaderboards), indent=1, allow_nan=False) + "\n"


def board(leaderboards: Leaderboards, extras: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of all leaderboards.

    Args:
        leaderboards: as they are shown.
        extras: what is not in a table, as `extras_of` gives it: `{"records": folder of the store seen from the page,
            "curves": {table id: [...]}, "samples": {table id: [...]}, "samples_note": {table id: text}, "costs": {table
            id: {row id: {...}}}}`; each may be missing. `claims`, which the page alone has, is put in as it is.

    Returns:
        A mapping that `board.schema.json` describes, unrounded, made of JSON types only.
    """
    extras = extras or {}
    tables = []
    ids = table_ids(leaderboards.tables)
    names = table_names(leaderboards.tables)
    for place, (name, table) in enumerate(zip(ids, leaderboards.tables, strict=True)):
        content = _table(name, names[place], grid_of(table))
        for part in ("curves", "samples"):
            content[part] = list(extras.get(part, {}).get(name, ()))
        if note := extras.get("samples_note", {}).get(name):
            content["samples_note"] = note
        _add_costs(content, extras.get("costs", {}).get(name, {}))
        tables.append(content)
    content = {
        "schema": SCHEMA,
        "notes": leaderboards.left_out_notes,
        "records": extras.get("records"),
        "overview": overview_content(leaderboards.overview, leaderboards.tables, ids),
        "tables": tables,
    }
    if "claims" in extras:
        content["claims"] = extras["claims"]
    return content


def schema() -> dict[str, Any]:
    """Return the JSON schema of a board."""
    text = resources.files("bench.leaderboards").joinpath("board.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _table(table_id: str, name: str, grid: Grid) -> dict[str, Any]:
    table = grid.table
    ids = [row.id for row in table.rows]
    methods = []
    for row_id, row, line in zip(ids, table.rows, grid.rows, strict=True):
        methods.append(_row(row_id, row, line, _values(row, line, ids), table.task))
    human = []
    for human_id, row, line in zip(_human_ids(table.human), table.human, grid.human, strict=True):
        human.append(_row(human_id, row, line, _values(row, line, ids), table.task))
    return {
        "id": table_id,
        "name": name,
        "title": table.title,
        "task": table.task,
        "split": table.split,
        "rows": table.n,
        "preset": table.preset,
        "status": dict(table.status),
        "watermark": table.watermark,
        "legend": legend(grid),
        "remarks": remarks(table),
        "columns": _columns(grid),
        "methods": methods,
        "human": human,
        "published": _published(grid, ids),
    }


def _add_costs(table: dict[str, Any], costs: Mapping[str, Mapping[str, Mapping[int, float]]]) -> None:
    """Add the columns of training costs to the content of a table; seconds are there and not shown.

    Args:
        table: content, changed.
        costs: of `costs_of`.
    """
    for column, is_shown, decimals in ((RATIO, True, 2), (SECONDS, False, 0)):
        if not any(found[column] for found in costs.values()):
            continue
        table["columns"].append({"name": column, "higher_is_better": None, "shown": is_shown})
        for row in table["methods"]:
            value = Value(dict(costs.get(row["id"], {}).get(column, {})), None, SIGNATURES[column])
            if value.by_seed:
                fewer = f"n={value.n}" if value.n < row["n_seeds"] else ""
                cell = GridCell(f"{value.mean:.{decimals}f}", fewer=fewer)
                row["values"][column] = _value(value, cell, ())


def _human_ids(rows: Sequence[TableRow]) -> list[str]:
    return [HUMAN, *(f"{HUMAN}-{number}" for number in range(2, len(rows) + 1))][: len(rows)]


def _columns(grid: Grid) -> list[dict[str, Any]]:
    """Return name and direction of every column, and whether it is shown."""
    directions: dict[str, bool | None] = {}
    for row in grid.table.rows:
        directions |= {column: value.higher_is_better for column, value in row.values.items()}
    shown = grid.table.columns
    return [
        {"name": column, "higher_is_better": directions.get(column), "shown": column in shown}
        for column in grid.columns
    ]


def _row(row_id: str, row: TableRow, line: Line, values: Mapping[str, Any], task: str) -> dict[str, Any]:
    folder = ""
    if row.config:  # people have none
        folder = f"{task}/{row.config['method']}"
    return {
        "id": row_id,
        "method": row.method,
        "label": line.label,
        "marks": list(line.marks),
        "settings": row.settings,
        "backbone": row.backbone,
        "decoding": row.decoding,
        "seeds": sorted(row.seeds),
        "n_seeds": row.n,
        "seeds_text": line.seeds,
        "diverged": row.diverged,
        "controls": list(row.controls),
        "untuned": row.untuned,
        "tried": row.tried,
        "picked": row.picked,
        "remark": "; ".join(filter(None, [row.remark, row.sampling_note])),
        "cells": sorted(row.keys),
        "folder": folder,
        "values": values,
    }


def _values(row: TableRow, line: Line, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values of a row by column, each with what is shown of it."""
    return {column: _value(row.values[column], cell, ids) for column, cell in line.cells.items()}


def _value(value: Value, cell: GridCell, ids: Sequence[str]) -> dict[str, Any]:
    return {
        "text": cell.text,
        "interval": cell.interval,
        "fewer": cell.fewer,
        "mean": value.mean,
        "n_seeds": value.n,
        "by_seed": {str(seed): number for seed, number in sorted(value.by_seed.items())},
        **_by_sampling_seed(value),
        "signature": value.signature,
        "conflict": value.conflict,
        "why": value.why_none,
        "best": cell.best,
        "second": cell.second,
        "half": value.half,
        "p": value.p,
        "p_items": value.p_items,
        "differs": cell.differs,
        "difference": value.difference,
        "low": value.low,
        "high": value.high,
        "against": value.against if value.against in ids else "",
    }


def _by_sampling_seed(value: Value) -> dict[str, Any]:
    """Return the numbers of each sampling seed of each training, where a training has several."""
    if max(map(len, value.by_sampling_seed.values()), default=0) < 2:
        return {}
    numbers = {
        str(seed): {str(sampling): number for sampling, number in sorted(sampled.items())}
        for seed, sampled in sorted(value.by_sampling_seed.items())
    }
    return {"by_sampling_seed": numbers}


def _published(grid: Grid, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the published rows, their values and ours less theirs by our columns."""
    rows = []
    for paper, line, deltas in zip(grid.table.published, grid.papers, grid.deltas, strict=True):
        rows.append(
            {
                "paper": paper.paper,
                "table": paper.table,
                "name": paper.name,
                "method": paper.method,
                "backbone": paper.backbone,
                "values": printed_values(paper, grid.columns),
                "texts": {column: cell.text for column, cell in line.cells.items()},
                "deltas": {ids[place]: dict(texts) for place, texts in deltas.items()},
                "comparable": not grid.why_not,
                "why_not": grid.why_not,
                "note": paper.note,
            }
        )
    return rows
