"""UL-token+seq: both forms of unlikelihood.

A step of the optimiser takes the token-level loss of `ul_token` or, drawn at random, the sequence-level loss of
`ul_seq`. Welleck et al. 2020, section 6.

Shapes: n positions of a slice.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor

from bench.base.options import Amount, Positive, Share
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import TokenSlice
from bench.models.ul_seq import Sequences, sequence_loss
from bench.models.ul_token import token_losses


class ULTokenSeq(Objective):
    """Each optimiser step is either the token-level objective or the sequence-level one.

    Source: Welleck et al. 2020, section 6, the model named by both; UL-token+seq of F2-Softmax (Choi et al. 2020,
    section 4.1.3). A model trained with the token-level objective is fine-tuned with the mixture. `ULToken` and `ULSeq`
    say what the two objectives are, and where the released code differs.

    Args:
        backbone: any.
        alpha: weight of the token-level unlikelihood, at least 0.
        mix: share of the steps that are on sequences, 0 to 1.
        prefix: tokens of a prompt on running text, at least 1; so are the next two.
        continuation: tokens written behind it.
        ngram: length of the n-grams that may not come twice.
        variant: of both objectives.
    """

    name: ClassVar[str] = "ul_token_seq"
    paper: ClassVar[str] = "Welleck et al. 2020"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell = \ell_{\text{UL-seq}} \text{ with probability } m, \text{ else } \ell_{\text{UL-token}}",
    )
    parent: ClassVar[str] = "ul_token"
    min_target_tokens: ClassVar[int] = 8

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
        super().__init__(backbone)
        self.alpha, self.variant = alpha, variant
        self.sequences = Sequences(mix, prefix, continuation, ngram, variant)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """The token-level objective: the steps that are not on sequences."""
        return token_losses(self, tokens, head, self.alpha, released=self.variant != "paper")

    def step_loss(self, batch: Batch) -> LossSum:
        """The token-level objective or the sequence loss, as the step has drawn."""
        if self.sequences.turn(self.run_seed, batch["step"]):
            return sequence_loss(self, batch, self.sequences)
        return super().step_loss(batch)
