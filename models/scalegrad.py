"""ScaleGrad: training scales the probabilities of tokens that are new in a text down, so their gradient is larger.

A token is seen at a position if it is one of the earlier targets of the row, else novel.

Shapes: n positions of a slice, U distinct tokens of a row, V vocabulary.
"""

from typing import Literal

from torch import Tensor

from bench.base.options import PositiveShare
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.core.target_lookup import earlier_targets
from bench.models.functional.token_losses import scaled_nll

ADDED = 1e-8
"""What the released code adds to every probability before it divides by their sum."""


class ScaleGrad(Objective):
    """-log p~ of the target, with the probability of novel tokens scaled by gamma and all divided by their sum.

    Source: Lin et al. 2021, read in the released code; its place in the paper is not known here. The gradient by the
    logits is p~ - e_y: cross-entropy with log(gamma) added to novel logits, in training alone. gamma = 1 is maximum
    likelihood. Evaluation and decoding see p.

    Variants.

    - `paper` is the equation.
    - `released` adds 1e-8 to each of the V scaled probabilities before the division. So a target far below 1e-8 costs
      about 18.4 nats at most and has nearly no gradient.

    The released code counts novelty in a block of 300 tokens of joined texts, whose first token never counts as seen.
    Here it is counted in a row, among its targets. A token counts once, however often it has occurred.

    Controls: decoders that also repeat less. They train nothing.

    Args:
        gamma: above 0 and at most 1; the authors take 0.2, 0.5 and 0.8.
        variant: whether 1e-8 is added.
    """

    name = "scalegrad"
    equations = (
        r"\ell_t = -\log \tilde{p}(x_t), \quad \tilde{p}(w) = \frac{g(w)\, p(w)}{\sum_v g(v)\, p(v)}",
        r"g(w) = \gamma \text{ for a novel token, } 1 \text{ for a seen one}",
    )
    version = 1

    def __init__(
        self, backbone: Backbone, *, gamma: PositiveShare = 0.5, variant: Literal["paper", "released"] = "paper"
    ) -> None:
        super().__init__(backbone)
        self.gamma, self.variant = gamma, variant

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p~ of the target, [n]."""
        ids, is_seen = earlier_targets(tokens)  # [n, U]
        at_target, at_tokens = head.at(tokens.targets), head.at(ids)  # [n], [n, U]
        log_p = at_target - head.lse
        seen_mass = ((at_tokens - head.lse[:, None]).exp() * is_seen).sum(1)  # [n] probability of all seen tokens
        is_novel = ~(is_seen & (ids == tokens.targets[:, None])).any(1)  # [n]
        added = ADDED if self.variant == "released" else 0.0
        return scaled_nll(log_p, seen_mass, is_novel, self.gamma, added, self.backbone.vocabulary_size), {}
