"""The board: every leaderboard as one JSON content (`board.schema.json`), for `--format json` and for the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from bench.base.keys import key_of
from bench.leaderboards.published.papers import Published
from bench.leaderboards.render.grid import remarks
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.seed_spread import markable
from bench.leaderboards.table import Table, metric_name

SCHEMA = "objective-bench/board/1"
GROUPS = ("frequent", "medium", "rare", "very_rare")
"""Of tokens by their count in the training text, as columns `frequency/...` name them (F2-Softmax, Figure 2)."""

HUMAN = "human"
"""The method id of what people wrote; a second tokenizer's is `human-2`."""

NO_STATISTICS: Mapping[str, Any] = {"half": None, "tied": "", "p": None, "differs": False, "difference": None,
                                    "low": None, "high": None, "against": ""}  # fmt: skip


def board(
    tables: Sequence[Table],
    notes: Sequence[str],
    extras: Mapping[str, Any] | None = None,
    statistics: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of all leaderboards.

    Args:
        tables: as they are shown.
        notes: what was left out and why.
        extras: what is not in a table, as `extras_of` gives it: `{"records": folder of the store seen from the page,
            "curves": {table id: [...]}, "samples": {table id: [...]}}`; each may be missing.
        statistics: by table id, `{"values": {row id: {column: {...}}}, "wins": ...}`. Of a value, each of which may be
            missing: `half`, half the width of the 95 % interval over seeds; `tied`, the name of the group of rows
            without a significant difference; `p`, corrected, of the `difference` from the row with id `against`, and
            `low` and `high`, the ends of its interval over items; `differs`, whether a dagger marks it. `wins` is None
            or `{"columns": names, "matrix": {row id: {row id: [wins, ties, losses]}}}`.

    Returns:
        A mapping that `board.schema.json` describes, unrounded, made of JSON types only.
    """
    known, more = statistics or {}, extras or {}
    found = []
    for name, table in zip(table_ids(tables), tables, strict=True):
        content = _table(name, table, known.get(name) or {})
        for part in ("curves", "samples"):
            content[part] = list(more.get(part, {}).get(name, ()))
        found.append(content)
    return {"schema": SCHEMA, "notes": list(notes), "records": more.get("records"), "tables": found}


def schema() -> dict[str, Any]:
    """Return the JSON schema of a board."""
    text = resources.files("bench.leaderboards").joinpath("board.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def table_ids(tables: Sequence[Table]) -> list[str]:
    """Return a short name of every table, the same as long as the same is shown: links keep it.

    Tables of one task, split, preset and size differ in their data only; the later ones are numbered.
    """
    found: list[str] = []
    seen: dict[str, int] = {}
    for table in tables:
        name = f"{table.task}.{table.split}.{table.preset}.{table.n}"
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found


def row_id(row: TableRow) -> str:
    """Return the id of a row: its method, and a hash of everything else that parts it from other rows."""
    return f"{row.method}-{key_of({'config': row.config, 'decoding': row.decoding})[:6]}"


def _table(name: str, table: Table, known: Mapping[str, Any]) -> dict[str, Any]:
    ids = [row_id(row) for row in table.rows]
    names = _columns(table)
    may = {column: markable(table, column) for column in names}
    marks = {column: (table.best(column) & may[column], table.second(column) & may[column]) for column in names}
    directions = {column: value.higher_is_better for row in table.rows for column, value in row.values.items()}
    said = f"NOT COMPARABLE WITH PUBLISHED NUMBERS: {table.watermark}"
    methods = []
    for i, row in enumerate(table.rows):
        values = {c: _value(row.values[c], i, marks[c], known.get("values", {}).get(ids[i], {}).get(c, {}))
                  for c in names if c in row.values}  # fmt: skip
        methods.append(_row(ids[i], row, table.task, values))
    human = []
    for i, row in enumerate(table.human):
        values = {c: _value(row.values[c], -1, (set(), set()), {}) for c in names if c in row.values}
        human.append(_row(HUMAN if i == 0 else f"{HUMAN}-{i + 1}", row, table.task, values))
    return {
        "id": name, "title": table.title, "task": table.task, "split": table.split, "rows": table.n,
        "preset": table.preset, "status": dict(table.status), "watermark": table.watermark,
        "remarks": [remark for remark in remarks(table) if remark != said],
        "columns": [{"name": column, "higher_is_better": directions.get(column), "shown": column in table.columns}
                    for column in names],
        "methods": methods,
        "human": human,
        "published": [_published(paper, table) for paper in table.published],
        "wins": known.get("wins"),
        "frequency": _frequency(table, ids),
    }  # fmt: skip


def _columns(table: Table) -> list[str]:
    """Return the columns as shown, then what else there is a value of."""
    there = {name for row in table.rows for name, value in row.values.items() if value.by_seed or value.conflict}
    return [*table.columns, *sorted(there - set(table.columns))]


def _row(name: str, row: TableRow, task: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": name, "method": row.method, "label": row.label if row.config else "human (the true continuations)",
        "settings": row.settings, "backbone": row.backbone, "decoding": row.decoding, "seeds": sorted(row.seeds),
        "diverged": row.diverged, "controls": list(row.controls), "untuned": row.untuned if row.config else "",
        "tried": row.tried, "remark": row.remark, "cells": sorted(row.keys),
        "folder": f"{task}/{row.config['method']}" if row.config else "", "values": dict(values),
    }  # fmt: skip


def _value(value: Value, i: int, marks: tuple[set[int], set[int]], known: Mapping[str, Any]) -> dict[str, Any]:
    statistics = {name: known.get(name, missing) for name, missing in NO_STATISTICS.items()}
    return {
        "mean": value.mean, "n_seeds": value.n, "by_seed": {str(s): x for s, x in sorted(value.by_seed.items())},
        "signature": value.signature, "conflict": value.conflict, "why": value.why_none,
        "best": i in marks[0], "second": i in marks[1], **statistics,
    }  # fmt: skip


def _published(paper: Published, table: Table) -> dict[str, Any]:
    """Return a published row; its values go by our columns, so that each stands below ours."""
    values = {c: paper.values[metric_name(c)] for c in _columns(table) if metric_name(c) in paper.values}
    why = [*([table.watermark] if table.watermark else []),
           *([f"our rows are of preset {table.preset}"] if table.preset != "paper" else [])]  # fmt: skip
    return {"paper": paper.paper, "table": paper.table, "method": paper.method, "backbone": paper.backbone,
            "values": values, "comparable": not why, "why_not": "; ".join(why), "note": paper.note}  # fmt: skip


def _frequency(table: Table, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the percentages of generated tokens in each frequency group, what people wrote first."""
    human = [HUMAN if i == 0 else f"{HUMAN}-{i + 1}" for i in range(len(table.human))]
    found = []
    for name, row in [*zip(human, table.human, strict=True), *zip(ids, table.rows, strict=True)]:
        values = {group: row.values.get(f"frequency/{group}") for group in GROUPS}
        shares = {group: value.mean for group, value in values.items() if value is not None and value.mean is not None}
        if len(shares) == len(GROUPS):
            found.append({"id": name, "shares": shares})
    return found
