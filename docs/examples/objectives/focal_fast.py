"""The fast form of focal loss, which keeps no [n, V] tensor for the backward pass.

`head_loss` returns the losses [n], and named parts of them, which are logged as `train/nll`.
"""

import torch

from bench.models.core.objective import Objective


class FocalFast(Objective):
    """Focal loss, (1 - p)^2 * -log p (equation 4)."""

    name = "focal_fast"
    paper = "Lin et al. 2017"

    def head_loss(self, tokens, head):
        at_target = head.at(tokens.targets)
        nll = head.lse - at_target
        return (1 - torch.exp(-nll)) ** 2 * nll, {"nll": nll}
