"""Costs: the seconds of a training over those of the baseline's, as a column of the page."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.table import Table
from bench.store.store import Store

RATIO = "training/mle"
SIGNATURE = "wall-clock seconds of training over the baseline's|same machine, data, steps, batch and seed"
SAME_MACHINE = ("platform", "gpu", "cuda", "threads", "torch", "tf32", "deterministic")
"""Of the environment, what two trainings have to share for their seconds to be compared."""
OF_TRAINER = ("batch_size", "precision", "max_source", "max_target", "limit")


def with_costs(store: Store, table: Table) -> Table:
    """Return a table with a column of costs, if the store has times of trainings that can be compared.

    A row has a number for each seed whose run shares its conditions with runs of the baseline, whose median counts.
    Damaged files are passed over and noted in the store.
    """
    times = {row.id: list(_times(store, table, row)) for row in table.rows}
    base: dict[tuple[Any, ...], list[float]] = {}
    for row in table.rows:
        for conditions, _, seconds in times[row.id] if row.method == BASELINE else ():
            base.setdefault(conditions, []).append(seconds)
    ratios = {
        row.id: {seed: s / statistics.median(base[like]) for like, seed, s in times[row.id] if like in base}
        for row in table.rows
    }
    if not any(ratios.values()):
        return table
    rows = []
    for row in table.rows:
        cost = {RATIO: Value(ratios[row.id], None, SIGNATURE)} if ratios[row.id] else {}
        rows.append(replace(row, values={**row.values, **cost}))
    return replace(table, rows=rows, columns=[*table.columns, RATIO])


def _times(store: Store, table: Table, row: TableRow) -> Iterator[tuple[tuple[Any, ...], int, float]]:
    """Yield for each training of a row the conditions that its seconds hold for, its seed, and its seconds.

    A row that evaluates another method's run has no training.
    """
    for key in sorted(row.keys) if row.method == row.config.get("method") else ():
        cell = store.cell(table.task, row.method, key)
        record, provenance = store.readable(cell.trained), cell.provenance()
        if record and record["status"] == "ok" and provenance.get("wall_s") and record.get("train", {}).get("steps"):
            config, environment = record["config"], provenance.get("environment", {})
            conditions = (
                *(config[name] for name in ("task", "backbone", "preset", "seed")),
                *(config["trainer"][name] for name in OF_TRAINER),
                *(record["data"]["train"]["sha256"], record["train"]["steps"]),
                *(provenance.get(name) for name in ("host", "world", "accumulate")),
                *(environment.get(name) for name in SAME_MACHINE),
            )
            yield conditions, int(config["seed"]), float(provenance["wall_s"])
