"""Focal loss with an option: a keyword-only argument with an annotation."""

from typing import Annotated

import torch

from bench.base.options import Range
from bench.models.core.objective import Objective


class FocalGamma(Objective):
    """Focal loss, (1 - p)^gamma * -log p (equation 4)."""

    name = "focal_gamma"
    paper = "Lin et al. 2017"

    def __init__(self, backbone, *, gamma: Annotated[float, Range(0)] = 2.0):
        super().__init__(backbone)
        self.gamma = gamma

    def token_loss(self, log_probs, tokens, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (-torch.expm1(-nll)).clamp_min(1e-12) ** self.gamma * nll  # a root of 0 has no gradient
