"""mle.tempered: what maximum likelihood has trained, with its logits multiplied by a number; the control of GEM.

    P = softmax(beta z),    z the logits: sampling at temperature 1 / beta

Shapes: n positions, V vocabulary.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice


class MLETempered(Objective):
    """softmax(beta z) of a trained model: control of GEM.

    GEM with h linear has the gradient of maximum likelihood under logits z / beta, and is evaluated at z. With y = z /
    beta a model of logits y is trained by maximum likelihood and evaluated at beta y, which is this model. Likelihoods
    and texts are all of softmax(beta z); what is greedy stays as it was.

    Args:
        backbone: any.
        beta: of GEM.
    """

    name: ClassVar[str] = "mle.tempered"
    paper: ClassVar[str] = "a control of Li et al. 2025"
    equations: ClassVar[tuple[str, ...]] = (r"P = \mathrm{softmax}(\beta z)",)
    version: ClassVar[int] = 1
    parent: ClassVar[str] = "mle"
    training_free: ClassVar[bool] = True

    def __init__(self, backbone: Backbone, *, beta: Annotated[float, Range(0.05, 1)] = 0.7) -> None:
        super().__init__(backbone)
        self.beta = beta

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Scores of the next token, [n, V], not normalised."""
        return self.beta * super().logits(tokens)
