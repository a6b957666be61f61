"""SimCTG and CT as classes: golden vectors in value and gradient, batches, windows."""

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED
from bench.models.ct import CT
from bench.models.functional.token_losses import pair_hinges
from bench.models.mle import MLE
from bench.models.simctg import SimCTG
from tests.models.given_logits import GivenLogits, batch_of, modern_case

EXACT = {"rtol": 1e-9, "atol": 1e-9}


def contrastive_gradient(backbone: GivenLogits, objective: Objective, targets: Tensor) -> Tensor:
    """Gradient of the loss by the states, without that of maximum likelihood; 0 where there is no target."""
    (whole,) = torch.autograd.grad(objective.step_loss(batch_of(targets)).total, [backbone.logits])
    (of_nll,) = torch.autograd.grad(MLE(backbone).step_loss(batch_of(targets)).total, [backbone.logits])
    found = torch.zeros((*targets.shape, backbone.width), dtype=torch.float64)
    found[targets != IGNORED] = whole - of_nll
    return found


@pytest.mark.parametrize("case", ["simctg_0", "simctg_1"])
class TestGoldenSimCTG:
    """The states are those of the positions with a target; the head is the identity."""

    def test_paper(self, case: str) -> None:
        """Each row's mean counts as much as the row has targets."""
        golden = modern_case(case)
        valid = golden["valid"]
        targets = torch.full(valid.shape, IGNORED).masked_fill(valid, 1)
        backbone = GivenLogits(golden["hidden"][valid])
        objective = SimCTG(backbone, margin=golden.params["rho"])
        weights = valid.sum(1).double()  # [B]
        found = objective.step_loss(batch_of(targets))
        torch.testing.assert_close(found.terms["contrastive"], golden["per_row"] @ weights, **EXACT)
        gradient = contrastive_gradient(backbone, objective, targets)
        torch.testing.assert_close(gradient, golden["grad_hidden"] * weights[:, None, None], rtol=2e-6, atol=2e-8)

    def test_released(self, case: str) -> None:
        """One mean over the pairs of all rows, as a mean over target tokens."""
        golden = modern_case(case)
        valid = golden["valid"]
        targets = torch.full(valid.shape, IGNORED).masked_fill(valid, 1)
        backbone = GivenLogits(golden["hidden"][valid])
        objective = SimCTG(backbone, margin=golden.params["rho"], variant="released")
        found = objective.step_loss(batch_of(targets))
        pairs = valid.sum(1) * (valid.sum(1) - 1)  # [B]
        expected = golden["per_row"] @ pairs.double() / pairs.sum()
        torch.testing.assert_close(found.terms["contrastive"] / valid.sum(), expected, **EXACT)
        gradient = contrastive_gradient(backbone, objective, targets) / valid.sum()
        torch.testing.assert_close(gradient, golden["grad_hidden_as_coded"], rtol=2e-6, atol=2e-8)


def test_cosines_keep_float32_under_autocast() -> None:
    hidden = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0)) + 3
    real = torch.ones(2, 6, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = pair_hinges(hidden, real, 0.5)
    torch.testing.assert_close(found.double(), pair_hinges(hidden.double(), real, 0.5)[0], rtol=1e-5, atol=0)


class TestGoldenCT:
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
