"""EAFT: tokens about which the model is certain count less, so that fine-tuning does not overwrite what it knows.

Shapes: n positions of a slice.
"""

from bench.base.options import Amount
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import nll_of, top_entropy

TOP = 20
"""How many of the largest logits the entropy is of; all, where the vocabulary is smaller."""
MAX_ENTROPY = 3.0
"""What the released code divides an entropy by; it stands for log 20 = 2.996."""


class EAFT(Objective):
    """Entropy-adaptive fine-tuning: -log p of the target, times the normalised entropy of the prediction.

    Source: Diao et al. 2026 (arXiv 2601.02151), read in the released code (`use_eaft_loss` of LLaMA-Factory). It stands
    for a "normalised entropy"; how the paper normalises it was not read. The entropy is that of the softmax over the 20
    largest logits alone, and it is divided by 3.

    A target that the model finds improbable while it is certain of another token is a conflict with what it has
    learned; such a target moves the weights little. The value of the loss is no likelihood, and it is smaller than the
    cross-entropy, so that one learning rate for both is no fair comparison. With alpha = 0 it is `mle`.

    It is meant for pretrained models: an untrained one is uncertain everywhere, and the weights then are all near 1.

    Args:
        alpha: power of the normalised entropy.
    """

    name = "eaft"
    equations = (
        r"\ell_t = -\mathrm{sg}\left((H_t / 3)^\alpha\right) \log p(x_t)",
        r"H_t = -\sum_{w \in \text{top } 20} q(w) \log q(w), \quad q = \mathrm{softmax}(z_{\text{top } 20})",
    )
    version = 1

    def __init__(self, backbone: Backbone, *, alpha: Amount = 1.0) -> None:
        super().__init__(backbone)
        self.alpha = alpha

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """The weighted loss of each position, [n]."""
        entropy = top_entropy(head, min(TOP, self.backbone.vocabulary_size))
        return (entropy / MAX_ENTROPY) ** self.alpha * nll_of(head, tokens.targets), {}
