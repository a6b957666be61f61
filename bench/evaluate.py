"""Evaluation: a trained model to rows. Nothing is averaged here, and ranks never talk to each other.

Each rank takes whole batches in turn and returns their rows; whoever collects them checks that they are exactly the
split. So any number of processes gives the same rows, also more processes than rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bench.decoding import Decoding
from bench.errors import BenchError
from bench.metrics.matrix_rank import singular_values
from bench.models.baselines import Baseline
from bench.models.objective import Objective
from bench.models.states import slices
from bench.seeds import seed_of
from bench.tasks.batches import chosen, evaluation_batches
from bench.tasks.codec import Codec, Encoded
from bench.tasks.encoded import Tokens
from bench.tasks.example import Example
from bench.tasks.task import Task

VERSION = 2
"""In the key of every rows file; raise it when rows of the same model would come out otherwise."""

TOP = 25
"""Tokens kept of each ranking of a probe row."""


Examples = Mapping[str, Example]


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one trained cell.

    Args:
        kind: `likelihood`, `probe`, `spectrum` or `generation`.
        ids: the rows, a declared subset or a whole split.
        decoding: for generation only.
        of_rows: hash of the ids of the subset or split this belongs to (a probe takes one row a prompt of them).
        exemplars: `own` or, for a control, `swapped`: another row's; empty for methods that read none.
        shown_as: the method its numbers stand under, where that is a control of the trained one.
        references: whether generated rows carry the true continuation's tokens too, as open-ended tasks want.
        cut: where rows are cut from running text, which the tokenizer decides, how many of them; 0 for all. `ids` is
            empty then, and known once the model is.
    """

    kind: str
    split: str
    ids: tuple[str, ...]
    batch_size: int
    max_new_tokens: int = 0
    decoding: Decoding | None = None
    seed: int = 0
    precision: str = "32-true"
    of_rows: str = ""
    exemplars: str = ""
    shown_as: str = ""
    references: bool = False
    cut: int | None = None


