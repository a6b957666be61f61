"""Work on one run in one process: training, then the predictions that are missing, or this process' share of both."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from bench.base.autocast import autocast
from bench.base.files import write_atomic
from bench.cells.build import build, exemplars_of, start, training_loader
from bench.cells.cell import Cell
from bench.cells.evaluation import SharedStates, cut_rows, evaluate, merge, shared_states, to_device, written
from bench.cells.forgetting import FORGETTING, start_model
from bench.cells.progress import TRAINING, WRITING
from bench.cells.record import about, config_yaml, store_trained
from bench.cells.required import evaluation_content
from bench.cells.validation import is_lower_better, text_metrics
from bench.config.arguments import RunArguments
from bench.errors import BenchError, StoreError, UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.objective import Objective
from bench.store.checkpoints import load_checkpoint, load_verified
from bench.store.partial_rows import PARTIAL, PartialRows, forget, read_batches
from bench.store.provenance import provenance
from bench.store.state_files import STATE, StateFiles
from bench.tasks.encode.batches import chosen
from bench.tasks.encode.codec import Codec
from bench.tasks.encode.token_store import TokenStore
from bench.training.events import SILENT, Events
from bench.training.execution import Execution
from bench.training.training import ALONE, train

Cut = tuple[Sequence[str], int]
"""Of a task that is cut into blocks by the tokenizer: the ids of the required blocks, and how many the split has."""

Meet = Callable[[str], None]
"""Reports that this process has reached a named point; the first process waits until all have, the others go on."""

LOOK_S = 0.05


def train_and_evaluate(
    cell: Cell,
    rows_keys: Collection[str],
    execution: Execution = ALONE,
    events: Events = SILENT,
    meet: Meet = lambda point: None,
) -> None:
    """Train a run unless it is trained, then make the predictions that are missing.

    Args:
        cell: the run.
        rows_keys: evaluations whose predictions are missing.
        execution: processes, micro-batches. The first process stores what was trained.
        events: receives steps, stages and warnings; silent in processes other than the first.
        meet: how several processes wait for each other; the first one stores the predictions of all.
    """
    if cell.method.is_baseline:
        write_baseline(cell, rows_keys, events)
        return
    objective, codec = build(cell)
    with execution.algorithms():
        content = cell.folder.trained()
        if content is None:
            for evaluation in (cell.evaluations[key] for key in rows_keys):
                if evaluation.kind == "generation" and evaluation.cut is not None:
                    cut_rows(cell.task, codec, evaluation)  # raises an error where the text is too short for a prompt
            events.stage(TRAINING, cell.config.trainer.steps)
            if cell.method.reads_exemplars:
                equal_targets = bool(cell.config.method_options.get("equal_targets", True))
                warn(cell, events, cell.task.exemplar_leak(cell.config.evaluation.split, equal_targets))
            started, states = time.monotonic(), StateFiles(cell.folder.path / STATE)
            start(objective, cell, codec)
            cell.task.setup_run(training_loader(cell, codec))
            trainer = cell.config.trainer
            result = train(
                objective,
                cell.task,
                trainer,
                execution,
                events=events,
                of_texts=text_metrics(cell, objective, codec, execution),
                lower_is_better=is_lower_better(trainer, cell.task),
                states=states,
            )
            if execution.rank == 0:
                result |= fitted(cell, objective, codec, result["status"], events)
                store_trained(cell, objective, codec, result, execution, started)
                states.remove()
            # Others wait for the first process, for as long as it takes; if it fails, torchrun's agent ends them.
            while (content := cell.folder.trained()) is None:
                time.sleep(LOOK_S)
            at_edge = content["train"].get("after_training", {}).get("at_edge")
            edge = "validation chose the last value that was tried (`after_training`); a better one may lie beyond it"
            warn(cell, events, edge if at_edge else None, *content.get("remarks", ()))
        if content["status"] != "ok" or not rows_keys:
            return
        load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
        objective.to(execution.device)
        shared = shared_states([cell.evaluations[key] for key in rows_keys])
        for key in rows_keys:
            make_rows(cell, key, objective, codec, execution, events, meet, shared)


def warn(cell: Cell, events: Events, *notes: str | None) -> None:
    """Warn the user of something about a run; None is no warning."""
    for note in filter(None, notes):
        events.warn(f"{cell.label}: {note}")


# Predictions --------------------------------------------------------------------------------------------------------


def write_baseline(cell: Cell, rows_keys: Collection[str], events: Events) -> None:
    """Store that there is nothing to train, then the texts of a baseline; one process does it."""
    started = time.monotonic()
    if cell.folder.trained() is None:
        content = {**about(cell), "status": "ok", "train": {"steps": 0, "curve": []}}
        write_atomic(cell.folder.path / "config.yaml", config_yaml(cell).encode(), replace=True)
        cell.folder.write_trained(content, {**provenance(started), "world": 1})
    baseline: Any = cell.method.kind
    for key in rows_keys:
        started = time.monotonic()
        events.stage(WRITING, len(cell.evaluations[key].ids))
        rows = list(written(baseline(), cell.task, cell.evaluations[key]))
        store_rows(cell, key, [rows], started)


def make_rows(
    cell: Cell,
    key: str,
    objective: Objective,
    codec: Codec,
    execution: Execution,
    events: Events,
    meet: Meet,
    shared: SharedStates | None,
) -> None:
    """Evaluate the share of this process, and store the shares of all if it is the first.

    The others leave theirs as partial predictions in the folder of the run.
    """
    started, what, rank, world = time.monotonic(), cell.evaluations[key], execution.rank, execution.world
    stage = what.kind if what.decoding is None else f"{what.kind} {what.decoding.text}"
    events.stage(stage, len(what.ids) // world)
    cut: Cut | None = None
    if what.cut is not None:
        encoded, n_all = cut_rows(cell.task, codec, what)
        cut = [row.id for row in encoded], n_all
    paths = [cell.folder.path / PARTIAL / f"{key}.{number}-of-{world}.jsonl" for number in range(world)]
    kept = PartialRows(paths[rank])
    before = start_model(cell.config, cell.task).to(objective.device) if what.kind == FORGETTING else None
    rows = []
    for row in evaluate(objective, cell.task, codec, what, rank, world, kept, before, shared):
        rows.append(row)
        events.beat(stage, len(rows))
    if rank:
        kept.flush()  # again: the first process may just have removed the folder, with an earlier evaluation
        if kept.unwritten:
            raise StoreError(f"cannot write '{kept.path}': make room or allow it, and run the same command again")
    meet(key)
    if rank == 0:
        others = [[row for batch in read_batches(path)[0].values() for row in batch] for path in paths[1:]]
        store_rows(cell, key, [rows, *others], started, cut)


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
        "broken": sum("\ufffd" in row.get("text", "") for row in rows),  # texts with an incomplete character
    }
    if cut is not None:  # one name for blocks and windows
        content["ids"] = {"n": len(split.examples) if is_whole else len(ids), "sha256": what.of_rows}
    cell.folder.write_rows(key, content, rows, provenance(started))
    forget(cell.folder.path, key)


# Memory -------------------------------------------------------------------------------------------------------------


def execution_of(cell: Cell, arguments: RunArguments, rank: int = 0, world: int = 1) -> Execution:
    """Return how a process executes a run, with the number of micro-batches that it begins with.

    By default one micro-batch has all rows of a step. The result does not depend on their number, up to rounding and
    the masks of dropout, which each micro-batch draws.
    """
    rows, micro_batch = cell.config.trainer.batch_size, arguments.micro_batch
    accumulate = 1
    if micro_batch is not None and not cell.method.is_baseline:
        accumulate = max(1, min(-(-rows // (micro_batch * world)), rows // world))  # each process has a row
    return Execution(
        **asdict(arguments.execution),
        accumulate=accumulate,
        threads=arguments.threads_of(cell.config.preset),
        rank=rank,
        world=world,
    )


def with_less_memory(cell: Cell, execution: Execution, error: BaseException) -> Execution:
    """Return an execution with twice the micro-batches, after a training in one process that ran out of memory.

    Raises:
        BenchError: not even one row a micro-batch fits, or memory is not enough for the evaluation.
        BaseException: the error, if it is not one of memory.
    """
    if not is_out_of_memory(error):
        raise error
    most = cell.config.trainer.batch_size
    if cell.folder.trained() is not None or execution.accumulate >= most:
        raise BenchError(failure_of(cell, execution.accumulate, error)) from error
    return replace(execution, accumulate=min(2 * execution.accumulate, most), out_of_memory=True)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of the host or of a device, was not enough."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    texts = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def failure_of(cell: Cell, micro_batches: int, error: BaseException) -> str:
    """Return why a run failed; where memory was not enough, also the setting that needs less."""
    if isinstance(error, BenchError):
        return str(error)
    why = f"{type(error).__name__}: {error}"
    if not is_out_of_memory(error):
        return why
    rows, batch = -(-cell.config.trainer.batch_size // micro_batches), cell.config.evaluation.batch_size
    if cell.folder.trained() is not None:
        smaller = f"--set evaluation.batch_size={batch // 2}" if batch > 1 else "use a larger device"
        return f"out of memory in the evaluation of the trained model ({why}); make its batches smaller: {smaller}"
    if rows > 1:
        return f"out of memory with {rows} rows in a micro-batch ({why}); give it fewer rows: --micro-batch {rows // 2}"
    return (
        f"out of memory with one row in a micro-batch ({why}); make trainer.max_source or trainer.max_target smaller, "
        f"or use a larger device"
    )


# After training -----------------------------------------------------------------------------------------------------


def fitted(cell: Cell, objective: Objective, codec: Codec, status: str, events: Events) -> dict[str, Any]:
    """Let an objective choose values on validation data, such as the weight of a cache; return them for the record.

    One process does it, on its device; the others read what is stored.
    """
    if status != "ok" or not cell.method.chooses_after_training:
        return {}
    objective.to(Execution().device).eval()
    events.beat("after training", 0)
    train, valid = (SplitBatches(cell, codec, split, objective.device, events) for split in ("train", "valid"))
    if not len(valid):
        raise UsageError(
            f"{cell.label}: chooses on the validation split, which has no rows that fit the model; give the task more "
            f"validation text, or leave the method out"
        )
    with torch.no_grad(), autocast(cell.config.trainer.precision, objective.device):
        return {"after_training": objective.after_training(train, valid)}


class SplitBatches(Sequence[Batch]):
    """The batches of a split in order; each is collated and moved to the device when it is read.

    Args:
        cell: its task and its batch size are used. Of the validation split, only the rows of validations are read.
        codec: of its backbone.
        split: name.
        device: that batches are moved to.
        events: receives a beat for each batch.
    """

    def __init__(self, cell: Cell, codec: Codec, split: str, device: torch.device, events: Events = SILENT) -> None:
        self.cell, self.codec, self.split = cell, codec, split
        self.device, self.events = device, events
        self.size = cell.config.trainer.batch_size
        self.n_read = 0

    @cached_property
    def rows(self) -> TokenStore:
        """Every row of the split; they are encoded when the first batch is read."""
        return self.cell.task.encoded(self.split, self.codec, exemplars=exemplars_of(self.cell, self.split))

    @cached_property
    def numbers(self) -> np.ndarray[Any, Any]:
        """Which of the rows are read, in order."""
        if self.split != "valid":
            return np.arange(len(self.rows))
        ids = [row.id for row in self.rows]
        required = set(chosen(ids, self.cell.config.trainer.validate_rows))
        return np.array([number for number, name in enumerate(ids) if name in required], dtype=np.int64)

    def __len__(self) -> int:
        return -(-len(self.numbers) // self.size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        start = self.size * range(len(self))[index]
        self.n_read += 1
        self.events.beat("after training", self.n_read)
        batch = self.codec.picked(self.rows, self.numbers[start : start + self.size])
        return to_device(batch, self.device)
