"""Continuations: what a model writes by itself from training text, and the batch that scores it.

A sequence-level loss is made in two passes: continuations without gradient and with a cache, then one pass over prompt
and continuation with gradient.

Shapes: B batch rows, T tokens of a row.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bench.base.seeds import seed_of
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States, TokenSlice, slices


@dataclass(frozen=True)
class Cut:
    """How prompts are cut from text that has no source.

    Args:
        prefix: tokens of a prompt.
        continuation: tokens written behind it.
        pieces: `one` prompt from a drawn place of each row; `all` the pieces of `prefix` tokens that a row begins with,
            as many as there would be rows of prompt and continuation, at least one.
    """

    prefix: int = 50
    continuation: int = 100
    pieces: Literal["one", "all"] = "one"

    def of(self, n_tokens: int, place: float) -> tuple[list[tuple[int, int]], int]:
        """Return prompts as (start, stop), and the length of a continuation, for a text of so many tokens.

        A short text gives a third of its tokens to the prompt and two thirds to the continuation.

        Args:
            n_tokens: of the text, without a start token.
            place: in [0, 1), where a drawn prompt lies.

        >>> Cut().of(320, 0.5), Cut().of(30, 0.5)
        (([(135, 185)], 100), ([(10, 20)], 20))
        >>> Cut(pieces="all").of(320, 0.5), Cut(pieces="all").of(30, 0.5)
        (([(0, 50), (50, 100)], 100), ([(0, 10)], 20))
        """
        prefix = min(self.prefix, n_tokens // 3)
        continuation = min(self.continuation, 2 * n_tokens // 3)
        if self.pieces == "one":
            starts = [int(place * (n_tokens - prefix + 1))]
        else:
            n_pieces = max(1, n_tokens // (self.prefix + self.continuation))
            starts = [prefix * piece for piece in range(n_pieces)]
        return [(start, start + prefix) for start in starts], continuation


@dataclass(frozen=True)
class Written:
    """A continuation that a model wrote."""

    row: int  # of the batch
    prompt: list[int]  # empty for an encoder-decoder, whose prompt is the source
    tokens: list[int]


def write(
    objective: Objective,
    batch: Batch,
    cut: Cut = Cut(),
    place: float = 0.0,
    *,
    decoding: str = "greedy",
) -> list[Written]:
    """Continue each row of a training batch; a row may have several prompts or, if it is too short, none.

    A row whose loss leaves out more than a start token has a source, and the source is its prompt; the continuation
    goes to the end token or to the most target tokens of the task. Any other row is running text, cut by `cut`; its
    prompts begin with the row's start token. An encoder-decoder reads its source and writes from the start.

    Args:
        objective: whose `run_context` has `max_target` and `continue_prompts`.
        batch: a training batch.
        cut: how running text is cut.
        place: where a drawn prompt lies, in [0, 1).
        decoding: as typed after --decode, e.g. `sample` or `nucleus=0.9`. What is drawn for a prompt is a function of
            the run's seed, of `batch["step"]` and of the prompt, not of the other rows.

    Raises:
        UsageError: when nothing can continue prompts.
    """
    context = objective.run_context
    continued = partial(_continued, objective, decoding, batch.get("step", 0))
    if objective.backbone.architecture == "encoder-decoder":
        source: Any = {name: value for name, value in batch.items() if isinstance(value, Tensor) and name != "labels"}
        continuations = continued(source, context.max_target)
        return [Written(row, [], tokens) for row, tokens in enumerate(continuations)]
    prompts: list[tuple[int, list[int], int]] = []  # row, tokens, and most new tokens
    for row, text, start in texts(batch):
        if start > 1:
            prompts.append((row, text[:start], context.max_target))
            continue
        places, most = cut.of(len(text) - start, place)
        cuts = [text[:start] + text[start + left : start + right] for left, right in places]
        prompts += [(row, tokens, most) for tokens in cuts if tokens and most]
    if not prompts:
        return []
    ids = prompt_batch([tokens for _, tokens, _ in prompts], batch["input_ids"])
    continuations = continued(ids, max(most for _, _, most in prompts))
    return [Written(row, tokens, new[:most]) for (row, tokens, most), new in zip(prompts, continuations, strict=True)]


def _continued(objective: Objective, decoding: str, step: int, prompts: Batch, most: int) -> list[list[int]]:
    """Continue prompts, or sources; the step seeds each row's draws together with its prompt."""
    continue_prompts = objective.run_context.continue_prompts
    if continue_prompts is None:
        raise UsageError(
            f"{objective.name} continues prompts: make it with bench.make, or call "
            f"objective.setup_run(RunContext(continue_prompts=...))"
        )
    if decoding == "greedy":
        return continue_prompts(prompts, most)
    seeds = []
    for ids, mask in zip(prompts["input_ids"].tolist(), prompts["attention_mask"].tolist(), strict=True):
        tokens = [token for token, is_real in zip(ids, mask, strict=True) if is_real]
        seeds.append(seed_of(objective.run_seed, "continuation", step, 0, *tokens))  # with 0, as in stored trainings
    return continue_prompts(prompts, most, decoding, seeds)


