"""Token weights: losses of a target in which it counts more or less by its probability p, from nll = -log p.

Ji et al. 2023 (TaiLr), Zhang et al. 2023 (MixCE), Li et al. 2025 (the power family). A weight has no gradient.

Shapes: any; nll is that of one position or of many.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["mixce_weight", "power_loss", "tailr_weight", "thresholded"]


def tailr_weight(nll: Tensor, gamma: float, floor: float) -> Tensor:
    """p / (gamma + (1 - gamma) p), at least a floor.

    >>> tailr_weight(torch.tensor([0.0, 1.0, 9.0]), 1.0, 0.2)
    tensor([1.0000, 0.3679, 0.2000])
    """
    p = torch.exp(-nll.detach())
    if gamma == 0:  # the limit, also where p is 0
        return torch.ones_like(p)
    return (p / (gamma + (1 - gamma) * p)).clamp_min(floor)


def mixce_weight(nll: Tensor, eta: float) -> Tensor:
    """eta + (1 - eta) p.

    >>> mixce_weight(torch.tensor([0.0, 9.0]), 1.0)
    tensor([1., 1.])
    """
    return eta + (1 - eta) * torch.exp(-nll.detach())


def power_loss(nll: Tensor, k: float) -> Tensor:
    """(1 - p^k) / k, and its limit -log p for k = 0; the gradient is p^k times that of -log p.

    That weight is computed on its own: the gradient of `expm1` is its value + 1, which is 0 where p^k is below an ulp.

    >>> power_loss(torch.tensor([0.0, 2.0]), 1.0)
    tensor([0.0000, 0.8647])
    """
    if k == 0:
        return nll
    value = -torch.expm1(-k * nll.detach()) / k
    return value + torch.exp(-k * nll.detach()) * (nll - nll.detach())


def thresholded(nll: Tensor, q: float, form: str) -> Tensor:
    """1 - p or -log p of targets with p >= q or p <= q, and 0 of others.

    Args:
        nll: -log p.
        q: a probability.
        form: `top_p` and `top_logp` for p >= q, `bottom_p` and `bottom_logp` for p <= q.

    >>> thresholded(torch.tensor([0.1, 5.0]), 0.5, "top_logp")
    tensor([0.1000, 0.0000])
    """
    p = torch.exp(-nll.detach())
    is_counted = p <= q
    if form.startswith("top"):
        is_counted = p >= q
    loss = nll
    if form.endswith("_p"):
        loss = power_loss(nll, 1.0)
    return loss.where(is_counted, 0.0)
