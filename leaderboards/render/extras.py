"""Extras of a board: costs and generated texts, read from the store's records and rows where they are."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.leaderboards.groups import decoding_name
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, table_ids
from bench.store.reading import readable, readable_rows
from bench.store.store import CellFolder, Store

SAMPLES, LONGEST = 4, 400
"""Samples of a table at most, and the characters of a text, and of a prompt's end."""

Prompts = Mapping[str, Mapping[str, tuple[str, str]]]
"""Prompt and reference by `task/split` and row id: the store holds what models wrote, the data what they read."""


def extras_of(store: Store, tables: Sequence[Table], prompts: Prompts | None = None) -> dict[str, Any]:
    """Return what a board shows in addition to its tables, for `board(..., extras=)`.

    Args:
        store: where the tables are from.
        tables: as they are shown.
        prompts: prompts and references of the samples; rows that are cut from running text
            have none.

    Damaged files are passed over and noted in the store.
    """
    prompts = prompts or {}
    samples, costs = {}, {}
    for name, table in zip(table_ids(tables), tables, strict=True):
        samples[name] = samples_of(store, table, prompts.get(f"{table.task}/{table.split}", {}))
        costs[name] = costs_of(store, table)
    return {"samples": samples, "costs": costs}


def samples_of(store: Store, table: Table, prompts: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return texts side by side, the same ids for every row that has texts, each of its first seed with any."""
    texts = {row.id: written for row in table.rows if (written := texts_of(store, table, row))}
    content = []
    for name in _shared_ids(list(texts.values())):
        prompt, reference = prompts.get(name, ("", ""))
        of_methods = {row: _start(written[name]) for row, written in texts.items()}
        content.append({"id": name, "prompt": _end(prompt), "reference": _start(reference), "texts": of_methods})
    return content


def _shared_ids(texts: Sequence[Mapping[str, str]]) -> list[str]:
    """Return at most `SAMPLES` ids that all rows have, evenly spread."""
    if not texts:
        return []
    shared = sorted(set(texts[0]).intersection(*texts[1:]))
    if len(shared) <= SAMPLES:
        return shared
    return [shared[i * len(shared) // SAMPLES] for i in range(SAMPLES)]


def texts_of(store: Store, table: Table, row: TableRow) -> dict[str, str]:
    """Return the generated texts of a row by id, of the first seed that has them, or nothing."""
    for _, cell in _cells(store, table, row):
        for rows in readable_rows(store, cell):
            if _are_of(rows.content, table, row):
                return {stored["id"]: stored["text"] for stored in rows.rows}
    return {}


def _are_of(of: Mapping[str, Any], table: Table, row: TableRow) -> bool:
    """Return whether stored rows are the texts of a row of a table."""
    return (
        of["kind"] == "generation"
        and "sampling_seed" not in of
        and of["split"] == table.split
        and decoding_name(of["decoding"]) == row.decoding
        and (of.get("shown_as") or row.config["method"]) == row.method
        and of["ids"]["n"] == table.n
    )


def _cells(store: Store, table: Table, row: TableRow) -> list[tuple[Mapping[str, Any], CellFolder]]:
    """Return record and folder of a row's cells, by seed."""
    cells = []
    for key in sorted(row.keys):
        cell = store.cell(table.task, row.config["method"], key)
        record = readable(store, cell.trained)
        if record is not None and record["status"] == "ok":
            cells.append((record, cell))
    return sorted(cells, key=lambda pair: int(pair[0]["config"]["seed"]))


def _start(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST else "…" + text[1 - LONGEST :]


# Training costs ------------------------------------------------------------------------------------------------------


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
    """Return conditions, seed and seconds of a row's own trainings; a row that reads another method's has none."""
    found: list[tuple[Conditions, int, float]] = []
    for record, cell in _cells(store, table, row) if row.method == row.config.get("method") else ():
        provenance = cell.provenance()
        if (seconds := provenance.get("wall_s")) and record.get("train", {}).get("steps"):
            found.append((tuple(shared(record, provenance)), int(record["config"]["seed"]), float(seconds)))
    return found


def shared(record: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what two trainings have to share for their seconds to be compared; task and backbone first."""
    config, environment = record["config"], provenance.get("environment", {})
    yield from (config[name] for name in ("task", "backbone", "preset", "seed"))
    yield from (config["trainer"][name] for name in ("batch_size", "precision", "max_source", "max_target", "limit"))
    yield from (record["data"]["train"]["sha256"], record["train"]["steps"])
    yield from (provenance.get(name) for name in ("host", "world", "accumulate"))
    yield from (environment.get(name) for name in SAME_MACHINE)
