"""TaiLr and its family: maximum likelihood in which a token counts less the less likely the model finds it.

The functions are in `bench.models.functional.token_losses`.

Shapes: n positions of a slice.
"""

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from bench.base.options import Amount, Share, options_of
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import nll_of
from bench.models.functional.token_losses import mixce_weight, power_loss, tailr_weight, thresholded

READERS = {
    "gamma": ("tailr",),
    "floor": ("tailr",),
    "eta": ("mixce",),
    "k": ("power",),
    "q": ("top_p", "bottom_p", "top_logp", "bottom_logp"),
}
"""The forms that read each number."""


class TaiLr(Objective):
    """-log p of the target, with a weight that grows with p and has no gradient.

    Source: read in the released codes. TaiLr: Ji et al. 2023, sections 3.3 (gamma) and 3.4 (floor); the defaults are
    those of its script for Gigaword. MixCE: Zhang et al. 2023; eta is best at .1, .3 and .7 on three texts. Power:
    Li et al. 2025, with thresholded forms `top_*` (p >= q) and `bottom_*` (p <= q) of 1 - p and of -log p. DFT: Wu
    et al. 2025, whose loss is sg(p) * -log p (their eq. 7 to 9, as others quote them).

    One method under four names. DFT, TaiLr with gamma = 1 and floor = 0, and MixCE with eta = 0 are one loss; its
    gradient is also that of 1 - p, power with k = 1. Their optimum is all mass on the most frequent continuation, so
    perplexity and entropy suffer where several are right. gamma = 0, eta = 1 and k = 0 are maximum likelihood.

    The script for Gigaword also smooths labels by 0.1, which is not here. The values of `power` and of the
    thresholded forms are no likelihoods. Where the weight falls to 0 with p (`dft`, any floor of 0) or is 0 below q
    (`top_*`), a token that the model finds impossible costs nothing, so a lower loss need not be a better model.

    Gradients vanish where p is small, so a model from scratch starts from `mle`, with the control `mle.continued`, the
    same steps at likelihood. A pretrained backbone takes its steps in place of those of `mle`, as DFT's paper does.
    Its numbers trade likelihood for something else, so they cannot be picked by likelihood.

    Args:
        form: which weight or loss.
        gamma: of `tailr`, 0 to 1.
        floor: of `tailr`, the smallest weight.
        eta: of `mixce`, the share of likelihood.
        k: of `power`, at least 0.
        q: of the thresholded forms, a probability.

    Raises:
        UsageError: for a number that the form does not read.
    """

    name = "tailr"
    equations = (
        r"\ell_t = -\mathrm{sg}(w_t) \log p_t, \quad p_t = p(x_t)",
        r"\text{tailr:}\quad w_t = \max\left(\frac{p_t}{\gamma + (1 - \gamma)\, p_t}, \text{floor}\right)",
        r"\text{mixce:}\quad w_t = \eta + (1 - \eta)\, p_t",
        r"\text{power:}\quad \ell_t = \frac{1 - p_t^k}{k}",
    )
    version = 1
    parent = "mle"
    starts_pretrained = True

    def __init__(
        self,
        backbone: Backbone,
        *,
        form: Literal["tailr", "mixce", "power", "top_p", "bottom_p", "top_logp", "bottom_logp"] = "tailr",
        gamma: Share = 0.8,
        floor: Share = 0.2,
        eta: Share = 0.3,
        k: Amount = 1.0,
        q: Share = 0.1,
    ) -> None:
        super().__init__(backbone)
        self.form, self.gamma, self.floor, self.eta, self.k, self.q = form, gamma, floor, eta, k, q

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse a number that has no effect."""
        form, usual = options["form"], options_of(cls)
        for number, readers in READERS.items():
            if form not in readers and options[number] != usual[number][1]:
                raise UsageError(
                    f"{number}={options[number]} has no effect with form={form}, only with form "
                    f"{' or '.join(readers)}; leave it out"
                )

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of each position, [n]."""
        nll = nll_of(head, tokens.targets)
        if self.form == "tailr":
            return tailr_weight(nll, self.gamma, self.floor) * nll, {}
        if self.form == "mixce":
            return mixce_weight(nll, self.eta) * nll, {}
        if self.form == "power":
            return power_loss(nll, self.k), {}
        return thresholded(nll, self.q, self.form), {}
