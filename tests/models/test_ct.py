"""CT as a class: golden vectors in value and gradient, every form of its loss, batches, and what it does to texts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.core.sliced_loss import summed
from bench.models.core.states import IGNORED, slice_indices, slice_of
from bench.models.ct import CT
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.still import KINDS, batch

VARIANTS = ["paper", "released"]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def made(kind: str, **options: Any) -> CT:
    return CT(still.backbone(kind), **options)


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


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
class TestForms:
    @pytest.mark.parametrize(("window", "length"), [(3, 5), (2, 150), (60, 150)])
    def test_fused_generic_and_plain(self, kind: str, variant: str, window: int, length: int) -> None:
        """One loss and one gradient, whichever way the head is run; slices of 5 cut rows in time."""
        objective = made(kind, variant=variant, window=window, length=length)
        states = objective.backbone.states(batch(kind))
        (index,) = slice_indices(states.targets, states.targets.numel())
        plain = objective.position_loss(slice_of(states, index))[0].sum()
        generic = summed(
            objective.backbone.states(batch(kind)), objective.position_loss, objective.head_parameters(), 5
        )
        still.assert_same_gradients(objective, generic.total, plain)
        expected = by_hand(objective, kind)
        still.assert_same_gradients(objective, objective.step_loss(batch(kind)).total, expected)


def by_hand(objective: CT, kind: str) -> Tensor:
    """The loss by loops over windows, in plain autograd."""
    states = objective.backbone.states(batch(kind))
    logits = objective.backbone.head(states.hidden)
    log_p, total = logits.log_softmax(-1), logits.new_zeros(())
    for row, targets in enumerate(states.targets.tolist()):
        places = [place for place, target in enumerate(targets) if target != IGNORED]
        before: list[int] = []
        for number, place in enumerate(places):
            target = targets[place]
            total = total - log_p[row, place, target]
            window = before[-objective.window :]
            if objective.variant == "paper":
                window = sorted(set(window))
            if number < objective.length:
                others = [token for token in window if token != target]
                ratios = (logits[row, place, others] - logits[row, place, target]).exp()
                total = total + len(places) / min(len(places), objective.length) * torch.log1p(ratios.sum())
            before.append(target)
    return total


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

    def test_source_tokens_are_outside(self) -> None:
        found = made("gpt2").step_loss(still.rows_of([[1, 9, 9, 5]], [[IGNORED, IGNORED, IGNORED, 5]]))
        assert found.terms["contrastive"] == 0

    def test_large_differences_are_finite(self) -> None:
        """The released code's exponential overflows here."""
        logits = torch.zeros(2, 4)
        logits[1, 1] = 900.0
        backbone = GivenLogits(logits)
        found = CT(backbone).step_loss(batch_of(torch.tensor([[1, 2]])))
        assert float(found.terms["contrastive"]) == pytest.approx(900)
        (gradient,) = torch.autograd.grad(found.total, [backbone.logits])
        assert gradient.isfinite().all()
