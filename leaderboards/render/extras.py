"""Extras of a board: training curves and generated texts, read from the store's records and rows where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.render.board import row_id, table_ids
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, decoding_name
from bench.store.store import CellFolder, Store

SAMPLES = 30
"""At most so many a table."""

LONGEST = 600
"""Characters of a text, and of a prompt's end."""

POINTS = 40
"""Of a curve."""

Asked = Mapping[str, Mapping[str, tuple[str, str]]]
"""Prompt and reference by `task/split` and row id: the store holds what models wrote, the data what they read."""


def extras_of(store: Store, tables: Sequence[Table], asked: Asked | None = None, records: str = "") -> dict[str, Any]:
    """Return what a board shows beside its tables, for `board(..., extras=)`.

    Args:
        store: where the tables are from.
        tables: as they are shown.
        asked: prompts and references, for the samples to be read beside them; rows that are cut from running text
            have none.
        records: the store's folder, relative to the page, for links; empty for none.

    Raises:
        StoreError: a damaged file.
    """
    curves, samples = {}, {}
    for name, table in zip(table_ids(tables), tables, strict=True):
        curves[name] = [curve for row in table.rows for curve in curves_of(store, table, row)]
        samples[name] = samples_of(store, table, (asked or {}).get(f"{table.task}/{table.split}", {}))
    return {"records": records or None, "curves": curves, "samples": samples}


def curves_of(store: Store, table: Table, row: TableRow) -> list[dict[str, Any]]:
    """Return the training curve of every seed of a row; of rows that only decode or read otherwise, none."""
    if row.method != row.config["method"] or any(row.keys == other.keys for other in _before(table, row)):
        return []
    found = []
    for _, record, _ in _cells(store, table, row):
        points = record.get("train", {}).get("curve", [])
        if len(points) > 1:
            found.append({"id": row_id(row), "seed": record["config"]["seed"], "points": thinned(points)})
    return found


def _before(table: Table, row: TableRow) -> list[TableRow]:
    return table.rows[: next(i for i, other in enumerate(table.rows) if other is row)]


def thinned(points: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return at most `POINTS` points of a curve, first and last among them, with four digits of the loss.

    >>> thinned([[1, 2.345678], [2, 1.5]])
    [[1, 2.346], [2, 1.5]]
    """
    last = len(points) - 1
    picked = range(last + 1) if last < POINTS else sorted({round(i * last / (POINTS - 1)) for i in range(POINTS)})
    return [[int(points[i][0]), float(f"{points[i][1]:.4g}")] for i in picked]


def samples_of(store: Store, table: Table, asked: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return texts side by side, the same ids for every row that has texts, each of its first seed with any."""
    texts: dict[str, dict[str, str]] = {}
    for row in table.rows:
        if found := texts_of(store, table, row):
            texts[row_id(row)] = found
    shared = sorted(set.intersection(*(set(found) for found in texts.values()))) if texts else []
    picked = [shared[i * len(shared) // SAMPLES] for i in range(SAMPLES)] if len(shared) > SAMPLES else shared
    content = []
    for name in picked:
        prompt, reference = asked.get(name, ("", ""))
        content.append({"id": name, "prompt": _end(prompt), "reference": _start(reference),
                        "texts": {row: _start(found[name]) for row, found in texts.items()}})  # fmt: skip
    return content


def texts_of(store: Store, table: Table, row: TableRow) -> dict[str, str]:
    """Return the generated texts of a row by id, of the first seed that has them, or nothing."""
    for _, _, cell in _cells(store, table, row):
        for rows in cell.all_rows():
            of = rows.content
            if (
                of["kind"] == "generation"
                and of["split"] == table.split
                and decoding_name(of["decoding"]) == row.decoding
                and (of.get("shown_as") or row.config["method"]) == row.method
                and of["ids"]["n"] == table.n
            ):
                return {one["id"]: one["text"] for one in rows.rows}
    return {}


def _cells(store: Store, table: Table, row: TableRow) -> list[tuple[int, Mapping[str, Any], CellFolder]]:
    """Return seed, record and folder of a row's cells, by seed."""
    found = []
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.config["method"], key)
        if (record := cell.trained()) is not None and record["status"] == "ok":
            found.append((int(record["config"]["seed"]), record, cell))
    return sorted(found, key=lambda one: one[0])


def _start(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else "…" + text[1 - LONGEST :]
