"""Evaluation: a trained model to rows. Nothing is averaged here, and ranks never talk to each other.

Each rank takes whole batches in turn and returns their rows; `merge` checks that they are exactly the
required rows. So any number of processes gives the same rows, also more processes than rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bench.base.autocast import autocast
from bench.base.seeds import seed_of
from bench.cells.forgetting import FORGETTING, MAX_TOKENS, general_text
from bench.cells.required import Evaluation
from bench.errors import BenchError
from bench.launch.signals import between_steps
from bench.models.core.cpu_copy import moved
from bench.models.core.objective import Objective
from bench.models.core.states import States, TokenSlice, slices
from bench.store.partial_rows import PartialRows
from bench.tasks.core.example import Example
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import chosen, evaluation_batches
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.encode.token_store import Tokens
from bench.tasks.text import Text

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
        kept: finished batches of an earlier start; new ones are added to it.
        start: the pretrained model before fine-tuning, which forgetting is measured against.
        shared: from `shared_states`, for all evaluations of a model.

    Raises:
        Stopped: between two batches, when a signal came.
    """
    groups = None
    if what.kind == FORGETTING:  # passages are read whole, however short the task's own rows are
        codec = Codec(codec.tokenizer, codec.architecture, MAX_TOKENS, MAX_TOKENS)
    examples, encoded = required_rows(task, codec, what, getattr(objective, "equal_targets", True))
    if what.references:
        from bench.metrics.diversity.frequency_groups import group_of_tokens

        groups = group_of_tokens(task.target_counts(codec, len(codec.tokenizer)))  # of the training text
    context = Context(examples, codec, what, groups, start, shared)
    # a spectrum is one row: the singular values of all rows together
    size = max(1, len(encoded)) if what.kind == "spectrum" else what.batch_size
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
    """Return the examples of an evaluation by id, which are empty for rows cut from running text, and its rows."""
    if what.cut is not None:
        return {}, cut_rows(task, codec, what)[0]
    if what.kind == FORGETTING:
        return {}, Text().encode(general_text(), codec)
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
    """Join the rows of all ranks, sorted by id; refuse anything but exactly the required ids, each once."""
    rows = {row["id"]: row for part in parts for row in part}
    count = sum(len(part) for part in parts)
    if count != len(rows) or set(rows) != set(ids):
        raise BenchError(
            f"{what}: expected {len(set(ids))} rows, one per id; got {count} rows with {len(rows)} ids, "
            f"{len(set(ids) - set(rows))} missing and {len(set(rows) - set(ids))} not required"
        )
    return [rows[name] for name in sorted(rows)]


# Evaluators ---------------------------------------------------------------------------------------------------------


TOP = 25
"""Tokens kept of each ranking of a probe row."""

Examples = Mapping[str, Example]
SharedStates = dict[tuple[tuple[str, int, int], ...], States]
"""States of batches whose targets are one token, which likelihood and probe both read: the first of them to run stores
them, and the other takes them."""
MAX_SHARED_ROWS = 5000
"""Rows whose states are held in memory for a second evaluation: 0.3 GB at a width of 576 and 30 tokens."""


@dataclass(frozen=True)
class Context:
    """What the predictions of one evaluation are made from, apart from the model and a batch.

    Args:
        examples: by id; none where rows are cut from running text.
        codec: of the backbone.
        what: the evaluation.
        groups: [V] frequency group of each token id, where rows of texts count them.
        start: the pretrained model before fine-tuning, for `forgetting`.
        shared: states for another evaluation of the same rows; None where there is none.
    """

    examples: Examples
    codec: Codec
    what: Evaluation
    groups: Integers | None = None
    start: Objective | None = None
    shared: SharedStates | None = None

    def states(self, objective: Objective, batch: list[Encoded]) -> States:
        """Return the states of a batch: those of an evaluation of the same rows, or new ones."""
        key = tuple((row.id, len(row.source), len(row.target)) for row in batch)
        if self.shared is not None and key in self.shared:
            return self.shared.pop(key)
        states = objective.states(to_device(self.codec.train_batch(batch), objective.device))  # type: ignore[arg-type]
        if self.shared is not None and all(len(row.target) == 1 for row in batch):
            self.shared[key] = states
        return states


def shared_states(evaluations: Sequence[Evaluation]) -> SharedStates | None:
    """Return where likelihood and probe share the states of their rows; None unless both read the same rows."""
    ids = [what.ids for what in evaluations if what.kind in ("likelihood", "probe")]
    if len(ids) == 2 and ids[0] == ids[1] and len(ids[0]) <= MAX_SHARED_ROWS:
        return {}
    return None


