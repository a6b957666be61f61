"""Bisection: a nucleus without a sort of the vocabulary, and without waiting for a GPU.

Shapes: B rows, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bench.decodings.core.top_tokens import kept_of_ties

__all__ = ["nucleus_by_bisection"]


def nucleus_by_bisection(scores: Tensor, p: float) -> Tensor:
    """Which tokens are the fewest most probable ones whose mass reaches p; of ties those with the lowest ids, [B, V].

    The lowest score that is kept is searched for among all numbers of the scores' type, by halving: 32 sums of [B, V]
    in float64 for float32.

    Args:
        scores: [B, V] float32 or float64 log-probabilities, not normalised; -inf for what is ruled out.
        p: the mass, between 0 and 1.

    >>> nucleus_by_bisection(torch.tensor([[0.2, 0.3, 0.3, 0.2]]).log(), 0.7)
    tensor([[ True,  True,  True, False]])
    """
    keys = _ordered(scores)  # [B, V]
    mass = (scores - scores.amax(1, keepdim=True)).double().exp()
    needed = p * mass.sum(1, keepdim=True)
    low, high = keys.amin(1, keepdim=True), keys.amax(1, keepdim=True) + 1  # the floor is in [low, high)
    for _ in range(8 * scores.element_size()):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # of their sum, which may overflow
        enough = mass.where(keys >= middle, 0.0).sum(1, keepdim=True) >= needed
        low, high = low.where(~enough, middle), high.where(enough, middle)
    above, level = keys > low, keys == low
    missing = needed - mass.where(above, 0.0).sum(1, keepdim=True)
    of_one = mass.where(level, 0.0).amax(1, keepdim=True)
    return kept_of_ties(above, level, (missing / of_one).ceil().clamp_(min=1))


def _ordered(scores: Tensor) -> Tensor:
    """Whole numbers in the order of floating-point ones, int64."""
    kind = {4: torch.int32, 8: torch.int64}[scores.element_size()]
    bits = (scores + 0.0).view(kind)  # + 0.0 makes 0.0 of -0.0
    return torch.where(bits < 0, bits ^ torch.iinfo(kind).max, bits).long()
