"""Draws: the token at a place in [0, 1) of a distribution.

Shapes: B rows, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["inverse_cdf", "uniforms"]


def inverse_cdf(scores: Tensor, uniform: Tensor) -> Tensor:
    """Return the column at which each row's cumulative probability passes `uniform`, [B].

    Columns are in the order of token ids, so neither a tie nor the last bit of a score moves a draw to a distant token.

    Args:
        scores: [B, V] log-probabilities, not normalised.
        uniform: [B] in [0, 1).

    >>> inverse_cdf(torch.tensor([[0.5, 0.0, 0.5]]).log().expand(2, -1), torch.tensor([0.49, 0.5]))
    tensor([0, 2])
    """
    mass = (scores - scores.amax(1, keepdim=True)).double().exp().cumsum(1)
    return torch.searchsorted(mass, uniform.double()[:, None] * mass[:, -1:], right=True).squeeze(1)


def uniforms(seed: int, steps: int) -> Tensor:
    """Return the first numbers of a row's generator, [steps] float64: the i-th is the same however many are asked."""
    return torch.rand(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
