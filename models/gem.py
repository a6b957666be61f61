"""GEM: the target is raised against what a sharpened copy of the model would say, rather than against the model.

Shapes: n positions of a slice.
"""

from typing import Annotated, Literal

from bench.base.options import Amount, Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import gem_linear, gem_log_sigmoid


class GEM(Objective):
    """sum_w q(w) a(w) (z_w - z_target), with q = softmax(z / beta) and a held fixed.

    Source: Li et al., ICLR 2025, in their released code; section and equation numbers were not seen. The value may be
    negative, and it is not a likelihood.

    With h linear the gradient is softmax(z / beta) - 1 at the target. That is the gradient of beta times the
    cross-entropy under logits z / beta: maximum likelihood for a model that is then evaluated at temperature 1 / beta
    (1.43 for 0.7). The control `mle.tempered` is that model, trained without GEM.

    Variants:

    - the default is h linear, the form of the released Triton kernel; the control above is exact for it.
    - `gem.log_sigmoid` has h the log-sigmoid, with scale 1, as the equation has it.
    - `gem.released` is the released default: scale 0.01, so that a is 0.5 almost everywhere and the loss is about half
      of the linear one.

    Args:
        beta: temperature of q; at 1 the gradient of the linear form is that of maximum likelihood.
        h: what the difference of logits goes through.
        scale: of the difference in the log-sigmoid; without effect in the linear form.
    """

    name = "gem"
    equations = (
        r"\ell_t = -\sum_w q(w)\, a(w) \left(\log p(x_t) - \log p(w)\right)",
        r"q = \mathrm{sg}(\mathrm{softmax}(z / \beta))",
        r"a(w) = 1 \text{ (linear)}, \quad a(w) = \mathrm{sg}(\sigma(s\, (z_w - z_{x_t}))) \text{ (log-sigmoid)}",
    )
    version = 1

    def __init__(
        self,
        backbone: Backbone,
        *,
        beta: Annotated[float, Range(0.05, 1)] = 0.7,
        h: Literal["linear", "log_sigmoid"] = "linear",
        scale: Amount = 1.0,
    ) -> None:
        super().__init__(backbone)
        self.beta, self.h, self.scale = beta, h, scale

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """Loss of each position, [n]."""
        if self.h == "linear":
            return gem_linear(head, tokens.targets, self.beta), {}
        return gem_log_sigmoid(head, tokens.targets, self.beta, self.scale), {}
