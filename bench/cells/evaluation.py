"""Evaluation: a trained model to rows. Nothing is averaged here, and ranks never talk to each other.

Each rank takes whole batches in turn and returns their rows; whoever collects them checks that they are exactly the
split. So any number of processes gives the same rows, also more processes than rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from bench.base.autocast import autocast
from bench.cells.evaluators import EVALUATORS, Context, Examples, SharedStates
from bench.cells.forgetting import FORGETTING, general_rows, whole_texts
from bench.cells.required import Evaluation
from bench.errors import BenchError
from bench.launch.signals import between_steps
from bench.models.core.objective import Objective
from bench.store.partial_rows import PartialRows
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import chosen, evaluation_batches
from bench.tasks.encode.codec import Codec, Encoded

if TYPE_CHECKING:
    from bench.metrics.diversity.ngrams import Integers
    from bench.models.baselines import Baseline


def evaluate(
    objective: Objective,
    task: Task,
    codec: Codec,
    what: Evaluation,
    rank: int = 0,
    world: int = 1,
    kept: PartialRows | None = None,
    start: Objective | None = None,
    shared: SharedStates | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield this rank's rows of an evaluation, in batch order.

    Args:
        objective: a trained method on its device.
        task: gives the examples.
        codec: turns them into batches.
        what: which rows, and how.
        rank: this process.
        world: number of processes.
        kept: batches that are finished already, and where others are kept.
        start: the pretrained model before fine-tuning, which forgetting is measured against.
        shared: states that likelihood and probe both read.

    Raises:
        Stopped: between two batches, when a signal came.
    """
    groups = None
    if what.kind == FORGETTING:
        codec = whole_texts(codec)
    examples, encoded = required_rows(task, codec, what, getattr(objective, "equal_targets", True))
    if what.references:
        groups = groups_of(task, codec)
    context = Context(examples, codec, what, groups, start, shared)
    size = what.batch_size
    if what.kind == "spectrum":  # one row: the singular values of all of them together
        size = max(1, len(encoded))
    batches = evaluation_batches(encoded, size)
    was_training = objective.training
    objective.eval()
    try:
        for number in range(rank, len(batches), world):
            rows = None if kept is None else kept.rows(number)
            if rows is None:
                with between_steps(), torch.no_grad(), autocast(what.precision, objective.device):
                    rows = list(EVALUATORS[what.kind](objective, context, batches[number]))
                    if kept is not None:
                        kept.add(number, rows)
            yield from rows
    finally:
        if kept is not None:
            kept.flush()
        objective.train(was_training)


def required_rows(
    task: Task, codec: Codec, what: Evaluation, equal_targets: bool = True
) -> tuple[Examples, Sequence[Encoded]]:
    """Return the examples of an evaluation by id, none where rows are cut from running text, and its rows."""
    if what.cut is not None:
        return {}, cut_rows(task, codec, what)[0]
    if what.kind == FORGETTING:
        return {}, general_rows(codec)
    required = set(what.ids)
    examples = {e.id: e for e in task.split(what.split).examples if e.id in required}
    read = exemplars_of(task, what, equal_targets)
    ordered = [examples[name] for name in what.ids]
    return examples, task.encode(ordered, codec, prompts=what.kind == "generation", exemplars=read)


def cut_rows(task: Task, codec: Codec, what: Evaluation) -> tuple[list[Encoded], int]:
    """Return the required rows that are cut from running text, and how many rows the split has."""
    rows = task.encoded(what.split, codec, prompts=what.kind == "generation")
    required = set(chosen([row.id for row in rows], what.cut or None))
    return [row for row in rows if row.id in required], len(rows)


def groups_of(task: Task, codec: Codec) -> Integers:
    """Return the frequency group of every token id in the training text, [V]."""
    from bench.metrics.diversity.frequency_groups import group_of_tokens

    return group_of_tokens(task.target_counts(codec, len(codec.tokenizer)))


def written(baseline: Baseline, task: Task, what: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield the rows of a baseline, which writes texts without a model."""
    ids = set(what.ids)
    read = exemplars_of(task, what, True) or {}
    targets = [example.target for example in task.split("train").examples]
    words = round(sum(len(text.split()) for text in targets) / max(1, len(targets)))
    for example in task.split(what.split).examples:
        if example.id in ids:
            text = baseline.write(task.plain_source(example), read.get(example.id, ""), words)
            yield {"id": example.id, "text": text, "truncated": 0}


def exemplars_of(task: Task, what: Evaluation, equal_targets: bool) -> Mapping[str, str] | None:
    """Return the exemplar of every row by id, or None for a method that reads none."""
    if not what.exemplars:
        return None
    return task.exemplars(what.split, equal_targets, swap=what.exemplars == "swapped")


def merge(parts: Sequence[Sequence[dict[str, Any]]], ids: Sequence[str], what: str) -> list[dict[str, Any]]:
    """Join the rows of all ranks, sorted by id; refuse anything but exactly the required ids, each once.

    Raises:
        BenchError: when rows are missing, repeated or not required.
    """
    rows = {row["id"]: row for part in parts for row in part}
    count = sum(len(part) for part in parts)
    if count != len(rows) or set(rows) != set(ids):
        raise BenchError(
            f"{what}: expected {len(set(ids))} rows, one per id; got {count} rows with {len(rows)} ids, "
            f"{len(set(ids) - set(rows))} missing and {len(set(rows) - set(ids))} not asked for"
        )
    return [rows[name] for name in sorted(rows)]