def likelihood(objective: Objective, context: Context, batch: list[Encoded]) -> Iterator[dict[str, Any]]:
    """Negative log-likelihood of each target in nats, summed in float64, and what the memory has of it.

    `n_cached` counts the tokens that are in the memory, and `n_cache_hits` those that its most similar entry holds.
    """
    states = context.states(objective, batch)
    sums = torch.zeros(len(batch), dtype=torch.float64, device=objective.device)
    seen = torch.zeros(2, len(batch), dtype=torch.long, device=objective.device)
    for tokens, nll in objective.nll(states):
        at = tokens.start + tokens.group
        sums.index_add_(0, at, nll.double())
        seen.index_add_(1, at, torch.stack([tokens.positive.any(1), hits(tokens)]).long())
    for row, nll_sum, cached, hit in zip(batch, sums.tolist(), *seen.tolist(), strict=True):
        yield {
            "id": row.id,
            "nll_sum": finite(nll_sum, row),
            "n_tokens": len(row.target),
            "n_words": row.n_words,
            "n_bytes": row.n_bytes,
            "n_cached": cached,
            "n_cache_hits": hit,
            "truncated": row.truncated,
        }


def finite(value: float, row: Encoded, what: str = "likelihood") -> float:
    """Return a sum of a row, or refuse one that cannot be stored."""
    if not math.isfinite(value):
        raise BenchError(
            f"the {what} of row '{row.id}' is {value}, expected a finite number; an objective that gives tokens the "
            f"probability 0 should return `nll` and `log_probs` of a smoothed distribution, as models/entmax.py does"
        )
    return value


def hits(tokens: TokenSlice) -> Tensor:
    """Return at which positions the memory's most similar readable entry holds the target, [n] bool; ties to the last.

    Where nothing is readable there is no hit.
    """
    if not tokens.memory.shape[1]:
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.hidden.device)
    scores = tokens.similarity().masked_fill(~tokens.readable, -torch.inf)
    last = scores.shape[1] - 1 - scores.flip(1).argmax(1)
    return tokens.positive.gather(1, last[:, None]).squeeze(1)


def probe(objective: Objective, context: Context, batch: list[Encoded]) -> Iterator[dict[str, Any]]:
    """Best next tokens after each prompt, by the head alone, by the cache alone and by the whole model."""
    codec = context.codec
    reads_source = codec.architecture == "encoder-decoder"
    before = len(codec.frame[0]) if reads_source else 0  # e.g. the <s> of BART's targets
    first = [replace(row, target=row.target[: before + 1]) for row in batch]
    states = context.states(objective, first)
    for tokens in slices(states):
        ranked = {mode: ranking(scores) for mode, scores in objective.components(tokens).items()}
        for at, (group, position) in enumerate(zip(tokens.group.tolist(), tokens.position.tolist(), strict=True)):
            row = batch[tokens.start + group]
            if not reads_source:
                position -= len(row.source) - 1
            if position != before:
                continue
            wanted = [first_pieces(word, codec) for word in context.examples[row.id].fields["words"]]
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


def generation(objective: Objective, context: Context, batch: list[Encoded]) -> Iterator[dict[str, Any]]:
    """Text and token ids of each continuation; samples are seeded by the id and the seed of sampling or the run."""
    from bench.generation.generation import generate

    codec, what = context.codec, context.what
    assert what.decoding is not None
    seed = what.seed if what.sampling_seed is None else what.sampling_seed
    seeds = [seed_of(seed, "sample", what.decoding.text, row.id) for row in batch]
    prompts = to_device(codec.prompt_batch(batch), objective.device)
    written = generate(objective, prompts, what.decoding, what.max_new_tokens, seeds)  # type: ignore[arg-type]
    for row, ids in zip(batch, written, strict=True):
        made = {"id": row.id, "text": text_of(codec, ids), "token_ids": ids, "truncated": row.truncated}
        if what.references:
            made |= true_continuation(context, row, ids)
        yield made


def true_continuation(context: Context, row: Encoded, written: Tokens) -> dict[str, Any]:
    """Return prompt and true continuation as text, the latter's tokens, and how often both are of each frequency group.

    The frequency groups of F2-Softmax section 4.3 are of the tokens of the training text.
    """
    ids = [int(token) for token in row.target[: context.what.max_new_tokens]]
    made: dict[str, Any] = {
        "prompt": text_of(context.codec, row.source),
        "reference": text_of(context.codec, ids),
        "reference_ids": ids,
    }
    if context.groups is not None:
        made["groups"] = group_counts(context.groups, written)
        made["reference_groups"] = group_counts(context.groups, ids)
    return made


def group_counts(groups: Integers, tokens: Tokens) -> list[int]:
    """Return how many tokens are of each frequency group."""
    from bench.metrics.diversity.frequency_groups import GROUPS

    counts: list[int] = np.bincount(groups[np.asarray(tokens, np.int64)], minlength=len(GROUPS)).tolist()
    return counts


