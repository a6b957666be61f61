"""Entmax: optimality, golden values, what is evaluated and what is decoded, where it does not fit."""

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.decodings.samplers import Sample
from bench.decodings.searches import Greedy
from bench.models.core.entry import Compatibility
from bench.models.core.head import Head
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.entmax import Entmax
from bench.models.functional.entmax import entmax
from bench.models.functional.head_losses import entmax_loss
from tests.bench.generation import tiny_decoders as tiny
from tests.bench.generation.test_generation import run
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of, modern_case

CASES = ["entmax_0", "entmax_1"]


def rows_of(name: str, **options: Any) -> tuple[Entmax, TokenSlice]:
    """A class over golden logits, and all their positions in one slice."""
    case = modern_case(name)
    real = case["targets"] != IGNORED
    objective = Entmax(GivenLogits(case["logits"][real]), alpha=case.params["alpha"], **options)
    (rows,) = slices(objective.backbone.states(batch_of(case["targets"])), 99)
    return objective, rows


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_likelihoods_are_of_the_raised_distribution(name: str) -> None:
    objective, rows = rows_of(name, eps=0.01)
    case = modern_case(name)
    probabilities = case["probs"][case["targets"] != IGNORED]
    expected = (probabilities + 0.01) / (1 + 0.01 * probabilities.shape[1])
    torch.testing.assert_close(objective.log_probs(rows).exp(), expected, rtol=1e-9, atol=1e-9)
    assert objective.log_probs(rows).isfinite().all()


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_texts_are_of_the_distribution_itself(name: str) -> None:
    objective, rows = rows_of(name)
    case = modern_case(name)
    for decoding in (Greedy(), Sample()):
        found = objective.decode_log_probs(rows, decoding).exp()
        torch.testing.assert_close(found, case["probs"][case["targets"] != IGNORED], rtol=1e-9, atol=1e-9)
    assert (found == 0).any()


@torch.no_grad()
@pytest.mark.parametrize("decoding", ["greedy", "sample", "contrastive_search=8+alpha=1"])
def test_texts_stay_in_the_support_where_all_of_it_is_blocked_or_too_small(decoding: str) -> None:
    """Three tokens have a probability: after three each of them repeats, and a search for eight tries others."""
    objective = Entmax(still.backbone("gpt2", eos_token_id=None)).eval()
    head, support = objective.backbone.model.lm_head, torch.tensor([50, 60, 70])
    bias = torch.full((len(head.weight),), -1e4, dtype=torch.float64).index_fill_(0, support, 0)
    head.register_forward_hook(lambda _, given, scores: 0 * scores + bias)
    blocked = "" if decoding.startswith("contrastive") else "+no_repeat_ngram=1"
    for written in run(objective, tiny.texts(3), decoding + blocked, 9, seeds=range(3) if decoding == "sample" else ()):
        assert len(written) == 9
        assert set(written) <= {50, 60, 70}
        assert not blocked or set(written[:3]) == {50, 60, 70}


def test_a_backbone_that_copies_is_refused() -> None:
    assert "copying backbone" in str(Entmax.why_not(Compatibility("encoder-decoder", copies=True)))
    assert Entmax.why_not(Compatibility("encoder-decoder")) is None


ALPHAS = [1.05, 1.25, 1.5, 1.75, 2.0]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def logits(rows: int, tokens: int, scale: float) -> Tensor:
    return torch.randn(rows, tokens, dtype=torch.float64, generator=torch.Generator().manual_seed(tokens)) * scale


def loss_of(given: Tensor, targets: Tensor, alpha: float) -> Tensor:
    return entmax_loss(Head(given), targets, alpha)


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
