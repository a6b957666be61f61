"""models/functional/least_squares.py: maps that are there are found, and a ridge keeps the rest in bounds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bench.models.functional.least_squares import LeastSquares, _solved


def draw(rows: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def fitted(inputs: Tensor, outputs: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    fit = LeastSquares()
    for part, wanted in zip(inputs.split(rows), outputs.split(rows), strict=True):
        fit.add(part, wanted)
    return fit.solve()


@pytest.mark.parametrize(("rows", "worst"), [(7, 1e-5), (200, 1e-5), (400, 0.1)])
def test_a_linear_map_is_found(rows: int, worst: float) -> None:
    """Inputs far from zero and of uneven spread, as a transformer's are; one slice alone has no choice of ridge."""
    inputs, weight, bias = draw(400, 6) * torch.tensor([100.0, 1, 1, 1, 1, 0.1]) + 30, draw(3, 6, 1), draw(1, 3, 2)
    outputs = inputs @ weight.T + bias
    found = fitted(inputs, outputs, rows)
    left = inputs @ found[0].T + found[1] - outputs
    assert left.norm() < worst * (outputs - outputs.mean(0)).norm()


def test_the_ridge_is_chosen_by_rows_held_out() -> None:
    """Fewer rows than inputs, and noise: the chosen ridge does better on new rows than the least one."""
    weight = draw(2, 60, 1) / 8
    inputs, new = draw(48, 60), draw(500, 60, 2)
    noisy = inputs @ weight.T + 0.5 * draw(48, 2, 3)
    found = fitted(inputs, noisy, 4)
    fit = LeastSquares()
    fit.add(inputs, noisy)
    loose = _solved(fit.sums[False], 1e-6)
    errors = [float((new @ w.T + b - new @ weight.T).square().mean()) for w, b in (found, loose)]
    assert errors[0] < 0.8 * errors[1]
