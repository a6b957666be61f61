"""Training costs: how long each row of a table trained, in seconds and against the baseline on the same machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table
from bench.store.reading import readable
from bench.store.store import Store

__all__ = ["RATIO", "SECONDS", "SIGNATURES", "costs_of"]

BASELINE = "mle"
SAME_MACHINE = ("platform", "gpu", "cuda", "threads", "torch", "tf32", "deterministic")
"""Of the environment, what two trainings have to share for their seconds to be compared."""
RATIO, SECONDS = "training/mle", "training s"
"""Columns of the page: seconds over those of the baseline's cell of the same seed, and seconds."""
SIGNATURES = {
    RATIO: "wall-clock seconds of training over the baseline's|same machine, data, steps, batch and seed",
    SECONDS: "wall-clock seconds of training|of one machine, comparable on it alone",
}
Conditions = tuple[Any, ...]
"""What two trainings share where their seconds may be compared (`shared`)."""


def costs_of(store: Store, table: Table) -> dict[str, dict[str, dict[int, float]]]:
    """Return by row id and column the numbers of each seed; rows without a stored time are left out.

    The baseline's cells are those of the table's rows of `mle`; of several under alike conditions, the median counts.
    """
    times = {row.id: _times(store, table, row) for row in table.rows}
    base: dict[Conditions, list[float]] = {}
    for row in table.rows:
        if row.method == BASELINE:
            for conditions, _, seconds in times[row.id]:
                base.setdefault(conditions, []).append(seconds)
    costs = {}
    for name, of_row in times.items():
        if not of_row:
            continue
        found: dict[str, dict[int, float]] = {SECONDS: {seed: seconds for _, seed, seconds in of_row}, RATIO: {}}
        for conditions, seed, seconds in of_row:
            if conditions in base:
                found[RATIO][seed] = seconds / statistics.median(base[conditions])
        costs[name] = found
    return costs


def _times(store: Store, table: Table, row: TableRow) -> list[tuple[Conditions, int, float]]:
    """Return conditions, seed and seconds of a row's own trained cells."""
    found: list[tuple[Conditions, int, float]] = []
    if row.method != row.config.get("method"):
        return found  # it reads or decodes what another method has trained
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.method, key)
        record = readable(store, cell.trained)
        if record is None or record["status"] != "ok" or not record.get("train", {}).get("steps"):
            continue
        provenance = cell.provenance()
        seconds = provenance.get("wall_s")
        if seconds:
            found.append((tuple(shared(record, provenance)), int(record["config"]["seed"]), float(seconds)))
    return found


def shared(record: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what two trainings have to share for their seconds to be compared; task and backbone first."""
    config, environment = record["config"], provenance.get("environment", {})
    trainer = config["trainer"]
    yield config["task"]
    yield config["backbone"]
    yield config["preset"]
    yield config["seed"]
    yield record["data"]["train"]["sha256"]
    for name in ("batch_size", "precision", "max_source", "max_target", "limit"):
        yield trainer[name]
    yield record["train"]["steps"]
    yield provenance.get("host")
    for name in ("world", "accumulate"):
        yield provenance.get(name)
    for name in SAME_MACHINE:
        yield environment.get(name)
