"""Entmax: distributions with exact zeros, and the loss that they are the gradient of.

    p = argmax over distributions q of q . z + H(q)      H(q) = sum_w (q_w - q_w ** alpha) / (alpha (alpha - 1))
      = [(alpha - 1) z - tau]_+ ** (1 / (alpha - 1))     tau such that p sums to one
    loss = p . z - z_target + H(p)                       its gradient is p - 1 at the target

alpha = 2 is sparsemax; towards 1, H is Shannon's entropy, p the softmax and the loss the cross-entropy. Peters,
Niculae and Martins 2019.

tau is found from below: the r-norm of [s - tau]_+, with s = (alpha - 1) z and r = 1 / (alpha - 1), is convex in tau and
must be 1, so steps of Newton's method rise to it and never pass it.

Shapes: n positions, V tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["entmax", "entmax_loss", "tsallis_entropy"]

STEPS = 12
"""Steps of Newton's method. 50 logits or 30,000, flat or steep, at most 11 find tau to 12 digits."""


@torch.no_grad()
def entmax(logits: Tensor, alpha: float) -> Tensor:
    """Entmax of each row, without gradient.

    Args:
        logits: ``[n, V]``.
        alpha: above 1 and at most 2.

    Returns:
        ``[n, V]``, which sums to one.

    >>> entmax(torch.tensor([[1.0, 0.5, -3.0]]), 2.0)
    tensor([[0.7500, 0.2500, 0.0000]])
    """
    power = 1 / (alpha - 1)  # r, at least 1
    scores = (logits - logits.amax(1, keepdim=True)) * (alpha - 1)  # [n, V] s, 0 at the best token
    threshold = below_threshold(scores, power)
    for _ in range(STEPS):
        above = (scores - threshold).clamp_min_(0)
        slopes = slopes_of(above, power)
        norm = above.mul_(slopes).sum(1, keepdim=True) ** (alpha - 1)  # [n, 1]
        threshold = threshold + (norm - 1) * norm ** (power - 1) / slopes.sum(1, keepdim=True)
    above = (scores - threshold).clamp_min_(0)
    found = slopes_of(above, power).mul_(above)
    return found.div_(found.sum(1, keepdim=True))


def below_threshold(scores: Tensor, power: float) -> Tensor:
    """Return a number that tau is not below, [n, 1].

    The best token alone gives one: tau is at least -1. So tokens of -1 and below have no part in it. The others give
    another one: by Jensen's inequality the norm is at least that of as many tokens which all have their mean score.
    """
    near = scores > -1
    n_near = near.sum(1, keepdim=True).to(scores)
    mean = (scores * near).sum(1, keepdim=True) / n_near
    return (mean - n_near ** (-1 / power)).clamp_min(-1)


def slopes_of(above: Tensor, power: float) -> Tensor:
    """Return above ** (power - 1), 0 where `above` is 0, [n, V], a new tensor; without a power where there is none."""
    if power == 2:  # alpha = 1.5
        return above.clone()
    if power == 1:  # alpha = 2
        return above.sign()
    return above ** (power - 1)


def tsallis_entropy(probabilities: Tensor, alpha: float) -> Tensor:
    """Tsallis entropy of distributions, H above.

    Args:
        probabilities: ``[n, V]``.
        alpha: above 1.

    Returns:
        ``[n]``, 0 where one token has all.
    """
    return (1 - (probabilities**alpha).sum(1)) / (alpha * (alpha - 1))


def entmax_loss(logits: Tensor, targets: Tensor, alpha: float) -> Tensor:
    """Fenchel-Young loss of entmax.

    Args:
        logits: ``[n, V]``.
        targets: ``[n]``.
        alpha: above 1 and at most 2.

    Returns:
        ``[n]``, at least 0; 0 where the target has all.
    """
    probabilities = entmax(logits.detach(), alpha)
    at_target = logits.gather(1, targets[:, None]).squeeze(1)
    return (probabilities * logits).sum(1) - at_target + tsallis_entropy(probabilities, alpha)
