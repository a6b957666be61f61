"""UL-seq and UL-token+seq: what the model itself repeats is made less likely.

Each optimiser step takes the loss on what the model writes for a row by greedy decoding or, drawn at random, another
one: maximum likelihood, or that of `ul_token`. Texts are written in `bench.models.core.continuations`, repeats are
found in `bench.models.functional.unlikelihood`.

Shapes: n positions of a slice, B rows, T positions of a row.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from bench.base.options import Amount, Positive, Share
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.continuations import (
    Cut,
    Written,
    draw,
    scoring_batch,
    states_without_targets,
    without_dropout,
    write,
)
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses, LossSum
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.unlikelihood import repeated, unlikelihood
from bench.models.mle import MLE
from bench.models.ul_token import token_losses

FLOOR = 1e-20
"""Smallest 1 - p of a repeated token, as in the released code: at most 46 nats."""


class ULSeq(MLE):
    """Each optimiser step is either maximum likelihood or the unlikelihood of what the model repeats.

    Source: Welleck et al. 2020, section 5.2: greedy continuations of prompts from training text; every token of a
    4-gram that has occurred before in its continuation is a negative candidate at its own position. Fine-tuned from a
    model of maximum likelihood for 1,500 steps, half of them on sequences (section 6; F2-Softmax, B.2).

    The paper takes the mean over all written tokens. The mean over rows is the same where rows get equally many tokens,
    as they do on running text, and it needs no number from another rank.

    Which loss a step takes and where a prompt lies depend on seed and step alone, so ranks and micro-batches agree.
    Continuations are written without gradient and with a cache; one pass then scores them. Both are without dropout. An
    end token ends a continuation and does not belong to it. Rows that repeat nothing are not scored.

    | on running text | `paper` | `released` |
    |---|---|---|
    | prompts | one for each row, at a drawn place | the row's first 50-token pieces, one for each 150, at least one |
    | last n-gram | counts | is left out |
    | p that rounds to 1 | gradient p at the token's logit | no gradient (1 - p is cut off at 1e-20) |

    F2-Softmax's version of the released code takes pieces of the first row of a batch only, and leaves dropout off for
    good after its first sequence step; neither is here. Of a text shorter than prompt and continuation a third is the
    prompt. A row with a source is continued from it, to the end token or the task's most target tokens, which the paper
    did not try.

    Args:
        mix: share of the steps that are on sequences, 0 to 1.
        prefix: tokens of a prompt on running text; `continuation` and `ngram` too are at least 1.
        continuation: tokens written behind it.
        ngram: length of the n-grams that may not occur twice.
        variant: see the table above.
    """

    name = "ul_seq"
    equations = (
        r"\ell(y) = \frac{1}{|y|} \sum_{t \in R(y)} -\log(1 - p(y_t)), \quad R(y) \text{ where tokens are repeated}",
    )
    parent = "mle"
    min_target_tokens = 8

    def __init__(
        self,
        backbone: Backbone,
        *,
        mix: Share = 0.5,
        prefix: Positive = 50,
        continuation: Positive = 100,
        ngram: Positive = 4,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.mix, self.ngram, self.variant = mix, ngram, variant
        self.cut = Cut(prefix, continuation, "one" if variant == "paper" else "all")

    def step_loss(self, batch: Batch) -> LossSum:
        """The loss of tokens or the sequence loss, as the step has drawn."""
        if draw(self.run_seed, "coin", batch["step"]) < self.mix:
            return self.sequence_loss(batch)
        return super().step_loss(batch)

    def sequence_loss(self, batch: Batch) -> LossSum:
        """Unlikelihood of what the model repeats; over the target tokens of the step, it is the mean over its rows."""
        released = self.variant == "released"
        with without_dropout(self):
            written = write(self, batch, self.cut, draw(self.run_seed, "prefix", batch["step"]))
            states, weights = scored(self, batch, with_repeats(written, self.ngram, last=not released))
        scale = batch["step_tokens"] / batch["step_rows"]

        def penalties(tokens: TokenSlice, head: Head) -> Losses:
            penalty = unlikelihood(head.at(tokens.targets), head.lse, FLOOR, clamped=released)  # [n]
            return scale * weights[tokens.start + tokens.group, tokens.position].to(penalty.dtype) * penalty, {}

        loss = self.summed(states, penalties)
        return replace(loss, terms={"repetition": loss.total.detach()})


def with_repeats(written: Sequence[Written], ngram: int, *, last: bool) -> list[tuple[Written, list[float]]]:
    """Return the continuations that repeat something, each with the weights of its tokens.

    A repeated token has the weight 1 / (tokens written for its row), any other one 0.

    Args:
        written: all continuations of a batch; a row may have several.
        ngram: length of the n-grams that may not occur twice.
        last: whether a continuation's last n-gram counts.
    """
    lengths = Counter[int]()  # row -> tokens written for it
    for continuation in written:
        lengths[continuation.row] += len(continuation.tokens)
    repeating = []
    for continuation in written:
        is_repeated = repeated(continuation.tokens, ngram, last=last)
        if any(is_repeated):
            repeating.append((continuation, [flag / lengths[continuation.row] for flag in is_repeated]))
    return repeating


def scored(
    objective: Objective, batch: Batch, repeating: Sequence[tuple[Written, list[float]]]
) -> tuple[States, Tensor]:
    """Run the backbone over continuations; keep as targets the tokens with a weight, and return all weights, [B, T].

    Where nothing repeats there is no target.
    """
    if not repeating:
        states = states_without_targets(objective, batch)
        return states, torch.zeros_like(states.targets, dtype=torch.float64)
    states = objective.states(scoring_batch(objective, batch, [written for written, _ in repeating]))
    weights = torch.zeros_like(states.targets, dtype=torch.float64)
    flat = [weight for _, of_tokens in repeating for weight in of_tokens]
    weights[states.targets != IGNORED] = torch.tensor(flat, dtype=torch.float64, device=weights.device)
    return replace(states, targets=states.targets.masked_fill(weights == 0, IGNORED)), weights


class ULTokenSeq(ULSeq):
    """Each optimiser step is either the token-level objective or the sequence-level one.

    Source: Welleck et al. 2020, section 6, the model trained with both losses; UL-token+seq of F2-Softmax (Choi et al.
    2020, section 4.1.3). A model trained with the token-level objective is fine-tuned with the mixture. `ULToken` and
    `ULSeq` say what the two objectives are, and where the released code differs.

    Args:
        alpha: weight of the token-level unlikelihood, at least 0.
        mix, prefix, continuation, ngram: as of `ULSeq`.
        variant: of both objectives.
    """

    name = "ul_token_seq"
    equations = (r"\ell = \ell_{\text{UL-seq}} \text{ with probability } m, \text{ else } \ell_{\text{UL-token}}",)
    parent = "ul_token"

    def __init__(
        self,
        backbone: Backbone,
        *,
        alpha: Amount = 1.0,
        mix: Share = 0.5,
        prefix: Positive = 50,
        continuation: Positive = 100,
        ngram: Positive = 4,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone, mix=mix, prefix=prefix, continuation=continuation, ngram=ngram, variant=variant)
        self.alpha = alpha

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """The token-level objective: the steps that are not on sequences."""
        return token_losses(self, tokens, head, self.alpha, released=self.variant != "paper")
