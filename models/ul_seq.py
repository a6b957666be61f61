"""UL-seq: what the model itself repeats is made less likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bench.base.seeds import seed_of
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.chunks import LossSum, summed, summed_by_head
from bench.models.core.continuations import Cut, Written, scoring_batch, without_dropout, write
from bench.models.core.head import Head, PlainHead
from bench.models.core.objective import SLICE, Objective
from bench.models.core.states import IGNORED, Rows, States
from bench.models.functional.unlikelihood import repeated, unlikelihood

FLOOR = 1e-20
"""Smallest 1 - p of a repeated token, as in the released code: at most 46 nats."""


class ULSeq(Objective):
    """Each optimiser step is either maximum likelihood or the unlikelihood of what the model repeats.

    Source: Welleck et al. 2020, section 5.2: greedy continuations of prompts from training text; every token of a
    4-gram that was there before in its continuation is a negative candidate at its own place. Fine-tuned from a model
    of maximum likelihood for 1,500 steps, half of them on sequences (section 6; F2-Softmax, B.2).

        mean over rows of (sum over repeated tokens of -log(1 - p) / all tokens the model wrote for the row)

    That is the paper's mean over all written tokens when rows get equally many, as they do on running text. The mean
    over rows needs no number that another rank would have to tell.

    Which loss a step takes and where a prompt lies depend on seed and step alone, so ranks and micro-batches agree.
    Continuations are written without gradient and with a cache; one pass then scores them. Both are without dropout. An
    end token ends a continuation and is not one of its tokens. Rows that repeat nothing cost no second pass.

    ==================== ==================================== ====================================================
    on running text      `paper`                              `released`
    ==================== ==================================== ====================================================
    prompts              one for each row, at a drawn place   as many of the row's first pieces of 50 tokens as it
                                                              has stretches of 150 tokens, at least one
    last n-gram          looked at                            missed
    p that rounds to 1   gradient p at the token's logit      no gradient (1 - p is cut off at 1e-20)
    ==================== ==================================== ====================================================

    F2-Softmax's version of the released code takes pieces of the first row of a batch only, and leaves dropout off for
    good after its first sequence step; neither is here. Text shorter than prompt and continuation is cut in thirds, one
    for the prompt. A row with a source is continued from it, to the end token or the task's most target tokens, which
    the paper did not try.

    Args:
        backbone: any.
        mix: share of the steps that are on sequences.
        prefix: tokens of a prompt on running text.
        continuation: tokens written behind it.
        ngram: length of the n-grams that may not come twice.
        variant: see above.

    Raises:
        UsageError: for a share outside [0, 1] or a length below 1.
    """

    name: ClassVar[str] = "ul_seq"
    paper: ClassVar[str] = "Welleck et al. 2020"
    parent: ClassVar[str] = "mle"
    min_target_tokens: ClassVar[int] = 8

    def __init__(
        self,
        backbone: Backbone,
        *,
        mix: float = 0.5,
        prefix: int = 50,
        continuation: int = 100,
        ngram: int = 4,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.sequences = Sequences(mix, prefix, continuation, ngram, variant)

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target: the steps that are not on sequences."""
        return head.lse - head.at(rows.targets), {}

    def step_loss(self, batch: Batch) -> LossSum:
        """Maximum likelihood or the sequence loss, as the step has drawn."""
        if self.sequences.turn(self.run_seed, batch["step"]):
            return sequence_loss(self, batch, self.sequences)
        return super().step_loss(batch)


