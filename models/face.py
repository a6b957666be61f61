"""FACE: cross-entropy that weighs a token less the more often it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.chunks import LossSum
from bench.models.core.head import Head
from bench.models.core.objective import SLICE, Objective
from bench.models.core.special_tokens import special_tokens
from bench.models.core.states import IGNORED, Rows, States, slices
from bench.models.functional.frequency_weights import counted, frequency_weights, overuse_weights, until_end


class FACE(Objective):
    """-w log p of the target, with w from how often tokens have been said since training began.

    Source: Jiang et al. 2019, FACE: output or ground-truth frequency, pre-weight or post-weight. Baseline of F2-Softmax
    (Choi et al. 2020, section 4.1.3), which takes OPR and fine-tunes an MLE model with it (B.2).

    ====== =============================== ===========================================================
    form   frequency of                    weight
    ====== =============================== ===========================================================
    `opr`  most probable tokens            1 - freq(target) / max freq, scaled to a mean of 1 over V
    `opo`  most probable tokens            1 + max(0, freq(most probable) - freq(target)) / all
    `gpr`  targets                         as `opr`
    `gpo`  targets                         as `opo`
    ====== =============================== ===========================================================

    The most probable token is that of the softmax with the true past given. Nothing decays, and before anything is
    counted every weight is 1. The most frequent token has weight 0 in `opr` and `gpr`.

    `paper` weighs by what was counted up to the previous optimiser step, over all ranks: one pass over the head, and
    the loss of a row does not depend on its batch. The released code counts the current batch first, which costs a
    second pass over the head and makes the loss depend on the batch:

    ========== ================ ============================ ================================================
    variant    counts           of a row                     end of text
    ========== ================ ============================ ================================================
    `paper`    previous steps   all positions with a target  not counted, or short texts would unlearn to end
    `released` this batch too   up to the first end; a       not counted
                                leading start is left out
    `f2_code`  this batch too   all positions with a target; counted
                                predicted padding left out
    ========== ================ ============================ ================================================

    Two things of the released codes are not here. They also count predictions at padding (`released`: of rows that have
    not ended), and F2-Softmax's divides the loss by all positions, padding included; here a position without a target
    is never seen, and the loss is divided by target tokens. With several ranks or micro-batches each counts its own
    batch first, and they meet at the end of the step.

    Args:
        backbone: any.
        form: which frequency, and when it weighs.
        variant: what is counted, and when.
    """

    name: ClassVar[str] = "face"
    paper: ClassVar[str] = "Jiang et al. 2019"
    parent: ClassVar[str] = "mle"

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
        self.of_output, self.after = form[0] == "o", form[2] == "o"
        self.left_out = special_tokens(backbone, "pad" if variant == "f2_code" else "eos")
        self.register_buffer("frequency", torch.zeros(backbone.vocabulary_size, dtype=torch.int64))
        # Counts of this rank in this step. No buffer: those are overwritten with the first rank's before each forward.
        self.pending: Tensor | None = None

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """Weighted -log p of the target."""
        nll = head.lse - head.at(rows.targets)
        predicted = rows.targets if self.form == "gpr" else head.argmax()
        if self.variant == "paper":
            self._count(predicted if self.of_output else rows.targets)
        if self.after:
            weights = overuse_weights(self.known, predicted, rows.targets)
        else:
            weights = frequency_weights(self.known)[rows.targets]
        return weights.to(nll.dtype) * nll, {}

    def loss(self, states: States) -> LossSum:
        """Sum over target tokens; the released variants count the batch before they weigh it."""
        if self.variant != "paper":
            said = self._predictions(states) if self.of_output else states.targets
            if self.variant == "released":
                said = until_end(said, special_tokens(self.backbone, "eos"), special_tokens(self.backbone, "bos"))
            self._count(said)
        return super().loss(states)

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Add what all ranks have counted in this step."""
        pending = torch.zeros_like(self.frequency) if self.pending is None else self.pending
        self.frequency += reduce(pending)
        self.pending = None

    @property
    def known(self) -> Tensor:
        """The counts that weigh, [V]."""
        return self.frequency if self.variant == "paper" or self.pending is None else self.frequency + self.pending

    def _count(self, tokens: Tensor) -> None:
        """Count tokens of this step; only training counts."""
        if self.training:
            found = counted(tokens, len(self.frequency), self.left_out)
            self.pending = found if self.pending is None else self.pending + found

    @torch.no_grad()
    def _predictions(self, states: States) -> Tensor:
        """Most probable token at each position that carries a target, [B, T]."""
        said = torch.full_like(states.targets, IGNORED)
        for rows in slices(states.detached(), SLICE):
            said[rows.start + rows.group, rows.position] = self.logits(rows).argmax(1)
        return said
