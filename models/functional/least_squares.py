"""Least squares: a linear map fitted to rows that come in slices, with a ridge chosen on slices held out.

Only sums of products are kept, so memory does not grow with the rows.

Shapes: n rows, D inputs, K outputs.
"""

import torch
from torch import Tensor

RIDGES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Ridges to choose from: shares of the inputs' mean variance, added to the variance of every direction."""

UNCHECKED = 1e-3
"""The ridge where there is only one slice, and so none to choose by."""

HELD_OUT = 4
"""The second of every four slices is held out: these decide which ridge is best. The map is then fitted to all."""


class LeastSquares:
    """Find weight [K, D] and bias [K] that map inputs near outputs; in float64, without a ridge on the bias.

    With fewer rows than inputs, or inputs that hardly vary in some directions, a fit without a ridge is worthless on
    other rows; the held-out slices show how large a ridge is needed.

    >>> fit, x = LeastSquares(), torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    >>> for part in x.split(10):
    ...     fit.add(part, part @ torch.tensor([[2.0, 0.0, -1.0]]).T + 5)
    >>> weight, bias = fit.solve()
    >>> weight.round(decimals=3).tolist(), bias.round(decimals=3).tolist()
    ([[2.0, 0.0, -1.0]], [5.0])
    """

    def __init__(self) -> None:
        self.slices = 0
        # Held out or not -> [D+1, D+1+K] products of (inputs, 1) with (inputs, 1, outputs), summed over rows.
        self.sums: dict[bool, Tensor] = {}

    def add(self, inputs: Tensor, outputs: Tensor) -> None:
        """Take in a slice, [n, D] and [n, K]."""
        self.slices += 1
        left = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1).double()  # [n, D+1]
        products = left.mT @ torch.cat([left, outputs.double()], dim=1)
        held_out = self.slices % HELD_OUT == 2
        if held_out in self.sums:
            self.sums[held_out] = self.sums[held_out] + products
        else:
            self.sums[held_out] = products

    def solve(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias that fit the slices that were added, of which there must be one."""
        fitted, checked = self.sums[False], self.sums.get(True)
        if checked is None:
            return _solved(fitted, UNCHECKED)
        ridge = min(RIDGES, key=lambda ridge: _error(checked, *_solved(fitted, ridge)))
        return _solved(fitted + checked, ridge)


def _solved(sums: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Weight and bias from sums [D+1, D+1+K], with this ridge."""
    size = len(sums) - 1  # D
    n_rows = sums[size, size]
    input_mean, output_mean = sums[size, :size] / n_rows, sums[size, size + 1 :] / n_rows  # [D], [K]
    moments = sums[:size, :size] - n_rows * input_mean[:, None] * input_mean  # [D, D]
    products = sums[:size, size + 1 :] - n_rows * input_mean[:, None] * output_mean  # [D, K]
    moments.diagonal().add_(ridge * moments.diagonal().mean() + torch.finfo(torch.float64).tiny)
    weight = torch.linalg.solve(moments, products).mT  # [K, D]
    return weight, output_mean - weight @ input_mean


def _error(sums: Tensor, weight: Tensor, bias: Tensor) -> float:
    """Sum of squared residuals, without the part that does not depend on the map."""
    size = len(sums)
    whole = torch.cat([weight, bias[:, None]], dim=1)  # [K, D+1]
    return float((whole * (whole @ sums[:, :size] - 2 * sums[:, size:].mT)).sum())
