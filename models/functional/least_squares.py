"""Least squares: a linear map fitted to rows that come in slices, with a ridge chosen on slices held out.

Letters: n rows, D inputs, K outputs. Only sums of products are kept, so memory does not grow with n.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["LeastSquares"]

RIDGES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Shares of the inputs' mean variance that may be added to the variance of every direction."""

UNCHECKED = 1e-3
"""The share where there is only one slice."""

HELD_OUT = 4
"""One slice in so many decides which ridge, the second of them; the map is then fitted to all."""


class LeastSquares:
    """Find weight [K, D] and bias [K] that bring inputs near outputs; in float64, the bias without a ridge.

    With fewer rows than inputs, or inputs that hardly vary in some directions, a fit without a ridge is worthless on
    other rows; held-out slices tell how much is needed.

    >>> fit, x = LeastSquares(), torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    >>> for part in x.split(10):
    ...     fit.add(part, part @ torch.tensor([[2.0, 0.0, -1.0]]).T + 5)
    >>> weight, bias = fit.solve()
    >>> weight.round(decimals=3).tolist(), bias.round(decimals=3).tolist()
    ([[2.0, 0.0, -1.0]], [5.0])
    """

    def __init__(self) -> None:
        self.slices = 0
        self.sums: dict[bool, Tensor] = {}  # held out or not -> products of (inputs, 1) with (inputs, 1, outputs)

    def add(self, inputs: Tensor, outputs: Tensor) -> None:
        """Take in a slice, [n, D] and [n, K]."""
        self.slices += 1
        left = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1).double()
        found = left.mT @ torch.cat([left, outputs.double()], dim=1)
        held_out = self.slices % HELD_OUT == 2
        self.sums[held_out] = self.sums[held_out] + found if held_out in self.sums else found

    def solve(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias.

        Raises:
            ValueError: when nothing was added.
        """
        if not self.sums:
            raise ValueError("no rows were added, so there is nothing to fit")
        fitted, checked = self.sums[False], self.sums.get(True)
        if checked is None:
            return _solved(fitted, UNCHECKED)
        ridge = min(RIDGES, key=lambda ridge: _error(checked, *_solved(fitted, ridge)))
        return _solved(fitted + checked, ridge)


def _solved(sums: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Weight and bias from sums [D+1, D+1+K], with this ridge."""
    size = len(sums) - 1
    mean, middle = sums[size, :size] / sums[size, size], sums[size, size + 1 :] / sums[size, size]
    moments = sums[:size, :size] - sums[size, size] * mean[:, None] * mean
    products = sums[:size, size + 1 :] - sums[size, size] * mean[:, None] * middle
    moments.diagonal().add_(ridge * moments.diagonal().mean() + torch.finfo(torch.float64).tiny)
    weight = torch.linalg.solve(moments, products).mT
    return weight, middle - weight @ mean


def _error(sums: Tensor, weight: Tensor, bias: Tensor) -> float:
    """Sum of squared residuals, without the part that does not depend on the map."""
    size = len(sums)
    whole = torch.cat([weight, bias[:, None]], dim=1)
    return float((whole * (whole @ sums[:, :size] - 2 * sums[:, size:].mT)).sum())