def texts(batch: Batch) -> Iterator[tuple[int, list[int], int]]:
    """Yield the rows of a decoder-only batch that have a target: index, real tokens, and where the targets begin."""
    columns = (batch["input_ids"].tolist(), batch["attention_mask"].tolist(), batch["labels"].tolist())
    for row, (ids, mask, labels) in enumerate(zip(*columns, strict=True)):
        real = [position for position, is_real in enumerate(mask) if is_real]
        has_target = [labels[position] != IGNORED for position in real]
        if any(has_target):
            yield row, [ids[position] for position in real], has_target.index(True)


def prompt_batch(rows: Sequence[Sequence[int]], ids: Tensor) -> Any:
    """Return prompts that end at the last column, as generation reads them, in the dtype and on the device of `ids`."""
    return {
        "input_ids": padded(rows, 0, ids, left=True),
        "attention_mask": padded([[1] * len(row) for row in rows], 0, ids, left=True),
    }


def draw(seed: int, purpose: str, step: int) -> float:
    """Return a number in [0, 1) that is the same on all ranks and in all micro-batches of a step."""
    return seed_of(seed, purpose, step) / 2**63


def states_without_targets(objective: Objective, batch: Batch) -> States:
    """Return the states of one row of a batch without a target, for a step whose loss has nothing to score.

    Their loss is a zero whose graph reaches every parameter: all ranks wait for each other's gradients.
    """
    first_row: Any = {name: value[:1] for name, value in batch.items() if isinstance(value, Tensor)}
    states = objective.states(first_row)
    return replace(states, targets=torch.full_like(states.targets, IGNORED))


def scoring_batch(objective: Objective, batch: Batch, written: Sequence[Written]) -> Batch:
    """Return the batch whose targets are the tokens of some continuations, one row each, in their order.

    Args:
        objective: whose backbone will read it.
        batch: what was continued.
        written: at least one continuation.
    """
    batch_ids = batch["input_ids"]
    label_rows = [[IGNORED] * len(continuation.prompt) + continuation.tokens for continuation in written]
    labels = padded(label_rows, IGNORED, batch_ids)
    if objective.backbone.architecture == "encoder-decoder":
        rows = torch.tensor([continuation.row for continuation in written], device=batch_ids.device)
        sources: Any = {name: value[rows] for name, value in batch.items() if isinstance(value, Tensor)}
        return {**sources, "labels": labels}  # type: ignore[typeddict-item]
    ids = [continuation.prompt + continuation.tokens for continuation in written]
    return {
        "input_ids": padded(ids, 0, batch_ids),
        "attention_mask": padded([[1] * len(row) for row in ids], 0, batch_ids),
        "labels": labels,
    }


def padded(rows: Sequence[Sequence[int]], fill: int, ids: Tensor, *, left: bool = False) -> Tensor:
    """Stack rows of unequal length, [B, T] with T the longest; dtype and device are those of `ids`."""
    longest = max(len(row) for row in rows)
    fillings = [[fill] * (longest - len(row)) for row in rows]
    return ids.new_tensor([[*gap, *row] if left else [*row, *gap] for row, gap in zip(rows, fillings, strict=True)])


@contextmanager
def without_dropout(module: nn.Module) -> Iterator[None]:
    """Turn dropout off: every part is put in evaluation mode, and afterwards back in the mode it had.

    A recurrent layer of torch stays in training mode with a dropout of 0: cuDNN refuses a backward pass through such a
    layer in evaluation mode.
    """
    modes = [(part, part.training) for part in module.modules()]
    rates = [(part, part.dropout) for part in module.modules() if isinstance(part, nn.RNNBase)]
    try:
        module.eval()
        for recurrent, _ in rates:
            recurrent.train()
            recurrent.dropout = 0.0
        yield
    finally:
        for part, training in modes:
            part.training = training
        for recurrent, rate in rates:
            recurrent.dropout = rate


MOST_TARGETS = 50_000
"""Targets that are enough to choose by; the batch that reaches them is read whole."""


def rows_from_everywhere(objective: Objective, batches: Sequence[Batch], most: int) -> Iterator[TokenSlice]:
    """Yield slices of whole batches, in an order that is drawn once for all, until there are `most` targets.

    Args:
        objective: whose states they are.
        batches: of a split, each collated when it is read.
        most: targets that are enough.
    """
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(0)).tolist()
    n_targets = 0
    for number in order:
        for tokens in slices(objective.states(batches[number]), objective.slice_size):
            yield tokens
            n_targets += len(tokens)
        if n_targets >= most:
            return


def special_tokens(backbone: Backbone, kind: Literal["bos", "eos", "pad"]) -> tuple[int, ...]:
    """Return the ids of the start, end or padding tokens.

    Args:
        backbone: any; a model without a configuration has no special tokens.
        kind: start (`bos`), end (`eos`) or padding (`pad`).

    Returns:
        No id, one id, or several: some models have more than one end token. The tokenizer's, with which texts end in
        training, is one, whatever the model's configuration has. Many pretrained models pad with an end token; it is
        an end token here, and there is no padding token.
    """
    ids = getattr(getattr(backbone.model, "config", None), f"{kind}_token_id", None)
    several = list(ids) if isinstance(ids, list | tuple) else [ids]
    if kind == "eos":
        several.append(getattr(backbone.tokenizer, "eos_token_id", None))
    found = tuple(dict.fromkeys(int(token) for token in several if token is not None))
    if kind != "pad":
        return found
    ends = special_tokens(backbone, "eos")
    return tuple(token for token in found if token not in ends)
