"""The board: every leaderboard as one JSON content (`board.schema.json`), which every format and the page render."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.published.papers import Published
from bench.leaderboards.render.footnotes import footnotes, legend
from bench.leaderboards.row import TableRow, Value, number, short_decoding, signed
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.table import Table, metric_name, table_ids, task_title

SCHEMA = "objective-bench/board/3"
HUMAN = "human"
"""The method id of what people wrote; a second tokenizer's is `human-2`."""
HUMAN_LABEL = "human (the true continuations)"
OF_TABLE = ("title", "task", "split", "preset", "watermark")
OF_ROW = (
    "method", "settings", "label", "backbone", "decoding", "diverged", "seeds_text", "untuned", "tried", "picked",
    "marks", "parameters",
)  # fmt: skip
OF_VALUE = (
    "text", "interval", "mean", "signature", "conflict", "half", "p", "p_items", "differs", "difference", "low", "high",
)  # fmt: skip
OF_PAPER = ("paper", "table", "name", "method", "backbone", "note")
"""Names of `Table`, `TableRow`, `Value` and `Published` that the content has, too."""


def as_json(leaderboards: Leaderboards) -> str:
    """Render tables as the JSON content of a board."""
    return json.dumps(board(leaderboards), indent=1, allow_nan=False) + "\n"


def board(leaderboards: Leaderboards, extras: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of all leaderboards.

    Args:
        leaderboards: as they are shown.
        extras: what the page shows in addition to tables: `{"samples": {table id: [...]}, "samples_note": {table id:
            text}, "claims": [...]}`; each may be missing.

    Returns:
        A mapping that `board.schema.json` describes, unrounded, made of JSON types only.
    """
    extras = extras or {}
    tables = []
    for table, table_id in zip(leaderboards.tables, table_ids(leaderboards.tables), strict=True):
        content = {"id": table_id, **_table(table), "samples": []}
        for part in ("samples", "samples_note"):
            if table_id in extras.get(part, {}):
                content[part] = extras[part][table_id]
        tables.append(content)
    names = Counter(content["name"] for content in tables)
    for content in tables:
        if names[content["name"]] > 1:
            content["name"] += f" · {content['rows']:,} rows"
    return {
        "schema": SCHEMA,
        "notes": leaderboards.notes,
        "tables": tables,
        **({"claims": extras["claims"]} if "claims" in extras else {}),
    }


def _fields(part: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(part, name) for name in names}


def _table(table: Table) -> dict[str, Any]:
    columns, ids = table.all_columns, {row.id for row in table.rows}
    directions = {column: value.higher_is_better for row in table.rows for column, value in row.values.items()}
    human = [_row(table, row, columns, ids) for row in table.human]
    for place, row in enumerate(human, start=1):
        row |= {"id": HUMAN if place == 1 else f"{HUMAN}-{place}", "label": HUMAN_LABEL, "seeds_text": ""}
    methods = [_row(table, row, columns, ids) for row in table.rows]
    for column in columns:
        for mark, places in zip(("best", "second"), table.best_and_second(column, MIN_SEEDS), strict=True):
            for place in places:
                methods[place]["values"][column][mark] = True
    papers = [_published(table, paper, columns) for paper in table.published]
    return {
        "name": task_title(table.task, table.data_title),
        **_fields(table, OF_TABLE),
        "rows": table.n,
        "status": dict(table.status),
        "legend": legend(table, is_page=True) + ["Δ ours minus published"] * any(paper["deltas"] for paper in papers),
        "remarks": footnotes(table),
        "columns": [
            {"name": column, "higher_is_better": directions.get(column), "shown": column in table.columns}
            for column in columns
        ],
        "methods": methods,
        "human": human,
        "published": papers,
    }


def _row(table: Table, row: TableRow, columns: Sequence[str], ids: set[str]) -> dict[str, Any]:
    return {
        "id": row.id,
        **_fields(row, OF_ROW),
        "seeds": sorted(row.seeds),
        "n_seeds": row.n,
        "controls": list(row.controls),
        "remark": "; ".join(filter(None, [row.remark, row.sampling_note])),
        "cells": sorted(row.keys),
        "folder": f"{table.task}/{row.config['method']}" if row.config else "",  # people have none
        "values": {column: _value(row, row.values[column], ids) for column in columns if column in row.values},
    }


def _value(row: TableRow, value: Value, ids: set[str]) -> dict[str, Any]:
    """Return a value with its statistics, and what is shown of it."""
    content = {
        "fewer": row.fewer(value),
        "best": False,
        "second": False,
        **_fields(value, OF_VALUE),
        "n_seeds": value.n,
        "by_seed": _by_seed(value.by_seed),
        "why": value.missing_reason,
        "against": value.against if value.against in ids else "",
    }
    if value.by_sampling_seed:
        content["by_sampling_seed"] = _by_seed({s: _by_seed(sampled) for s, sampled in value.by_sampling_seed.items()})
    return content


def _by_seed(numbers: Mapping[int, Any]) -> dict[str, Any]:
    return {str(seed): number for seed, number in sorted(numbers.items())}


# Published rows -------------------------------------------------------------------------------------------------------


def _published(table: Table, paper: Published, columns: Sequence[str]) -> dict[str, Any]:
    """Return a published row: its values by our columns, and where they may be compared ours less theirs by row."""
    values = {column: paper.values[name] for column in columns if (name := metric_name(column)) in paper.values}
    why_not = table.why_not_comparable
    deltas: dict[str, dict[str, str]] = {}
    for row in table.rows if not why_not else ():
        alike = row.method == paper.method and row.backbone == paper.backbone
        if row.decoding and paper.decoding:
            alike = alike and short_decoding(row.decoding) == paper.decoding
        for column in values if alike else ():
            if column in row.values and (mean := row.values[column].mean) is not None:
                deltas.setdefault(row.id, {})[column] = signed(mean - values[column])
    return {
        **_fields(paper, OF_PAPER),
        "values": values,
        "texts": {column: number(value) for column, value in values.items()},
        "deltas": deltas,
        "comparable": not why_not,
        "why_not": why_not,
    }