@dataclass(frozen=True)
class Sequences:
    """The settings of a sequence loss, as `ULSeq` explains them.

    Raises:
        UsageError: for a share outside [0, 1] or a length below 1.
    """

    mix: float = 0.5
    prefix: int = 50
    continuation: int = 100
    ngram: int = 4
    variant: Literal["paper", "released"] = "paper"

    def __post_init__(self) -> None:
        if not 0 <= self.mix <= 1:
            raise UsageError(f"mix is the share of steps on sequences, from 0 to 1, not {self.mix}")
        for name in ("prefix", "continuation", "ngram"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is a number of tokens and at least 1, not {getattr(self, name)}")

    def turn(self, seed: int, step: int) -> bool:
        """Return whether a step is on sequences."""
        return draw(seed, "coin", step) < self.mix

    @property
    def cut(self) -> Cut:
        """How running text is cut."""
        return Cut(self.prefix, self.continuation, "one" if self.variant == "paper" else "all")


def draw(seed: int, purpose: str, step: int) -> float:
    """Return a number in [0, 1) that is the same on all ranks and in all micro-batches of a step."""
    return seed_of(seed, purpose, step) / 2**63


def sequence_loss(objective: Objective, batch: Batch, settings: Sequences) -> LossSum:
    """Unlikelihood of what an objective's model repeats, as a share of the mean over the rows of the whole step.

    It is scaled so that dividing by the target tokens of the step gives the mean over its rows.

    Args:
        objective: whose model writes and is scored.
        batch: one micro-batch, with `step`, `step_rows` and `step_tokens`.
        settings: of the loss.
    """
    with without_dropout(objective):
        written = write(objective, batch, settings.cut, draw(objective.run_seed, "prefix", batch["step"]))
        scored, shares = repeats(written, settings.ngram, settings.variant == "paper")
        states, weights = states_of(objective, batch, scored, shares)
    scale = batch["step_tokens"] / batch["step_rows"]
    clamped = settings.variant == "released"

    def losses(rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        each = unlikelihood(head.at(rows.targets), head.lse, FLOOR, clamped=clamped)
        return scale * weights[rows.start + rows.group, rows.position].to(each.dtype) * each, {}

    head = objective.backbone.linear_head() if states.copying is None else None
    if head is not None:
        found = summed_by_head(states, losses, head, objective.own_parameters(), SLICE)
    else:
        plain = lambda rows: losses(rows, PlainHead(objective.logits(rows)))  # noqa: E731
        found = summed(states, plain, objective.head_parameters(), SLICE)
    return replace(found, terms={"repetition": found.total.detach()})


def repeats(written: Sequence[Written], ngram: int, last: bool) -> tuple[list[Written], list[list[float]]]:
    """Return the continuations that repeat something, and the weight of each of their tokens.

    A repeated token weighs one over the number of tokens written for its row, any other 0.
    """
    lengths: dict[int, int] = {}
    for one in written:
        lengths[one.row] = lengths.get(one.row, 0) + len(one.tokens)
    masks = [repeated(one.tokens, ngram, last=last) for one in written]
    kept = [(one, mask) for one, mask in zip(written, masks, strict=True) if any(mask)]
    return [one for one, _ in kept], [[bad / lengths[one.row] for bad in mask] for one, mask in kept]


def states_of(
    objective: Objective, batch: Batch, scored: Sequence[Written], shares: Sequence[Sequence[float]]
) -> tuple[States, Tensor]:
    """Run the backbone over continuations; keep as targets the tokens with a weight, and return all weights, [B, T].

    Where nothing is scored it runs over one row of the batch without a target: a zero whose graph reaches every
    parameter, since all ranks wait for each other's gradients.
    """
    if not scored:
        one = {name: value[:1] for name, value in batch.items() if isinstance(value, Tensor)}
        states = objective.backbone.states(one)  # type: ignore[arg-type]
        weights = torch.zeros_like(states.targets, dtype=torch.float64)
    else:
        states = objective.backbone.states(scoring_batch(objective, batch, scored))
        weights = torch.zeros_like(states.targets, dtype=torch.float64)
        flat = [share for row in shares for share in row]
        weights[states.targets != IGNORED] = torch.tensor(flat, dtype=torch.float64, device=weights.device)
    return replace(states, targets=states.targets.masked_fill(weights == 0, IGNORED)), weights
