"""The page: every leaderboard of a store as one HTML file, with texts of the models."""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.printable import shortened
from bench.board.samples import Held, TaskOf, holding, read
from bench.cells.score import Tasks
from bench.leaderboards.claim.evaluation import Paper
from bench.leaderboards.claim.report import content
from bench.leaderboards.frame import decoding_name
from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import board
from bench.leaderboards.render.html import write_page
from bench.leaderboards.table import Table, table_ids
from bench.store.files import StoredRows
from bench.store.store import CellFolder, Store
from bench.tasks.core.task import Task

NAME = "leaderboard.html"
SAMPLES, LONGEST = 4, 400
"""Samples of a table at most, and the characters of a text, and of a prompt's end."""


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
        task_of: returns the task of a record with its rows, or None to leave out sources and references; by default
            tasks are read again, except plug-ins, whose code no report executes.
        claims: of papers, with their verdicts.
    """
    held: dict[str, list[Held]] = defaultdict(list)
    for one in holding(store, {table.task for table in leaderboards.tables}):
        held[one.record["key"]].append(one)
    task_of = task_of or Tasks(import_plugins=False).of
    samples = [samples_of(store, table, held, task_of) for table in leaderboards.tables]
    extras = {"samples": dict(zip(table_ids(leaderboards.tables), samples, strict=True)), "claims": content(claims)}
    write_page(path, board(leaderboards, extras))
    return path


def samples_of(store: Store, table: Table, held: Mapping[str, Sequence[Held]], task_of: TaskOf) -> list[dict[str, Any]]:
    """Return texts side by side, the same ids for every row that has texts, each of its first seed with any.

    Args:
        store: of the table.
        table: with rows.
        held: the texts of runs, by the key of the run.
        task_of: as for `page_of`.
    """
    side = {}
    for row in table.rows:
        fitting = [
            one
            for key in sorted(row.keys)
            for one in held.get(key, ())
            if (one.of["split"], one.of["ids"]["n"]) == (table.split, table.n)
            and (one.method, decoding_name(one.of["decoding"])) == (row.method, row.decoding)
        ]
        if fitting:
            side[row.id] = min(fitting, key=lambda one: int(one.record["config"]["seed"]))
    samples, notes = read(store, side, task_of)
    for note in notes:
        print(f"bench: page: {note}", file=sys.stderr)
    n = min(len(samples), SAMPLES)
    return [
        {
            "id": sample.id,
            "prompt": sample.prompt if len(sample.prompt) <= LONGEST else f"…{sample.prompt[1 - LONGEST :]}",
            "reference": shortened(sample.reference, LONGEST),
            "texts": {row: shortened(text, LONGEST) for row, text in sample.texts.items()},
        }
        for sample in (samples[place * len(samples) // n] for place in range(n))
    ]


def among(tasks: Sequence[Task]) -> TaskOf:
    """Return what finds the task of a record among those of a run, which are in memory; no other data is read."""

    def task_of(record: Mapping[str, Any], stored: StoredRows, cell: CellFolder) -> Task | None:
        split, wanted = stored.content["split"], stored.content["split_sha256"]
        alike = (task for task in tasks if task.name == record["config"]["task"])
        return next((task for task in alike if task.manifest(split).sha256 == wanted), None)

    return task_of
