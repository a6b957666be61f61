"""ScaleGrad as a class: golden values and gradients, its identities, batches, rows without a target."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from bench.errors import UsageError
from bench.models.core.states import IGNORED
from bench.models.mle import MLE
from bench.models.scalegrad import ScaleGrad
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden, step_of
from tests.models.still import KINDS, batch


@pytest.mark.parametrize(("variant", "suffix"), [("paper", ""), ("released", "_as_coded")])
@pytest.mark.parametrize("name", ["scalegrad_0", "scalegrad_1"])
def test_golden(name: str, variant: Any, suffix: str) -> None:
    gamma = modern_case(name).params["gamma"]
    assert_golden(name, lambda backbone: ScaleGrad(backbone, gamma=gamma, variant=variant), suffix)


@pytest.mark.parametrize("name", ["scalegrad_0", "scalegrad_1"])
def test_gradient_is_that_of_logits_with_a_bonus(name: str) -> None:
    """Cross-entropy with log(gamma) added to the logits of novel tokens."""
    case = modern_case(name)
    gamma, real = case.params["gamma"], case["targets"] != IGNORED
    shifted = torch.where(case["seen"], case["logits"], case["logits"] + math.log(gamma))
    expected = shifted[real].softmax(-1) - torch.nn.functional.one_hot(case["targets"][real], shifted.shape[-1])
    _, gradient = step_of(case, lambda backbone: ScaleGrad(backbone, gamma=gamma))
    torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_one_is_maximum_likelihood(kind: str) -> None:
    objective = ScaleGrad(still.backbone(kind), gamma=1.0)
    expected = MLE(objective.backbone).step_loss(batch(kind)).total
    still.assert_same_gradients(objective, objective.step_loss(batch(kind)).total, expected)


def even(targets: list[int]) -> float:
    """Loss of a row under three tokens that are even, with gamma = 1/2."""
    logits = torch.zeros(len(targets), 3, dtype=torch.float64)
    loss = ScaleGrad(GivenLogits(logits), gamma=0.5).step_loss(batch_of(torch.tensor([targets])))
    return float(loss.total.detach())


def test_by_hand() -> None:
    """The first target costs log 3; then a seen one log(1 + 2 gamma), a novel one log((1 + 2 gamma) / gamma)."""
    assert even([1, 1]) == pytest.approx(math.log(3) + math.log(2))
    assert even([1, 2]) == pytest.approx(math.log(3) + math.log(4))


def test_a_token_counts_once() -> None:
    """Seen three times, it weighs as seen once."""
    assert even([1, 1, 1, 2]) == pytest.approx(math.log(3) + 2 * math.log(2) + math.log(4))


def test_gamma_is_above_zero() -> None:
    with pytest.raises(UsageError, match="option 'gamma' is above 0 and at most 1, not 0"):
        ScaleGrad(still.backbone("gpt2"), gamma=0.0)
