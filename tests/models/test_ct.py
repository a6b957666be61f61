"""CT as a class: golden vectors in value and gradient, every form of its loss, batches, and what it does to texts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bench.models.core.states import IGNORED
from bench.models.ct import CT
from tests.models.given_logits import GivenLogits, batch_of, modern_case

EXACT = {"rtol": 1e-9, "atol": 1e-9}


class TestGolden:
    @pytest.mark.parametrize(("variant", "suffix"), [("paper", ""), ("released", "_multiset")])
    @pytest.mark.parametrize("number", [0, 1])
    def test_value_and_gradient(self, number: int, variant: Any, suffix: str) -> None:
        """The mean over a row's first targets counts as much as the row has targets."""
        golden, likelihood = modern_case(f"ct_{number}"), modern_case(f"nll_{number}")
        targets, m, length = golden["targets"], golden.params["m"], golden.params["length"]
        real = targets != IGNORED
        n_targets = real.sum(1).double()
        weights = n_targets / n_targets.clamp_max(length)  # [B]
        assert (weights > 1).any()
        backbone = GivenLogits(golden["logits"][real])
        found = CT(backbone, window=m, length=length, variant=variant).step_loss(batch_of(targets))
        expected = golden[f"rows{suffix}"].nan_to_num().sum(1) @ weights
        torch.testing.assert_close(found.terms["contrastive"], expected, **EXACT)
        torch.testing.assert_close(found.terms["mle"], likelihood["rows"].nan_to_num().sum(), **EXACT)
        (gradient,) = torch.autograd.grad(found.total, [backbone.logits])
        wanted = likelihood["grad_logits"] + weights[:, None, None] * golden[f"grad_logits{suffix}"]
        torch.testing.assert_close(gradient, wanted[real], rtol=2e-6, atol=2e-8)


class TestWindow:
    def test_a_repeated_token(self) -> None:
        """In the set it counts once, whatever place of the window it has."""
        targets = torch.tensor([[1, 1, 2, 1, 3]])
        logits = torch.zeros(5, 4, dtype=torch.float64)
        for variant, counted in (("paper", [1, 1, 2, 2, 3]), ("released", [1, 1, 3, 2, 5])):
            objective = CT(GivenLogits(logits), variant=variant)  # type: ignore[arg-type]
            found = objective.step_loss(batch_of(targets))
            expected = torch.tensor(counted, dtype=torch.float64).log().sum()
            torch.testing.assert_close(found.terms["contrastive"], expected, **EXACT)

    def test_large_differences_are_finite(self) -> None:
        """The released code's exponential overflows here."""
        logits = torch.zeros(2, 4)
        logits[1, 1] = 900.0
        backbone = GivenLogits(logits)
        found = CT(backbone).step_loss(batch_of(torch.tensor([[1, 2]])))
        assert float(found.terms["contrastive"]) == pytest.approx(900)
        (gradient,) = torch.autograd.grad(found.total, [backbone.logits])
        assert gradient.isfinite().all()
