"""The page: every leaderboard of a store as one HTML file, with texts of the models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells.score import Tasks, gold_of
from bench.errors import BenchError
from bench.leaderboards.claim.evaluation import Paper
from bench.leaderboards.claim.report import content
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import board
from bench.leaderboards.render.extras import Prompts, extras_of
from bench.leaderboards.render.html import write_page
from bench.leaderboards.table import Table
from bench.store.reading import readable, readable_rows
from bench.store.store import Store, StoredRows
from bench.tasks.core.task import Task

__all__ = ["NAME", "Known", "page_of"]

NAME = "leaderboard.html"

TaskOf = Callable[[Mapping[str, Any], StoredRows], Task | None]


def page_of(
    leaderboards: Leaderboards,
    store: Store,
    path: Path,
    task_of: TaskOf | None = None,
    claims: Sequence[Paper] = (),
) -> Path:
    """Write the page of a store's leaderboards; return where.

    Args:
        leaderboards: that are shown.
        store: of the leaderboards; damaged files are noted in it.
        path: the file.
        task_of: returns the task of a record and its rows, or None to do without; by default it is read again, unless
            it is the user's own: no report runs their code.
        claims: of papers, with their verdicts.
    """
    leaderboards = leaderboards.for_readers()
    prompts = prompts_of(store, leaderboards.tables, task_of or Tasks(import_own=False).of)
    extras = extras_of(store, leaderboards.tables, prompts)
    write_page(path, board(leaderboards, {**extras, "claims": content(claims)}))
    return path


def prompts_of(store: Store, tables: Sequence[Table], task_of: TaskOf) -> Prompts:
    """Return prompt and reference of the generated rows, by task and split; without the data, those that rows carry."""
    prompts: dict[str, dict[str, tuple[str, str]]] = {}
    for table in tables:
        name = f"{table.task}/{table.split}"
        if name in prompts:
            continue
        prompts[name] = {}
        for stored, record in _generated(store, table):
            prompts[name] |= _of_rows(stored, record, task_of)
            break
    return prompts


def _generated(store: Store, table: Table) -> list[tuple[StoredRows, Mapping[str, Any]]]:
    """Return the generated rows of the first cell of a table that has any, and its record."""
    for row in table.rows:
        for key in sorted(row.keys):
            cell = store.cell(table.task, row.config["method"], key)
            generated = [rows for rows in readable_rows(store, cell) if rows.content["kind"] == "generation"]
            of_split = [rows for rows in generated if rows.content["split"] == table.split]
            record = readable(store, cell.trained)
            if of_split and record:
                return [(of_split[0], record)]
    return []


def _of_rows(stored: StoredRows, record: Mapping[str, Any], task_of: TaskOf) -> dict[str, tuple[str, str]]:
    if all("prompt" in row for row in stored.rows):
        return {row["id"]: (row["prompt"], row["reference"]) for row in stored.rows}
    try:
        task = task_of(record, stored)
        if task is None:
            return {}
        gold = gold_of(task, stored, ("source", "target"))
    except BenchError as error:
        print(f"bench: samples of the page have no sources: {error}", file=sys.stderr)
        return {}
    return {name: (fields["source"], fields["target"]) for name, fields in gold.items()}


@dataclass(frozen=True)
class Known:
    """The tasks of a run, which are in memory; no other data is read at its end."""

    tasks: Sequence[Task]

    def __call__(self, record: Mapping[str, Any], stored: StoredRows) -> Task | None:
        split, wanted = stored.content["split"], stored.content["split_sha256"]
        alike = (task for task in self.tasks if task.name == record["config"]["task"])
        return next((task for task in alike if task.manifest(split).sha256 == wanted), None)