def evaluate(
    objective: Objective, task: Task, codec: Codec, what: Evaluation, rank: int = 0, world: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield this rank's rows of an evaluation, in batch order.

    Args:
        objective: a trained method on its device.
        task: gives the examples.
        codec: turns them into batches.
        what: which rows, and how.
        rank: this process.
        world: number of processes.
    """
    examples, encoded = wanted_rows(task, codec, what, getattr(objective, "equal_targets", True))
    make = {"likelihood": _likelihood, "probe": _probe, "generation": _generation, "spectrum": _spectrum}[what.kind]
    size = len(encoded) if what.kind == "spectrum" else what.batch_size
    batches = evaluation_batches(encoded, max(1, size))
    was_training = objective.training
    objective.eval()
    try:
        for number, batch in enumerate(batches):
            if number % world == rank:
                with torch.no_grad(), autocast(what.precision, objective.device):
                    yield from make(objective, examples, codec, what, batch)
    finally:
        objective.train(was_training)


def wanted_rows(
    task: Task, codec: Codec, what: Evaluation, equal_targets: bool = True
) -> tuple[Examples, Sequence[Encoded]]:
    """Return the examples of an evaluation by id, none where rows are cut from running text, and its rows."""
    if what.cut is not None:
        return {}, cut_rows(task, codec, what)[0]
    wanted = set(what.ids)
    examples = {e.id: e for e in task.split(what.split).examples if e.id in wanted}
    read = exemplars_of(task, what, equal_targets)
    ordered = [examples[name] for name in what.ids]
    return examples, task.encode(ordered, codec, prompts=what.kind == "generation", exemplars=read)


def cut_rows(task: Task, codec: Codec, what: Evaluation) -> tuple[list[Encoded], int]:
    """Return the wanted rows that are cut from running text, and how many rows the split has."""
    rows = task.encoded(what.split, codec, prompts=what.kind == "generation")
    wanted = set(chosen([row.id for row in rows], what.cut or None))
    return [row for row in rows if row.id in wanted], len(rows)


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
    """Join the rows of all ranks, sorted by id; refuse anything but exactly the wanted ids, each once.

    Raises:
        BenchError: when rows are missing, repeated or not wanted.
    """
    rows = {row["id"]: row for part in parts for row in part}
    count = sum(len(part) for part in parts)
    if count != len(rows) or set(rows) != set(ids):
        raise BenchError(
            f"{what}: expected {len(set(ids))} rows, one per id; got {count} rows with {len(rows)} ids, "
            f"{len(set(ids) - set(rows))} missing and {len(set(rows) - set(ids))} not asked for"
        )
    return [rows[name] for name in sorted(rows)]


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the autocast context of a precision setting."""
    if precision.endswith("-mixed"):
        return torch.autocast(device.type, dtype=torch.bfloat16 if precision.startswith("bf16") else torch.float16)
    return nullcontext()


def to_device(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Move a batch's tensors."""
    return {name: value.to(device) if isinstance(value, Tensor) else value for name, value in batch.items()}


def _likelihood(
    objective: Objective, examples: Examples, codec: Codec, what: Evaluation, batch: list[Encoded]
) -> Iterator[dict[str, Any]]:
    """Negative log-likelihood of each target in nats, summed in float64."""
    states = objective.backbone.states(to_device(codec.train_batch(batch), objective.device))  # type: ignore[arg-type]
    sums = torch.zeros(len(batch), dtype=torch.float64, device=objective.device)
    for rows, nll in objective.nll(states):
        sums.index_add_(0, rows.start + rows.group, nll.double())
    for row, nll_sum in zip(batch, sums.tolist(), strict=True):
        yield {"id": row.id, "nll_sum": nll_sum, "n_tokens": len(row.target), "n_words": row.n_words,
               "n_bytes": row.n_bytes, "truncated": row.truncated}  # fmt: skip


def _probe(
    objective: Objective, examples: Examples, codec: Codec, what: Evaluation, batch: list[Encoded]
) -> Iterator[dict[str, Any]]:
    """Best next tokens after each prompt, by the head alone, by both (eq. 3) and by the cache alone."""
    before = len(codec.frame[0]) if codec.architecture == "encoder-decoder" else 0  # e.g. the <s> of BART's targets
    first = [replace(row, target=row.target[: before + 1]) for row in batch]
    states = objective.backbone.states(to_device(codec.train_batch(first), objective.device))  # type: ignore[arg-type]
    for rows in slices(states):
        ranked = {mode: ranking(scores) for mode, scores in objective.components(rows).items()}
        for at, (group, position) in enumerate(zip(rows.group.tolist(), rows.position.tolist(), strict=True)):
            row = batch[rows.start + group]
            if position - (0 if codec.architecture == "encoder-decoder" else len(row.source) - 1) != before:
                continue
            wanted = [first_pieces(word, codec) for word in examples[row.id].fields["words"]]
            yield {"id": row.id, **{mode: ids[at] for mode, ids in ranked.items()}, "wanted": wanted}


def ranking(scores: Tensor) -> list[list[int]]:
    """Return the best tokens of each row, best first, ties to the lower id; tokens with no score at all left out."""
    order = torch.sort(scores, dim=-1, descending=True, stable=True)
    values, ids = order.values[:, :TOP], order.indices[:, :TOP]
    return [row[:n] for row, n in zip(ids.tolist(), (values > -torch.inf).sum(1).tolist(), strict=True)]


def first_pieces(word: str, codec: Codec) -> list[int]:
    """Return the first token of a word with and without a leading space; finding either counts.

    Source: the released evaluation of Ambiguous Template (HistAlign section 5.3).
    """
    return sorted({ids[0] for ids in codec.ids([" " + word, word]) if ids})


def _generation(
    objective: Objective, examples: Examples, codec: Codec, what: Evaluation, batch: list[Encoded]
) -> Iterator[dict[str, Any]]:
    """Text and token ids of each continuation; samples depend on run seed and id only."""
    from bench.generation import generate

    assert what.decoding is not None
    seeds = [seed_of(what.seed, "sample", what.decoding.name, row.id) for row in batch]
    prompts = to_device(codec.prompt_batch(batch), objective.device)
    found = generate(objective, prompts, what.decoding, what.max_new_tokens, seeds)  # type: ignore[arg-type]
    for row, ids in zip(batch, found, strict=True):
        text = text_of(codec, ids)
        truth = true_continuation(codec, row, what.max_new_tokens) if what.references else {}
        yield {"id": row.id, "text": text, "token_ids": ids, **truth, "truncated": row.truncated}


def true_continuation(codec: Codec, row: Encoded, length: int) -> dict[str, Any]:
    """Return prompt and true continuation of a row as text, and the continuation's tokens."""
    ids = [int(token) for token in row.target[:length]]
    return {"prompt": text_of(codec, row.source), "reference": text_of(codec, ids), "reference_ids": ids}


def text_of(codec: Codec, ids: Tokens) -> str:
    """Return tokens as text, special ones left out."""
    return str(codec.tokenizer.decode([int(token) for token in ids], skip_special_tokens=True)).strip()


def _spectrum(
    objective: Objective, examples: Examples, codec: Codec, what: Evaluation, batch: list[Encoded]
) -> Iterator[dict[str, Any]]:
    """Singular values of the log-probability matrix A [N, V] over every position of the rows, in float64.

    The model runs in float64: from float32 states the rounding itself would have full rank.
    Source: HistAlign section 4.1 and Table 1 (500 examples).
    """
    exact = deepcopy(objective).double()
    full = [replace(row, source=row.source[:1], target=(*row.source[1:], *row.target)) for row in batch]
    if codec.architecture == "encoder-decoder":
        full = batch
    parts = []
    with torch.autocast(objective.device.type, enabled=False):
        for at in range(0, len(full), what.batch_size):
            piece = codec.train_batch(full[at : at + what.batch_size])
            states = exact.backbone.states(to_device(piece, objective.device))  # type: ignore[arg-type]
            parts += [exact.log_probs(rows) for rows in slices(states)]
        matrix = torch.cat(parts)
        values = singular_values(matrix)
    yield {"id": "singular_values", "shape": list(matrix.shape), "values": values.tolist(), "rows": len(batch)}
