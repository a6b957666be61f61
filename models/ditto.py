"""DITTO: a model sees one sentence repeated, and each repetition should be less likely than the one before.

Each optimiser step takes the loss on texts that repeat a span or, drawn at random, -log p(target).

Shapes: n positions of a slice, B rows, T positions of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from bench.base.options import Positive, Share
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.continuations import Written, draw, scoring_batch, special_tokens, states_without_targets, texts
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses, LossSum
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.token_losses import repetition_penalty
from bench.models.mle import MLE

FLOOR = 1e-20
"""Smallest argument of the logarithm, as in the released code: at most 46 nats."""


class Ditto(MLE):
    """Each optimiser step is either maximum likelihood or the repetition loss of texts that repeat one span.

    Source: Xu et al. 2022 (arXiv 2206.02369), read in the released code (repetetion_penalty_accum_loss.py) and its
    README: decay 0.5, half of the steps, 10,000 updates from a model of maximum likelihood. The body of the paper was
    not read; that the loss is a mean over penalised tokens is this suite's choice.

    A repeated sentence is here a span of a fixed length, since rows do not say where sentences end. On running text the
    span lies at a place that the step has drawn, the span before it is the prefix, and the text gets the length of its
    row. A row with a source repeats a span of its target, behind the source, up to the most target tokens of the task.
    Rows are averaged, and in each the tokens from the second repetition on.

    Variants: `paper` penalises every token of the second and later repetitions. `released` leaves out the first token
    of the second one. Not here: the released option `mse`, whose rows without a penalty are pushed to p = 0.

    Controls: `mle.continued`, and decoders that suppress repetition without training.

    Args:
        mix: share of the steps that are on repeated spans, 0 to 1.
        decay: what a probability should be as a share of that of one repetition before, 0 to 1.
        span: tokens of a span at most; a third of a running text at most, half of the most target tokens otherwise.
        variant: which tokens are penalised.
    """

    name = "ditto"
    equations = (
        r"\ell = -\sum_{n \ge 2} \sum_l \log\left(1 - |p(x_{n,l}) - \lambda\, \mathrm{sg}(p(x_{n-1,l}))|\right)",
    )
    version = 1
    parent = "mle"
    min_target_tokens = 8

    def __init__(
        self,
        backbone: Backbone,
        *,
        mix: Share = 0.5,
        decay: Share = 0.5,
        span: Positive = 16,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.mix, self.decay, self.span, self.variant = mix, decay, span, variant

    def step_loss(self, batch: Batch) -> LossSum:
        """Maximum likelihood or the repetition loss, as the step has drawn."""
        if draw(self.run_seed, "coin", batch["step"]) >= self.mix:
            return super().step_loss(batch)
        place = draw(self.run_seed, "span", batch["step"])
        spans = repeated_spans(self, batch, self.span, place)
        if not spans:
            return self.loss(states_without_targets(self, batch))
        states = self.states(scoring_batch(self, batch, [span.written for span in spans]))
        lags = lags_of(spans, states.targets, skipped=int(self.variant == "released"))
        is_penalised = (lags > 0).double()  # [B, T]
        mean = is_penalised / is_penalised.sum(1, keepdim=True).clamp_min(1)
        return self.repetition_loss(states, lags, mean * (batch["step_tokens"] / batch["step_rows"]))

    def repetition_loss(self, states: States, lags: Tensor, weights: Tensor) -> LossSum:
        """Sum the weighted penalties of texts.

        Args:
            states: of texts whose tokens are all targets.
            lags: [B, T] how many places before it the same token of the span stands, 0 where there is no penalty.
            weights: [B, T] of the penalties.
        """
        probabilities = (-self.target_nll(states)).exp().double()  # [B, T]
        before = probabilities.gather(1, torch.arange(lags.shape[1], device=lags.device) - lags)  # [B, T]

        def penalties(tokens: TokenSlice, head: Head) -> Losses:
            at_target, place = head.at(tokens.targets), (tokens.start + tokens.group, tokens.position)
            probability = (at_target - head.lse).exp()
            penalty = repetition_penalty(probability, before[place], self.decay, FLOOR)
            return weights[place].to(penalty.dtype) * penalty, {}

        penalised = replace(states, targets=states.targets.masked_fill(lags == 0, IGNORED))
        loss = self.summed(penalised, penalties)
        return replace(loss, terms={"repetition": loss.total.detach()})


def lags_of(spans: Sequence[RepeatedSpan], targets: Tensor, *, skipped: int = 0) -> Tensor:
    """Return how many places before each token the same token of its span stands, 0 where there is no penalty, [B, T].

    Args:
        spans: a text for each row.
        targets: [B, T] their tokens, IGNORED elsewhere.
        skipped: how many tokens of the second repetition have no penalty.
    """
    lags = torch.zeros_like(targets)
    flat: list[int] = []
    for text in spans:
        free = min(text.period + skipped, len(text.written.tokens))
        flat += [0] * free + [text.period] * (len(text.written.tokens) - free)
    lags[targets != IGNORED] = lags.new_tensor(flat)
    return lags


@dataclass(frozen=True)
class RepeatedSpan:
    """A text that repeats a span of `period` tokens, behind a prompt."""

    written: Written
    period: int


def repeated_spans(objective: Objective, batch: Batch, most: int, place: float) -> list[RepeatedSpan]:
    """Make of each row of a batch a text that repeats a span of it, at least twice; of a row that is too short none.

    Args:
        objective: whose `run_context` has the most target tokens.
        batch: a training batch.
        most: tokens of a span.
        place: in [0, 1), where in a row the span lies.
    """
    made = []
    for row, front, text, has_source in split_rows(objective, batch):
        if has_source:
            length = objective.run_context.max_target
            period = min(most, length // 2, len(text))
            start = int(place * (len(text) - period + 1))
            prefix = front
        else:
            period = min(most, len(text) // 3)
            length = len(text) - period
            start = period + int(place * (len(text) - 2 * period + 1))
            prefix = front + text[start - period : start]
        if period:
            span = text[start : start + period]
            made.append(RepeatedSpan(Written(row, prefix, (span * (length // period + 1))[:length]), period))
    return made


def split_rows(objective: Objective, batch: Batch) -> Iterator[tuple[int, list[int], list[int], bool]]:
    """Yield the rows of a batch: index, tokens before the text, text without its end token, whether it has a source."""
    ends = special_tokens(objective.backbone, "eos")
    if objective.backbone.architecture == "encoder-decoder":
        for row, labels in enumerate(batch["labels"].tolist()):
            yield row, [], [token for token in labels if token != IGNORED and token not in ends], True
        return
    labels = batch["labels"].tolist()
    for row, tokens, start in texts(batch):
        text = [token for token in labels[row] if token != IGNORED]  # a chat has more than one answer
        if start > 1 and text[-1] in ends:
            text = text[:-1]
        yield row, tokens[:start], text, start > 1
