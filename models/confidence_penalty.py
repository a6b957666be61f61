"""Confidence penalty: a distribution of low entropy costs.

Shapes: n positions of a slice.
"""

from torch import Tensor

from bench.base.options import Amount
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import confidence_penalty


class ConfidencePenalty(Objective):
    """-log p(target) - beta * the entropy of p.

    Source: Pereyra et al. 2017, by its abstract and what others write of it (secondary; the paper itself was not read).
    Label smoothing is its mirror: 1 - eps of the likelihood and eps KL(u || p); this adds beta KL(p || u), u uniform.

    It is meant to make a model less confident; a temperature chosen on validation text does that without training.

    Args:
        beta: weight of the entropy; 0 is maximum likelihood.
    """

    name = "confidence_penalty"
    equations = (r"\ell_t = -\log p(x_t) - \beta H(p), \quad H(p) = -\sum_w p(w) \log p(w)",)
    version = 1

    def __init__(self, backbone: Backbone, *, beta: Amount = 0.1) -> None:
        super().__init__(backbone)
        self.beta = beta

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target less the weighted entropy, [n], and both parts."""
        nll, penalty = confidence_penalty(head, tokens.targets, self.beta)
        return nll + penalty, {"mle": nll, "penalty": penalty}
