"""FACE: cross-entropy in which a token weighs less the more often it has been predicted or was a target.

The weights are computed in `bench.models.functional.frequency_weights`.

Shapes: n positions of a slice, V vocabulary, B batch rows, T positions of a row.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.continuations import special_tokens
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, States, TokenSlice, slices
from bench.models.functional.frequency_weights import counted, frequency_weights, overuse_weights, until_end


class FACE(Objective):
    """-w log p of the target, with w from how often tokens have been counted since training began.

    Source: Jiang et al. 2019, FACE: output or ground-truth frequency, pre-weight or post-weight. Baseline of F2-Softmax
    (Choi et al. 2020, section 4.1.3), which takes OPR and fine-tunes an MLE model with it (B.2).

    | form | frequency of | weight |
    |---|---|---|
    | `opr` | most probable tokens | 1 - freq(target) / max freq, scaled to a mean of 1 over V |
    | `opo` | most probable tokens | 1 + max(0, freq(most probable) - freq(target)) / all |
    | `gpr` | targets | as `opr` |
    | `gpo` | targets | as `opo` |

    The most probable token is that of the softmax with the true past given. Counts never decay; before anything is
    counted every weight is 1. The most frequent token has weight 0 in `opr` and `gpr`.

    `paper` weighs by the counts of all steps before this one, over all ranks. That takes one pass over the head, and
    the loss of a row does not depend on its batch. The released code counts the current batch first, which costs a
    second pass over the head and makes the loss depend on the batch:

    | variant | counts | of a row | end of text |
    |---|---|---|---|
    | `paper` | previous steps | all positions with a target | not counted, or short texts would unlearn to end |
    | `released` | this batch too | up to the first end; a leading start is left out | not counted |
    | `f2_code` | this batch too | all positions with a target; predicted padding left out | counted |

    Two things of the released codes are not here. They also count predictions at padding (`released`: of rows that have
    not ended), and F2-Softmax's code divides the loss by all positions, padding included. Here a position without a
    target is never counted, and the loss is divided by target tokens. With several ranks or micro-batches each counts
    its own batch first; their counts are added at the end of the step.

    Args:
        form: the first letter says whose frequency, of the output or of the ground truth; the last two when the weight
            is chosen, before (`pr`) or after (`po`) the prediction.
        variant: what is counted, and when.
    """

    name = "face"
    equations = (
        r"\ell_t = -w_t \log p(x_t)",
        r"\text{pre:}\quad w_t \propto 1 - \frac{\mathrm{freq}(x_t)}{\max_v \mathrm{freq}(v)}",
        r"\text{post:}\quad w_t = 1 + \frac{\max(0, \mathrm{freq}(v_t) - \mathrm{freq}(x_t))}{\sum_v \mathrm{freq}(v)}",
        r"v_t \text{ the most probable token}",
    )
    parent = "mle"

    frequency: Tensor  # [V] int64, counts of all steps so far; stored in checkpoints, the same on all ranks

    def __init__(
        self,
        backbone: Backbone,
        *,
        form: Literal["opr", "opo", "gpr", "gpo"] = "opr",
        variant: Literal["paper", "released", "f2_code"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.form, self.variant = form, variant
        self.batch_invariant = variant == "paper"
        self.counts_output = form[0] == "o"  # else targets are counted
        self.is_post = form[2] == "o"  # the weight is chosen after the prediction
        self.left_out = special_tokens(backbone, "pad" if variant == "f2_code" else "eos")  # tokens not counted
        self.register_buffer("frequency", torch.zeros(backbone.vocabulary_size, dtype=torch.int64))
        # [V] counts of this rank in this step. Not a buffer: before each forward pass, buffers get the first rank's
        # values.
        self.pending: Tensor | None = None
        self.table: Tensor | None = None  # [V] of the batch whose loss is being summed

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-w log p of the target, [n]."""
        at_target, predicted = head.at(tokens.targets), tokens.targets
        if self.counts_output or self.is_post:  # all forms but gpr
            predicted = head.argmax()
        nll = head.lse - at_target
        if self.variant == "paper":
            self._count(predicted if self.counts_output else tokens.targets)
        table = self.table
        if table is None:
            table = self._table()
        if self.is_post:
            weights = overuse_weights(table, predicted, tokens.targets)
        else:
            weights = table[tokens.targets]
        return weights.to(nll.dtype) * nll, {}

    def loss(self, states: States) -> LossSum:
        """Sum over target tokens; the released variants count the batch before they weigh it."""
        if self.variant != "paper" and self.training:  # else nothing is counted, at the cost of a pass over the head
            tokens = self._predictions(states) if self.counts_output else states.targets  # [B, T]
            if self.variant == "released":
                ends, starts = special_tokens(self.backbone, "eos"), special_tokens(self.backbone, "bos")
                tokens = until_end(tokens, ends, starts)
            self._count(tokens)
        self.table = self._table()
        try:
            return super().loss(states)
        finally:
            self.table = None

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Add what all ranks have counted in this step."""
        if self.pending is None:
            self.pending = torch.zeros_like(self.frequency)
        self.frequency += reduce(self.pending)
        self.pending = None

    @property
    def known(self) -> Tensor:
        """The counts that the weights are made of, [V]."""
        if self.variant == "paper" or self.pending is None:
            return self.frequency
        return self.frequency + self.pending

    def _table(self) -> Tensor:
        """What a weight is looked up in, [V] float64: the weights of `pr`, the counts of `po`."""
        if self.is_post:
            return self.known.double()
        return frequency_weights(self.known)

    def _count(self, tokens: Tensor) -> None:
        """Count tokens of this step, of any shape; in evaluation nothing is counted."""
        if not self.training:
            return
        counts = counted(tokens, len(self.frequency), self.left_out)
        if self.pending is not None:
            counts = self.pending + counts
        self.pending = counts

    @torch.no_grad()
    def _predictions(self, states: States) -> Tensor:
        """Most probable token at each position that carries a target, [B, T]."""
        predictions = torch.full_like(states.targets, IGNORED)
        for tokens in slices(states.detached(), self.slice_size):
            predictions[tokens.start + tokens.group, tokens.position] = self.logits(tokens).argmax(1)
        return predictions
