"""Entmax: distributions with exact zeros, and the loss that they are the gradient of.

    p = argmax over distributions q of q . z + H(q)      H(q) = sum_w (q_w - q_w ** alpha) / (alpha (alpha - 1))
      = [(alpha - 1) z - tau]_+ ** (1 / (alpha - 1))     tau such that p sums to one
    loss = p . z - z_target + H(p)                       its gradient is p - 1 at the target

alpha = 2 is sparsemax; towards 1, H is Shannon's entropy, p the softmax and the loss the cross-entropy. Peters,
Niculae and Martins 2019.

tau is found from below: the r-norm of [s - tau]_+, with s = (alpha - 1) z and r = 1 / (alpha - 1), is convex in tau and
must be 1, so steps of Newton's method rise to it and never pass it. The package entmax 1.3 gives the same numbers (to
5e-7) in 13 to 15 times the processor time by sorting at alpha = 1.5, and in 5 to 55 times by bisection (one thread, 256
positions of 8,000 and 49,152 tokens).

Shapes: n positions, V tokens.
"""

import torch
from torch import Tensor

from bench.models.core.head import row_parts

STEPS, MOST_STEPS = 9, 12
"""Steps of Newton's method for alpha up to 1.5, and above. 7 and 10 find tau to 12 digits, of 7 or 30,000 logits, flat
or steep; 4 or 5 are usual."""


@torch.no_grad()
def entmax(logits: Tensor, alpha: float) -> Tensor:
    """Entmax of each row, without gradient.

    Args:
        logits: `[n, V]`.
        alpha: above 1 and at most 2.

    Returns:
        `[n, V]`, which sums to one.

    >>> entmax(torch.tensor([[1.0, 0.5, -3.0]]), 2.0)
    tensor([[0.7500, 0.2500, 0.0000]])
    """
    found = torch.empty_like(logits)
    for part, out in zip(row_parts(logits), row_parts(found), strict=True):
        out.copy_(entmax_and_entropy(part, alpha)[0])
    return found


@torch.no_grad()
def entmax_and_entropy(logits: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Entmax of each row and its Tsallis entropy, without gradient; for rows that a CPU's cache holds.

    Args:
        logits: `[n, V]`.
        alpha: above 1 and at most 2.

    Returns:
        A new `[n, V]`, which sums to one, and `[n]`.
    """
    power = 1 / (alpha - 1)
    scores = (logits - logits.amax(1, keepdim=True)).mul_(alpha - 1)
    threshold = threshold_of(scores, power)
    above = scores.sub_(threshold).clamp_min_(0)
    if power == 1:
        found = above.clone()
    elif power == 2:
        found = above.square()
    else:
        found = above.pow(power)
    total = found.sum(1, keepdim=True)
    # p ** alpha is p times [s - tau]_+, which total ** (alpha - 1) has brought to a sum of one
    of_powers = above.mul_(found).sum(1) / total.squeeze(1) ** alpha
    return found.div_(total), (1 - of_powers) / (alpha * (alpha - 1))


def threshold_of(scores: Tensor, power: float) -> Tensor:
    """Return tau, such that [s - tau]_+ ** r sums to one, [n, 1].

    Args:
        scores: `[n, V]` s, 0 at the best token.
        power: r, at least 1.
    """
    threshold = below_threshold(scores, power)
    steps = MOST_STEPS
    if power >= 2:
        steps = STEPS
    above = torch.empty_like(scores)
    for _ in range(steps):
        torch.sub(scores, threshold, out=above).clamp_min_(0)
        norm, of_norm = norm_of(above, power)
        threshold = threshold + (norm - 1) / of_norm
    return threshold


def below_threshold(scores: Tensor, power: float) -> Tensor:
    """Return a number that tau is not below, [n, 1].

    The best token alone gives one: tau is at least -1. So tokens of -1 and below have no part in it. The others give
    another one: by Jensen's inequality the norm is at least that of as many tokens which all have their mean score.
    """
    near = torch.gt(scores, -1, out=torch.empty_like(scores))
    n_near = near.sum(1, keepdim=True)
    mean = near.mul_(scores).sum(1, keepdim=True) / n_near
    return (mean - n_near ** (-1 / power)).clamp_min(-1)


def norm_of(above: Tensor, power: float) -> tuple[Tensor, Tensor]:
    """Return the r-norm of each row, and minus its derivative by a number that all entries fall by, [n, 1] each.

    Args:
        above: `[n, V]`, at least 0; it is written over.
        power: r; 1 and 2 (alpha = 2 and 1.5) need no powers.
    """
    if power == 1:
        return above.sum(1, keepdim=True), above.sign_().sum(1, keepdim=True)
    if power == 2:
        norm = torch.linalg.vector_norm(above, dim=1, keepdim=True)
        return norm, above.sum(1, keepdim=True) / norm
    slopes = above ** (power - 1)
    norm = (above * slopes).sum(1, keepdim=True) ** (1 / power)
    return norm, slopes.sum(1, keepdim=True) / norm ** (power - 1)
