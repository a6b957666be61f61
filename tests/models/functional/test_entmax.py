"""models/functional/entmax.py: golden distributions, worked numbers, optimality, limits, hard rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bench.models.core.head import PlainHead
from bench.models.core.states import IGNORED
from bench.models.functional.entmax import entmax, entmax_and_entropy
from bench.models.functional.head_losses import entmax_loss
from tests.models.modern_cases import modern_case

ALPHAS = [1.05, 1.25, 1.5, 1.75, 2.0]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def logits(rows: int, tokens: int, scale: float) -> Tensor:
    return torch.randn(rows, tokens, dtype=torch.float64, generator=torch.Generator().manual_seed(tokens)) * scale


def loss_of(given: Tensor, targets: Tensor, alpha: float) -> Tensor:
    return entmax_loss(PlainHead(given), targets, alpha)


@pytest.mark.parametrize("name", ["entmax_0", "entmax_1"])
def test_golden(name: str) -> None:
    case = modern_case(name)
    real = case["targets"] != IGNORED
    found = entmax(case["logits"][real], case.params["alpha"])
    torch.testing.assert_close(found, case["probs"][real], **EXACT)
    assert torch.equal(found == 0, case["probs"][real] == 0)


def test_worked_by_hand() -> None:
    """alpha = 2: the two best tokens differ by .5, so they have .75 and .25. alpha = 1.5: x = z / 2 - tau, squared."""
    given = torch.tensor([[1.0, 0.5, -3.0]], dtype=torch.float64)
    assert entmax(given, 2.0)[0].tolist() == pytest.approx([0.75, 0.25, 0.0])
    first = 0.125 + (0.5 - 0.125**2) ** 0.5  # x + (x - .25) squared is one for x = .125 + sqrt(.5 - .125^2)
    assert entmax(given, 1.5)[0].tolist() == pytest.approx([first**2, (first - 0.25) ** 2, 0.0])


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("tokens", "scale"), [(1, 1.0), (7, 0.01), (7, 30.0), (300, 0.3), (300, 3.0)])
def test_is_the_best_distribution(tokens: int, scale: float, alpha: float) -> None:
    """Sums to one, and z + H'(p) is one number on the support and no larger elsewhere."""
    given = logits(20, tokens, scale)
    found = entmax(given, alpha)
    torch.testing.assert_close(found.sum(1), torch.ones(20, dtype=torch.float64), **EXACT)
    slopes = given - found ** (alpha - 1) / (alpha - 1)  # up to a constant
    support = found > 1e-12
    best = slopes.masked_fill(~support, -torch.inf).amax(1, keepdim=True)
    worst = slopes.masked_fill(~support, torch.inf).amin(1, keepdim=True)
    torch.testing.assert_close(best, worst, rtol=1e-7, atol=1e-7)
    assert (slopes[~support] <= best.expand_as(slopes)[~support] + 1e-7).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_large_vocabulary(dtype: torch.dtype, scale: float, alpha: float) -> None:
    """The threshold is found in so many steps: the numbers sum to one before they are divided by their sum."""
    given = logits(4, 20_000, scale).to(dtype)
    found = entmax(given, alpha)
    scores = (given.double() - given.double().amax(1, keepdim=True)) * (alpha - 1)
    threshold = -(found.double().amax(1, keepdim=True) ** (alpha - 1))
    again = (scores - threshold).clamp_min(0) ** (1 / (alpha - 1))
    torch.testing.assert_close(again.sum(1), torch.ones(4, dtype=torch.float64), rtol=1e-3, atol=1e-3)
    if scale == 0:
        torch.testing.assert_close(found, torch.full_like(found, 1 / 20_000), rtol=1e-4, atol=0)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_gradient_is_the_derivative(alpha: float) -> None:
    """p less the target, though p itself is held: by differences of the value."""
    given, targets = logits(3, 6, 2.0).requires_grad_(), torch.tensor([0, 3, 5])
    (found,) = torch.autograd.grad(loss_of(given, targets, alpha).sum(), given)
    expected = entmax(given.detach(), alpha)
    expected[torch.arange(3), targets] -= 1
    torch.testing.assert_close(found, expected, **EXACT)
    step = 1e-5
    for row, token in [(0, 0), (1, 2), (2, 4)]:
        moved = [given.detach().clone() for _ in range(2)]
        for values, sign in zip(moved, (1, -1), strict=True):
            values[row, token] += sign * step
        high, low = (float(loss_of(values, targets, alpha).sum()) for values in moved)
        assert (high - low) / (2 * step) == pytest.approx(float(found[row, token]), abs=1e-4)


def test_a_margin_is_enough() -> None:
    """No loss where the target is 1 / (alpha - 1) above all others."""
    given = torch.tensor([[0.0, 2.0, 0.0], [0.0, 1.9, 0.0]], dtype=torch.float64)
    losses = loss_of(given, torch.tensor([1, 1]), 1.5)
    assert losses[0] == 0
    assert losses[1] > 0


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_the_entropy_is_that_of_the_distribution(scale: float, alpha: float) -> None:
    """sum of p - p ** alpha over alpha (alpha - 1), by its definition."""
    found, entropy = entmax_and_entropy(logits(20, 300, scale), alpha)
    expected = (found - found**alpha).sum(1) / (alpha * (alpha - 1))
    torch.testing.assert_close(entropy, expected, **EXACT)
