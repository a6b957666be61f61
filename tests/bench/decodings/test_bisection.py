"""A nucleus found by bisection is the one that a sort finds."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bench.decodings.core.bisection import nucleus_by_bisection
from bench.decodings.nucleus import Nucleus
from tests.operations import counted


def by_sort(scores: Tensor, p: float) -> Tensor:
    """The fewest tokens of a falling, stable sort whose mass in float64 reaches p."""
    falling, order = scores.double().sort(dim=1, descending=True, stable=True)
    mass = (falling - falling[:, :1]).exp().cumsum(1)
    inside = (mass < p * mass[:, -1:]).roll(1, 1)
    inside[:, 0] = True
    return torch.zeros_like(inside).scatter_(1, order, inside)


def scores_of(scale: float, vocabulary: int = 3000) -> Tensor:
    return scale * torch.randn(24, vocabulary, generator=torch.Generator().manual_seed(0))


REGIMES = {
    "flat": scores_of(0.1),
    "usual": scores_of(2.0).log_softmax(1),
    "peaked": scores_of(30.0).log_softmax(1),
    "ties": scores_of(4.0).bfloat16().float(),
    "float64": scores_of(4.0).double(),
    "ruled out": scores_of(2.0).masked_fill(scores_of(1.0) > 0, -math.inf),
    "two signs": torch.cat([scores_of(3.0), 0.0 * scores_of(1.0)], 1),  # both zeros
    "one token": scores_of(1.0, 1),
}


class TestBisection:
    @pytest.mark.parametrize("p", [0.001, 0.5, 0.9, 0.999])
    @pytest.mark.parametrize("regime", REGIMES)
    def test_equal_to_a_sort(self, regime: str, p: float) -> None:
        scores = REGIMES[regime]
        assert torch.equal(nucleus_by_bisection(scores, p), by_sort(scores, p))

    def test_all_equal(self) -> None:
        """Half of the tokens, by their ids; sums of halves are exact."""
        assert nucleus_by_bisection(torch.zeros(2, 4096), 0.5).sum(1).tolist() == [2048, 2048]
        assert nucleus_by_bisection(torch.zeros(2, 4096), 0.5)[:, :2048].all()

    @pytest.mark.parametrize("regime", ["usual", "peaked", "ties"])
    def test_draws_are_those_of_the_most_probable_tokens(self, regime: str) -> None:
        decoding, scores = Nucleus(p=0.9), REGIMES[regime]
        uniform = torch.rand(len(scores), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        assert torch.equal(decoding.draw_by_bisection(scores, uniform), decoding.draw(scores, uniform, {}))

    def test_nothing_waits(self) -> None:
        uniform = torch.full((24,), 0.5, dtype=torch.float64)
        with counted() as operations:
            Nucleus(p=0.9).draw_by_bisection(REGIMES["usual"], uniform)
        assert dict(operations.waits) == {}
        with counted() as operations:
            Nucleus(p=0.9).draw(REGIMES["usual"], uniform, {})
        assert dict(operations.waits) != {}, "the test can tell"
