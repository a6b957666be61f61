"""The board: every leaderboard as one JSON content (`board.schema.json`), for `--format json` and for the page."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.overview import Overview, OverviewColumn, OverviewRow
from bench.leaderboards.render.extras import RATIO, SECONDS, SIGNATURES
from bench.leaderboards.render.footnotes import footnotes, of_marks
from bench.leaderboards.render.shown import deltas, number, printed_values, why_not
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.constants import MIN_SEEDS
from bench.leaderboards.table import Table, table_ids, task_title

__all__ = ["as_json", "board", "schema"]

SCHEMA = "objective-bench/board/3"
HUMAN = "human"
"""The method id of what people wrote; a second tokenizer's is `human-2`."""
HUMAN_LABEL = "human (the true continuations)"


def as_json(leaderboards: Leaderboards) -> str:
    """Render tables as the JSON content of a board."""
    return json.dumps(board(leaderboards), indent=1, allow_nan=False) + "\n"


def board(leaderboards: Leaderboards, extras: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of all leaderboards.

    Args:
        leaderboards: as they are shown.
        extras: what is not in a table, as `extras_of` gives it: `{"samples": {table id: [...]}, "samples_note": {table
            id: text}, "costs": {table id: {row id: {...}}}}`; each may be missing. `claims` and `charted`, which the
            page alone has, are put in as they are.

    Returns:
        A mapping that `board.schema.json` describes, unrounded, made of JSON types only.
    """
    extras = extras or {}
    tables = []
    ids = table_ids(leaderboards.tables)
    names = table_names(leaderboards.tables)
    for place, (name, table) in enumerate(zip(ids, leaderboards.tables, strict=True)):
        content = _table(name, names[place], table)
        content["samples"] = list(extras.get("samples", {}).get(name, ()))
        if note := extras.get("samples_note", {}).get(name):
            content["samples_note"] = note
        _add_costs(content, extras.get("costs", {}).get(name, {}))
        tables.append(content)
    return {
        "schema": SCHEMA,
        "notes": leaderboards.left_out_notes,
        "overview": _overview(leaderboards.overview, leaderboards.tables, ids),
        "tables": tables,
        **{name: extras[name] for name in ("claims", "charted") if name in extras},
    }


def schema() -> dict[str, Any]:
    """Return the JSON schema of a board."""
    text = resources.files("bench.leaderboards").joinpath("board.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _table(table_id: str, name: str, table: Table) -> dict[str, Any]:
    ids = [row.id for row in table.rows]
    marks = {column: table.best_and_second(column, MIN_SEEDS) for column in table.all_columns}
    methods = [_row(row.id, row, place, ids, table, marks) for place, row in enumerate(table.rows)]
    people = zip(_human_ids(table.human), table.human, strict=True)
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
        "legend": of_marks(table, methods),
        "remarks": footnotes(table),
        "columns": _columns(table),
        "methods": methods,
        "human": [_row(name, row, -1, ids, table, marks) for name, row in people],
        "published": _published(table),
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
                text = f"{value.mean:.{decimals}f}"
                row["values"][column] = {**_value(value, row["n_seeds"], ()), "text": text}


def _human_ids(rows: Sequence[TableRow]) -> list[str]:
    return [HUMAN, *(f"{HUMAN}-{number}" for number in range(2, len(rows) + 1))][: len(rows)]


def _columns(table: Table) -> list[dict[str, Any]]:
    """Return name and direction of every column, and whether it is shown."""
    directions: dict[str, bool | None] = {}
    for row in table.rows:
        directions |= {column: value.higher_is_better for column, value in row.values.items()}
    return [
        {"name": column, "higher_is_better": directions.get(column), "shown": column in table.columns}
        for column in table.all_columns
    ]


OF_ROW = ("method", "settings", "backbone", "decoding", "diverged", "untuned", "tried", "picked")
OF_VALUE = ("mean", "signature", "conflict", "half", "p", "p_items", "differs", "difference", "low", "high")
"""Names of `TableRow` and `Value` that the content has, too."""


Marks = Mapping[str, tuple[set[int], set[int]]]
"""By column, the places of the rows with the best and with the second best value."""


def _row(row_id: str, row: TableRow, place: int, ids: Sequence[str], table: Table, marks: Marks) -> dict[str, Any]:
    """Return one row; its place is -1 where it is of what people wrote, which is never the best."""
    values, seeds = {}, row.n
    for column, places in marks.items():
        if column in row.values:
            best, second = (place in of_mark for of_mark in places)
            values[column] = _value(row.values[column], seeds, ids, best=best, second=second)
    seeds_text = f"{seeds} (div {row.diverged}/{len(row.seeds)})" if row.diverged else str(seeds)
    return {
        "id": row_id,
        **{name: getattr(row, name) for name in OF_ROW},
        "label": row.label if place >= 0 else HUMAN_LABEL,
        "marks": row.marks,
        "seeds": sorted(row.seeds),
        "n_seeds": row.n,
        "seeds_text": seeds_text if place >= 0 else "",
        "controls": list(row.controls),
        "remark": "; ".join(filter(None, [row.remark, row.sampling_note])),
        "cells": sorted(row.keys),
        "folder": f"{table.task}/{row.config['method']}" if row.config else "",  # people have none
        "parameters": row.parameters,
        "values": values,
    }


def _value(value: Value, seeds: int, ids: Sequence[str], *, best: bool = False, second: bool = False) -> dict[str, Any]:
    """Return a value with its statistics, and what is shown of it.

    A conflict is never a number, and a mean over fewer seeds than its row has says so.
    """
    is_number = value.mean is not None
    content = {
        "text": "conflict" if value.conflict else number(value.mean) or "n/a",
        "interval": number(value.half) if is_number else "",
        "fewer": f"n={value.n}" if is_number and value.n < seeds else "",
        "best": is_number and best,
        "second": is_number and second,
        **{name: getattr(value, name) for name in OF_VALUE},
        "n_seeds": value.n,
        "by_seed": {str(seed): number for seed, number in sorted(value.by_seed.items())},
        "why": value.missing_reason,
        "against": value.against if value.against in ids else "",
    }
    if value.by_sampling_seed:
        content["by_sampling_seed"] = {
            str(seed): {str(sampling): number for sampling, number in sorted(sampled.items())}
            for seed, sampled in sorted(value.by_sampling_seed.items())
        }
    return content


def _published(table: Table) -> list[dict[str, Any]]:
    """Return the published rows, their values and ours less theirs by our columns."""
    return [
        {
            **{name: getattr(paper, name) for name in ("paper", "table", "name", "method", "backbone", "note")},
            "values": printed_values(paper, table),
            "texts": {column: number(value) for column, value in printed_values(paper, table).items()},
            "deltas": deltas(table, paper),
            "comparable": not why_not(table),
            "why_not": why_not(table),
        }
        for paper in table.published
    ]


# Overview ------------------------------------------------------------------------------------------------------------


def _overview(found: Overview, tables: Sequence[Table], ids: Sequence[str]) -> dict[str, Any] | None:
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
        "tasks": [_overview_task(column, tables[column.place], ids[column.place]) for column in found.columns],
        "methods": [_overview_method(row, found.columns) for row in found.rows],
        "notes": list(found.notes),
    }


def _overview_task(column: OverviewColumn, table: Table, table_id: str) -> dict[str, Any]:
    about = ("task", "title", "column", "higher_is_better", "backbone", "decoding")
    return {
        **{name: getattr(column, name) for name in about},
        "table": table_id,
        "aggregated": column.gate.passed,
        "rows": table.n,
        "seeds": column.cells[BASELINE].n,
        "watermark": table.watermark,
    }


def _overview_method(row: OverviewRow, columns: Sequence[OverviewColumn]) -> dict[str, Any]:
    over_tasks = {"better": row.better, "worse": row.worse, "tasks": list(row.aggregated)}
    return {
        **{name: getattr(row, name) for name in ("method", "trained", "n_tasks")},
        "marks": list(row.marks),
        "over_tasks": over_tasks if row.aggregated else None,
        "cells": {column.task: asdict(column.cells[row.method]) for column in columns if row.method in column.cells},
    }


# Names of tables -----------------------------------------------------------------------------------------------------

MANY = 2
"""More backbones or decodings than these are counted, not named."""


def table_names(tables: Sequence[Table]) -> list[str]:
    """Return a name of every table for people: its task, and the fewest facts that tell the tables of a task apart.

    Tables that no fact named here tells apart are numbered.
    """
    by_task: dict[str, list[dict[str, str]]] = defaultdict(list)
    titled = [(task_title(table.task, table.data_title), _facts(table)) for table in tables]
    for title, facts in titled:
        by_task[title].append(facts)
    telling = {title: _telling(of_task) for title, of_task in by_task.items()}
    names, seen = [], Counter[str]()
    for title, facts in titled:
        name = " · ".join([title, *(facts[fact] for fact in telling[title])])
        seen[name] += 1
        names.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return names


def _telling(tables: Sequence[Mapping[str, str]]) -> list[str]:
    """Return facts that tell tables apart, each of which tells some apart that those before it do not."""
    chosen: list[str] = []
    for fact in tables[0]:
        if _n_unlike(tables, [*chosen, fact]) > _n_unlike(tables, chosen):
            chosen.append(fact)
    return chosen


def _n_unlike(tables: Sequence[Mapping[str, str]], facts: Sequence[str]) -> int:
    return len({tuple(table[fact] for fact in facts) for table in tables})


def _facts(table: Table) -> dict[str, str]:
    """Return what tables of one task may differ in, as texts."""
    return {
        "data": _data(table),
        "split": f"{table.split} split",
        "preset": f"preset {table.preset}",
        "backbones": _listed([row.backbone for row in table.rows], "backbones"),
        "rows": f"{table.n:,} rows",
        "decodings": _listed([row.decoding for row in table.rows], "decodings"),
    }


def _data(table: Table) -> str:
    """Return whether a table is of the built-in samples, of published data, or of what else."""
    statuses = set(table.status.values())
    if "sample" in statuses:
        return "built-in samples"
    if statuses <= {"official"}:
        return "published data"
    return ", ".join(f"{name} data {status}" for name, status in sorted(table.status.items()) if status != "official")


def _listed(names: Sequence[str], kind: str) -> str:
    """Return names, or how many there are."""
    unlike = sorted({name for name in names if name})
    if not unlike:
        return f"no {kind}"
    if len(unlike) > MANY:
        return f"{len(unlike)} {kind}"
    return ", ".join(unlike)
