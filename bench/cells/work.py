"""Work: what one process does for one cell, all of it or its share, and what is stored of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import canonical, sha256
from bench.cells.after_training import fitted, stored_by_first
from bench.cells.build import build, exemplars_of, start
from bench.cells.cell import Cell, described, is_validated
from bench.cells.evaluation import cut_rows, evaluate, merge, written
from bench.cells.evaluators import SharedStates
from bench.cells.execution import Execution, device_of
from bench.cells.forgetting import FORGETTING, start_model
from bench.cells.paper_preset import PAPER
from bench.cells.progress import TRAINING, WRITING, OnBeat, OnStage, beating, no_beat, no_stage
from bench.cells.validation import measure_of
from bench.cells.wanted import Evaluation, evaluation_content
from bench.cells.watched import is_lower_better
from bench.config.config import joined
from bench.config.departures import departures_of
from bench.config.second import SECOND
from bench.errors import BenchError
from bench.models.core.objective import Objective
from bench.store.checkpoints import load_checkpoint, load_verified, save_checkpoint
from bench.store.partial_rows import PARTIAL, PartialRows, forget
from bench.store.provenance import provenance
from bench.store.state_files import STATE, StateFiles
from bench.store.store import TOKENIZER, CellFolder
from bench.tasks.encode.codec import Codec, Encoded, tokenizer_hash
from bench.training.recorder import OnStep
from bench.training.selection import OnValidation
from bench.training.training import train

Cut = tuple[Sequence[str], int]
"""Ids of the wanted rows, and how many there are in the split, of text that the tokenizer cuts."""

DEFAULT = Execution()
MAX_SHARED_ROWS = 5000
"""Rows whose states are held in memory for a second evaluation: 0.3 GB at a width of 576 and 30 tokens."""


def work(
    cell: Cell,
    rows_keys: Collection[str],
    *,
    rank: int = 0,
    world: int = 1,
    execution: Execution = DEFAULT,
    scratch: Path | None = None,
    on_step: OnStep | None = None,
    on_validation: OnValidation | None = None,
    on_stage: OnStage = no_stage,
    on_note: Callable[[str], None] = lambda note: None,
    on_beat: OnBeat = no_beat,
) -> None:
    """Train a cell unless it is trained, then make the rows it misses.

    Args:
        cell: what.
        rows_keys: evaluations whose rows are missing.
        rank: this process; rank 0 stores what was trained.
        world: processes. One stores its rows itself; several leave their shares in `scratch` for the first of them.
        execution: micro-batches, strategy, processes that prepare batches.
        scratch: folder for shares of rows.
        on_step: told about training steps.
        on_validation: told what validations find.
        on_stage: told what comes next, and how many steps or rows it has.
        on_note: told what a user should know.
        on_beat: told of single rows.
    """
    if cell.method.is_baseline:
        write_baseline(cell, rows_keys, on_stage)
        return
    objective, codec = build(cell)
    with execution.algorithms():
        content = cell.folder.trained()
        if content is None:
            on_stage(TRAINING, cell.config.trainer.steps)
            if rank == 0 and cell.method.reads_exemplars and (leak := leak_of(cell)):
                on_note(f"{cell.label}: {leak}")
            if rank == 0 and (note := objective.training_note()):
                on_note(f"{cell.label}: {note}")
            train_cell(cell, objective, codec, execution, rank, world, on_step, on_validation, on_beat)
            content = stored_by_first(cell.folder)
            if rank == 0 and content["train"].get("after_training", {}).get("at_edge"):
                on_note(f"{cell.label}: what was chosen is the last that was tried, and the best may lie beyond")
            for remark in content.get("remarks", ()):
                if rank == 0:
                    on_note(f"{cell.label}: {remark}")
        if content["status"] != "ok" or not rows_keys:
            return
        load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
        objective.to(device_of(rank))
        shared = shared_states([cell.evaluations[key] for key in rows_keys])
        for key in rows_keys:
            decoding = cell.evaluations[key].decoding
            if decoding and rank == 0 and (note := objective.decoding_note(decoding)):
                on_note(f"{cell.label}: {note}")
            make_rows(cell, key, objective, codec, rank, world, scratch, on_stage, on_beat, shared)


def shared_states(evaluations: Sequence[Evaluation]) -> SharedStates | None:
    """Return where likelihood and probe share the states of their rows; None unless both read the same rows."""
    ids = [what.ids for what in evaluations if what.kind in ("likelihood", "probe")]
    if len(ids) == 2 and ids[0] == ids[1] and len(ids[0]) <= MAX_SHARED_ROWS:
        return {}
    return None


def train_cell(
    cell: Cell,
    objective: Objective,
    codec: Codec,
    execution: Execution,
    rank: int,
    world: int,
    on_step: OnStep | None,
    on_validation: OnValidation | None,
    on_beat: OnBeat,
) -> None:
    """Train a cell from its newest state; the first process stores what became of it.

    Args: as `work`, with the objective and codec of the cell.
    """
    started = time.monotonic()
    start(objective, cell, codec)
    with execution.body(objective.backbone, rank):
        result = train(
            objective,
            cell.task,
            codec,
            cell.config.trainer,
            cell.config.seed,
            world=world,
            accumulate=execution.accumulate,
            strategy=execution.strategy,
            activation_checkpointing=execution.activation_checkpointing,
            exemplars=partial(exemplars_of, cell),
            workers=execution.workers,
            on_step=on_step,
            on_validation=on_validation,
            measure=measure_of(cell, objective, codec, rank, world),
            lower_is_better=is_lower_better(cell.config.trainer, cell.task),
            states=StateFiles(cell.folder.path / STATE),
            seconds=execution.state_every,
        )
    if rank == 0:
        result |= fitted(cell, objective, codec, result["status"], on_beat)
        recorded = execution.recorded(world, cell.config.trainer.batch_size)
        recorded["float32_products"] = cell.config.trainer.float32_products
        store_trained(cell, objective, codec, result, recorded, started)
        StateFiles(cell.folder.path / STATE).remove()


def write_baseline(cell: Cell, rows_keys: Collection[str], on_stage: OnStage) -> None:
    """Store that there is nothing to train, then the texts of a baseline; one process does it."""
    started = time.monotonic()
    if cell.folder.trained() is None:
        content = {**about(cell), "status": "ok", "train": {"steps": 0, "curve": []}}
        cell.folder.write_trained(content, {**provenance(started), "world": 1})
    baseline: Any = cell.method.kind
    for key in rows_keys:
        on_stage(WRITING, len(cell.evaluations[key].ids))
        rows = list(written(baseline(), cell.task, cell.evaluations[key]))
        store_rows(cell, key, [rows], started)


def leak_of(cell: Cell) -> str | None:
    """Return a warning when exemplars give training targets away and not those of the evaluation, or None."""
    equal_targets = bool(cell.config.method_options.get("equal_targets", True))
    return cell.task.exemplar_leak(cell.config.evaluation.split, equal_targets)


def make_rows(
    cell: Cell,
    key: str,
    objective: Objective,
    codec: Codec,
    rank: int,
    world: int,
    scratch: Path | None,
    on_stage: OnStage,
    on_beat: OnBeat,
    shared: SharedStates | None = None,
) -> None:
    """Evaluate this rank's share; store it, or leave it in `scratch`."""
    started = time.monotonic()
    what = cell.evaluations[key]
    stage = stage_name(what)
    on_stage(stage, len(what.ids) // world)
    cut = None
    if what.cut is not None:
        cut = ids_of_cut(*cut_rows(cell.task, codec, what))
    kept = PartialRows(cell.folder.path / PARTIAL / f"{key}.{rank}-of-{world}.jsonl")
    before = None
    if what.kind == FORGETTING:
        before = start_model(cell.config, cell.task).to(objective.device)
    made = evaluate(objective, cell.task, codec, what, rank, world, kept, before, shared)
    rows = list(beating(made, stage, on_beat))
    if scratch is None:
        store_rows(cell, key, [rows], started, cut)
    else:
        leave_rows(key, rows, rank, scratch, cut)


def stage_name(what: Evaluation) -> str:
    """Return what people are told that an evaluation is."""
    if what.decoding is None:
        return what.kind
    return f"{what.kind} {what.decoding.text}"


def ids_of_cut(rows: Sequence[Encoded], n_all: int) -> Cut:
    """Return rows that are cut from running text by their ids."""
    return [row.id for row in rows], n_all


def leave_rows(key: str, rows: Sequence[dict[str, Any]], rank: int, scratch: Path, cut: Cut | None) -> None:
    """Leave this rank's share of rows in `scratch`; `cut` says which rows are wanted, if that is not planned."""
    if cut is not None and rank == 0:
        write_atomic(scratch / f"{key}.cut", canonical(cut), replace=True)
    data = b"".join(canonical(row) + b"\n" for row in rows)
    write_atomic(scratch / f"{key}.{rank}", data, replace=True)


def store_rows(cell: Cell, key: str, parts: list[list[dict[str, Any]]], started: float, cut: Cut | None = None) -> None:
    """Check that the parts are exactly the wanted rows and store them."""
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
    """Store the rows that several processes have left in `scratch`.

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


def store_trained(
    cell: Cell,
    objective: Objective,
    codec: Codec,
    result: Mapping[str, Any],
    recorded: Mapping[str, Any],
    started: float,
) -> None:
    """Put the checkpoint in its place, then the record that vouches for it.

    The record of a paper's recipe says what of it is other than the paper or its code; how its texts were written is in
    their rows, and what its data is in its manifests.

    Args:
        result: what `train` returned.
        recorded: on how many processes and micro-batches, and what else it was asked, for the provenance.
    """
    folder = cell.folder
    data = save_checkpoint(objective)
    digest = sha256(data)
    write_atomic(folder.checkpoint(digest), data, replace=True)
    write_atomic(folder.path / "config.yaml", config_yaml(cell).encode(), replace=True)
    backend = getattr(codec.tokenizer, "backend_tokenizer", None)
    if backend is not None:
        write_atomic(folder.path / TOKENIZER, backend.to_str().encode(), replace=True)
    content = {
        **about(cell),
        "batch_invariant": objective.batch_invariant,
        "status": result["status"],
        "train": {name: value for name, value in result.items() if name != "status"},
        "model": {
            "parameters": sum(p.numel() for p in objective.parameters()),
            "trained_parameters": sum(p.numel() for p in objective.parameters() if p.requires_grad),
            "architecture": codec.architecture,
            "tokenizer_sha256": tokenizer_hash(codec.tokenizer),
            "checkpoint_sha256": digest,
        },
    }
    if cell.config.preset == PAPER:
        content["departures"] = [departure.as_dict() for departure in departures_of(cell.config, cell.method)]
    if remarks := objective.remarks():
        content["remarks"] = remarks
    pretrained = objective.backbone.pretrained
    if pretrained is not None and pretrained.repository:
        content["model"]["hub"] = pretrained.as_dict()
    if objective.backbone.lora is not None:
        content["model"]["lora"] = objective.backbone.lora.as_dict()
    folder.write_trained(content, {**provenance(started), **recorded})


def about(cell: Cell) -> dict[str, Any]:
    """Return what a record of a trained cell says of any method."""
    splits = ["train", cell.config.evaluation.split]
    if is_validated(cell.config, cell.method):
        splits.append("valid")
    content = {
        "key": cell.key,
        "config": described(cell),
        "method": dict(cell.method.code),
        "start": origin(cell.start),
        "seed_scheme": "sha256-counter/1",
        "data": {name: cell.task.manifest(name).as_dict() for name in splits},
    }
    hub_rows = cell.task.hub_rows()
    if hub_rows is not None and not hub_rows.is_pinned:
        content["unpinned"] = hub_rows.as_dict()
    if cell.config.own:
        content["own"] = own_of(cell)
    if cell.task.title:
        content["title"] = cell.task.title
    if cell.second is not None:
        content["second"] = origin(cell.second.folder)
    return content


def own_of(cell: Cell) -> dict[str, Any]:
    """Return what a record says of a task or backbone of the user's own, so that no reader needs their code."""
    own: dict[str, Any] = cell.config.own_code()
    if "task" in own:
        info = cell.task.info
        own["task"] |= {"columns": list(info.columns), "primary": info.primary}
    return own


def origin(folder: CellFolder | None) -> dict[str, Any] | None:
    """Return what a record says of the cell its weights start from, or of its second model; None for no such cell."""
    if folder is None:
        return None
    record = folder.trained()
    if record is None:
        return None
    config = {name: value for name, value in record["config"].items() if name not in ("decodings", "evaluation")}
    content = {
        "key": record["key"],
        "config": config,
        "method": record["method"],
        "data": {"train": record["data"]["train"]},
        "start": record.get("start"),
    }
    if "own" in record:
        content["own"] = record["own"]
    return content


def config_yaml(cell: Cell) -> str:
    """Return the file that repeats a cell: `--config` reads it back to the same keys.

    A control that only reads another method's cell has no file of its own: this is that cell's.
    """
    import yaml

    config, method = cell.config.as_dict(), cell.method
    content = {
        "task": cell.config.asked("task"),
        "method": method.trained_name if method.only_reads else method.asked,
        "seeds": [cell.config.seed],
        "preset": config["preset"],
        "backbone": cell.config.asked("backbone"),
        "decode": ",".join(decoding.asked for decoding in cell.config.decodings),
        "set": as_sets(cell),
    }
    return yaml.safe_dump(content, sort_keys=False)


SECTIONS = {
    "task": "task_options",
    "method": "method_options",
    "backbone": "backbone_options",
    "trainer": "trainer",
    "evaluation": "evaluation",
}
"""Sections of `--set` and the part of a configuration that holds each."""


def as_sets(cell: Cell) -> dict[str, Any]:
    """Return a configuration as `section.name: value` lines that `--config` reads back.

    Those of the cell it is fine-tuned from stand first; they are its own too where no line for its method follows.
    Those of its second model stand last.
    """
    lines = lines_of(cell)
    if cell.second is not None:
        lines |= {f"{SECOND}:{line}": value for line, value in lines_of(cell.second).items() if not is_common(line)}
    return lines


def is_common(line: str) -> bool:
    """Whether a line is of the task, whose options a method and its second model have in common."""
    return line.startswith("task.")


def lines_of(cell: Cell) -> dict[str, Any]:
    """Return the lines of a cell and of those it is fine-tuned from."""
    config = cell.config.as_dict()
    lines = {}
    for section, part in SECTIONS.items():
        for name, value in config[part].items():
            lines[f"{section}.{name}"] = joined(f"{section}.{name}", value)
    if cell.parent is None:
        return lines
    sets = lines_of(cell.parent)
    for name, value in lines.items():
        older = [known for line, known in sets.items() if line.rpartition(":")[2] == name]
        if not older or any(known != value for known in older):
            sets[f"{cell.config.method}:{name}"] = value
    return sets