def text_of(codec: Codec, ids: Tokens) -> str:
    """Return tokens as text, special ones left out."""
    return str(codec.tokenizer.decode([int(token) for token in ids], skip_special_tokens=True)).strip()


def spectrum(objective: Objective, context: Context, batch: list[Encoded]) -> Iterator[dict[str, Any]]:
    """Singular values of the log-probability matrix A [N, V] over every position of the rows, in float64.

    The model runs in float64: from float32 states the rounding itself would have full rank.
    Source: HistAlign section 4.1 and Table 1 (500 examples).
    """
    codec, what = context.codec, context.what
    exact = deepcopy(objective).double()
    full = batch
    if codec.architecture == "decoder-only":  # every position of the row, the source's too
        full = [replace(row, source=row.source[:1], target=(*row.source[1:], *row.target)) for row in batch]
    batches = [codec.train_batch(full[at : at + what.batch_size]) for at in range(0, len(full), what.batch_size)]
    with torch.autocast(objective.device.type, enabled=False):
        of_batches = (exact.states(to_device(batch, objective.device)) for batch in batches)  # type: ignore[arg-type]
        shape, values = spectrum_of(exact, [rows for states in of_batches for rows in slices(states)])
    yield {"id": "singular_values", "shape": list(shape), "values": values.tolist(), "rows": len(batch)}


def spectrum_of(objective: Objective, slices: list[TokenSlice]) -> tuple[tuple[int, int], Tensor]:
    """Return the shape [N, V] of the log-probabilities at all positions of the slices, and their singular values.

    Where the distribution is the softmax of a linear head, log P = H W^T + b - lse: a product of two thin matrices,
    whose singular values take a fraction of the time.
    """
    from bench.metrics.likelihood.matrix_rank import singular_values, singular_values_of_product

    head = objective.backbone.linear_head()
    n, v = sum(map(len, slices)), objective.backbone.vocabulary_size
    kind = type(objective)
    is_softmax = kind.log_probs is Objective.log_probs and kind.logits is Objective.logits and slices[0].copying is None
    if head is None or not is_softmax or objective.backbone.width + 2 > min(n, v):
        matrix = torch.cat([objective.log_probs(tokens) for tokens in slices])
        return (n, v), singular_values(matrix)
    hidden = torch.cat([tokens.hidden for tokens in slices])
    lse = torch.cat([torch.logsumexp(objective.logits(tokens), dim=1) for tokens in slices])
    bias = hidden.new_zeros(v)
    for part in (head.bias, head.offset):
        if part is not None:
            bias = bias + part
    left = torch.cat([hidden, torch.ones_like(lse)[:, None], lse[:, None]], dim=1)
    right = torch.cat([head.weight, bias[:, None], -torch.ones_like(bias)[:, None]], dim=1)
    return (n, v), singular_values_of_product(left, right)


def forgetting(objective: Objective, context: Context, batch: list[Encoded]) -> Iterator[dict[str, Any]]:
    """Negative log-likelihood of each passage, and KL(P_start || P) at its positions, summed in float64, in nats."""
    assert context.start is not None
    inputs = to_device(context.codec.train_batch(batch), objective.device)
    states, before = objective.states(inputs), context.start.states(inputs)  # type: ignore[arg-type]
    sums = torch.zeros(2, len(batch), dtype=torch.float64, device=objective.device)
    for tokens, start_rows in zip(slices(states), slices(before), strict=True):
        log_probs, start = objective.log_probs(tokens).double(), context.start.log_probs(start_rows).double()
        nll = -log_probs.gather(1, tokens.targets[:, None]).squeeze(1)
        divergence = torch.nn.functional.kl_div(log_probs, start, reduction="none", log_target=True).sum(1)
        sums.index_add_(1, tokens.start + tokens.group, torch.stack([nll, divergence]))
    for row, nll_sum, kl_sum in zip(batch, *sums.tolist(), strict=True):
        sums_of_row = {"nll_sum": finite(nll_sum, row), "kl_sum": finite(kl_sum, row, "divergence")}
        yield {"id": row.id, **sums_of_row, "n_tokens": len(row.target)}


def to_device(batch: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Move a batch's tensors; it keeps the arrays they were made of."""
    tensors = {name: value.to(device) for name, value in batch.items() if isinstance(value, Tensor)}
    return moved(batch, {**batch, **tensors})


EVALUATORS: dict[str, Callable[[Objective, Context, list[Encoded]], Iterator[dict[str, Any]]]] = {
    "likelihood": likelihood,
    "probe": probe,
    "generation": generation,
    "spectrum": spectrum,
    "forgetting": forgetting,
}
