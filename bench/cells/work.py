"""Work on one run in one process: training, then the predictions that are missing, or this process' share of both."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import canonical
from bench.cells.after_training import fitted
from bench.cells.build import build, start, training_loader
from bench.cells.cell import Cell
from bench.cells.evaluation import cut_rows, evaluate, merge, written
from bench.cells.evaluators import SharedStates
from bench.cells.forgetting import FORGETTING, start_model
from bench.cells.progress import TRAINING, WRITING
from bench.cells.record import about, store_trained
from bench.cells.required import Evaluation, evaluation_content
from bench.cells.validation import validation_metrics
from bench.errors import BenchError
from bench.models.core.objective import Objective
from bench.store.checkpoints import load_checkpoint, load_verified
from bench.store.partial_rows import PARTIAL, PartialRows, forget
from bench.store.provenance import provenance
from bench.store.state_files import STATE, StateFiles
from bench.store.store import CellFolder
from bench.tasks.encode.codec import Codec
from bench.training.events import SILENT, Events
from bench.training.execution import Execution
from bench.training.training import ALONE, train

Cut = tuple[Sequence[str], int]
"""Ids of the required rows, and how many there are in the split, of text that the tokenizer cuts."""

MAX_SHARED_ROWS = 5000
"""Rows whose states are held in memory for a second evaluation: 0.3 GB at a width of 576 and 30 tokens."""

LOOK_S = 0.05


@dataclass(frozen=True)
class Work:
    """A run with its trained model, in one of its processes.

    Args:
        scratch: folder for shares of predictions, of several processes.
        shared: states that likelihood and probe both read; None where no two evaluations read the same rows.
    """

    cell: Cell
    objective: Objective
    codec: Codec
    execution: Execution
    events: Events
    scratch: Path | None
    shared: SharedStates | None


def train_and_evaluate(
    cell: Cell,
    rows_keys: Collection[str],
    execution: Execution = ALONE,
    events: Events = SILENT,
    scratch: Path | None = None,
) -> None:
    """Train a run unless it is trained, then make the predictions that are missing.

    Args:
        cell: the run.
        rows_keys: evaluations whose predictions are missing.
        execution: processes, micro-batches, strategy. The first process stores what was trained.
        events: receives steps, stages and warnings; silent in processes other than the first.
        scratch: folder where several processes leave their shares of predictions for the first one; a process alone
            stores its own.
    """
    if cell.method.is_baseline:
        write_baseline(cell, rows_keys, events)
        return
    objective, codec = build(cell)
    with execution.algorithms():
        content = cell.folder.trained()
        if content is None:
            events.stage(TRAINING, cell.config.trainer.steps)
            warn(cell, events, exemplar_leak(cell), objective.training_note())
            started, states = time.monotonic(), StateFiles(cell.folder.path / STATE)
            start(objective, cell, codec)
            cell.task.setup_run(training_loader(cell, codec, execution.workers))
            metrics = validation_metrics(cell, objective, codec, execution)
            trainer = cell.config.trainer
            result = train(objective, cell.task, trainer, execution, events=events, metrics=metrics, states=states)
            if execution.rank == 0:
                result |= fitted(cell, objective, codec, result["status"], events)
                store_trained(cell, objective, codec, result, execution, started)
                states.remove()
            content = stored_by_first(cell.folder)
            at_edge = content["train"].get("after_training", {}).get("at_edge")
            edge = "what was chosen is the last that was tried, and the best may lie beyond" if at_edge else None
            warn(cell, events, edge, *content.get("remarks", ()))
        if content["status"] != "ok" or not rows_keys:
            return
        load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
        objective.to(execution.device)
        shared = shared_states([cell.evaluations[key] for key in rows_keys])
        work = Work(cell, objective, codec, execution, events, scratch, shared)
        for key in rows_keys:
            if decoding := cell.evaluations[key].decoding:
                warn(cell, events, objective.decoding_note(decoding))
            make_rows(work, key)


def warn(cell: Cell, events: Events, *notes: str | None) -> None:
    """Tell a user what should be known of a run."""
    for note in filter(None, notes):
        events.warn(f"{cell.label}: {note}")


def exemplar_leak(cell: Cell) -> str | None:
    """Return a warning when exemplars give training targets away and not those of the evaluation, or None."""
    if not cell.method.reads_exemplars:
        return None
    equal_targets = bool(cell.config.method_options.get("equal_targets", True))
    return cell.task.exemplar_leak(cell.config.evaluation.split, equal_targets)


def stored_by_first(folder: CellFolder) -> dict[str, Any]:
    """Return what is stored of the training, waiting for the first process to store it.

    The wait is outside of the process group, so it may be long; when the first process fails, torchrun's agent ends
    this one.
    """
    while (content := folder.trained()) is None:
        time.sleep(LOOK_S)
    return content


def shared_states(evaluations: Sequence[Evaluation]) -> SharedStates | None:
    """Return where likelihood and probe share the states of their rows; None unless both read the same rows."""
    ids = [what.ids for what in evaluations if what.kind in ("likelihood", "probe")]
    if len(ids) == 2 and ids[0] == ids[1] and len(ids[0]) <= MAX_SHARED_ROWS:
        return {}
    return None


# Predictions --------------------------------------------------------------------------------------------------------


def write_baseline(cell: Cell, rows_keys: Collection[str], events: Events) -> None:
    """Store that there is nothing to train, then the texts of a baseline; one process does it."""
    started = time.monotonic()
    if cell.folder.trained() is None:
        content = {**about(cell), "status": "ok", "train": {"steps": 0, "curve": []}}
        cell.folder.write_trained(content, {**provenance(started), "world": 1})
    baseline: Any = cell.method.kind
    for key in rows_keys:
        events.stage(WRITING, len(cell.evaluations[key].ids))
        rows = list(written(baseline(), cell.task, cell.evaluations[key]))
        store_rows(cell, key, [rows], started)


def make_rows(work: Work, key: str) -> None:
    """Evaluate the share of this process; store it, or leave it in the scratch folder."""
    started = time.monotonic()
    cell, rank, world = work.cell, work.execution.rank, work.execution.world
    what = cell.evaluations[key]
    stage = what.kind if what.decoding is None else f"{what.kind} {what.decoding.text}"
    work.events.stage(stage, len(what.ids) // world)
    cut: Cut | None = None
    if what.cut is not None:
        encoded, n_all = cut_rows(cell.task, work.codec, what)
        cut = [row.id for row in encoded], n_all
    kept = PartialRows(cell.folder.path / PARTIAL / f"{key}.{rank}-of-{world}.jsonl")
    before = None
    if what.kind == FORGETTING:
        before = start_model(cell.config, cell.task).to(work.objective.device)
    rows = []
    for row in evaluate(work.objective, cell.task, work.codec, what, rank, world, kept, before, work.shared):
        rows.append(row)
        work.events.beat(stage, len(rows))
    if work.scratch is None:
        store_rows(cell, key, [rows], started, cut)
        return
    if cut is not None and rank == 0:
        write_atomic(work.scratch / f"{key}.cut", canonical(cut), replace=True)
    data = b"".join(canonical(row) + b"\n" for row in rows)
    write_atomic(work.scratch / f"{key}.{rank}", data, replace=True)


def store_rows(cell: Cell, key: str, parts: list[list[dict[str, Any]]], started: float, cut: Cut | None = None) -> None:
    """Check that the parts are exactly the required rows and store them."""
    what = cell.evaluations[key]
    split = cell.task.split(what.split)
    ids, n_all = cut or (what.ids, len(split.examples))
    if what.kind == "spectrum":
        ids = ("singular_values",)
    rows = merge(parts, ids, f"{cell.label}, {what.kind}")
    is_whole = len(ids) == n_all or what.kind in ("spectrum", FORGETTING)
    content = {
        "trained": cell.key,
        **evaluation_content(what),
        "status": split.status,
        "split_sha256": cell.task.manifest(what.split).sha256,
        "whole_split": is_whole,
        "truncated": sum(row.get("truncated", 0) > 0 for row in rows),
        "broken": sum("\ufffd" in row.get("text", "") for row in rows),  # texts with half a character
    }
    if cut is not None:  # one name for blocks and windows
        content["ids"] = {"n": len(split.examples) if is_whole else len(ids), "sha256": what.of_rows}
    cell.folder.write_rows(key, content, rows, provenance(started))
    forget(cell.folder.path, key)


def collect(cell: Cell, rows_keys: Collection[str], scratch: Path, world: int, started: float) -> None:
    """Store the predictions that several processes have left in `scratch`.

    Raises:
        BenchError: when a process left none.
    """
    for key in rows_keys:
        paths = [scratch / f"{key}.{rank}" for rank in range(world)]
        parts = []
        for rank, path in enumerate(paths):
            if not path.exists():
                raise BenchError(f"{cell.label}: process {rank} left no rows for {cell.evaluations[key].kind}")
            parts.append([json.loads(line) for line in path.read_bytes().splitlines()])
        cut, cut_file = None, scratch / f"{key}.cut"
        if cut_file.exists():
            cut = tuple(json.loads(cut_file.read_bytes()))
        store_rows(cell, key, parts, started, cut)
        for path in paths:
            with suppress(OSError):
                path.unlink()
