"""ASFT: dynamic fine-tuning that is held near the model it started from.

Shapes: n positions of a slice, V vocabulary.
"""

from bench.base.options import Amount
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import divergence_from
from bench.models.functional.token_losses import tailr_weight


class ASFT(Objective):
    """Anchored supervised fine-tuning: DFT, the NLL weighted by p, plus a divergence from the model before fine-tuning.

    Source: Zhu et al. 2025 (arXiv 2509.23753), read in the released code (`use_asft_loss` of LLaMA-Factory). Its
    comment says KL(p || q), but it computes KL(q || p), with q of the frozen model; so does this class. The body of
    the paper was not read. Other libraries take the other direction, and their alpha is not comparable.

    With alpha = 0 it is DFT (`tailr.dft`), which is a control. Training starts from the pretrained weights of the
    backbone, and the frozen model has these, too. If the backbone is not pretrained, both have the weights that `mle`
    has trained. Under `bench.attach` the frozen model is the argument `reference`.

    Args:
        alpha: weight of the divergence.
    """

    name = "asft"
    equations = (
        r"\ell_t = -\mathrm{sg}(p(x_t)) \log p(x_t) + \alpha\, \mathrm{KL}(q \,\|\, p)",
        r"q = \text{the prediction of the model before fine-tuning}",
    )
    version = 1
    parent = "mle"
    starts_pretrained = True
    reference = "mle"

    def __init__(self, backbone: Backbone, *, alpha: Amount = 0.1) -> None:
        super().__init__(backbone)
        self.alpha = alpha

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """The loss of each position and its two parts, [n] each."""
        log_q = self.reference_model.log_probs(tokens.reference)  # [n, V]
        at_target = head.at(tokens.targets)  # first, as `head.lse` overwrites the logits
        divergence = divergence_from(head, log_q)
        nll = head.lse - at_target
        weighted = tailr_weight(nll, gamma=1.0, floor=0.0) * nll
        return weighted + self.alpha * divergence, {"dft": weighted, "divergence": divergence}
