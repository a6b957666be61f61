"""The confidence penalty: golden values and gradients, its limit, certainty."""

from __future__ import annotations

import math

import pytest
import torch

from bench.models.confidence_penalty import ConfidencePenalty
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden, step_of
from tests.models.still import batch

CASES = ["confidence_penalty_0", "confidence_penalty_1"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    beta = modern_case(name).params["beta"]
    assert_golden(name, lambda backbone: ConfidencePenalty(backbone, beta=beta))


@pytest.mark.parametrize("name", CASES)
def test_without_a_penalty_it_is_maximum_likelihood(name: str) -> None:
    case = modern_case(name)
    found = step_of(case, lambda backbone: ConfidencePenalty(backbone, beta=0.0))
    torch.testing.assert_close(found, step_of(case, MLE), **EXACT)


def test_of_a_flat_row() -> None:
    """Worked by hand: both -log p and H are log V, and the entropy has no slope there."""
    backbone = GivenLogits(torch.zeros(1, 8, dtype=torch.float64))
    total = ConfidencePenalty(backbone, beta=0.5).step_loss(batch_of(torch.tensor([[3]]))).total
    assert float(total.detach()) == pytest.approx(0.5 * math.log(8))
    total.backward()
    assert backbone.logits.grad is not None
    assert backbone.logits.grad[0].tolist() == pytest.approx([1 / 8 - (token == 3) for token in range(8)])


def test_of_a_certain_row() -> None:
    """In float32, where all but the target underflow: no entropy, and a finite gradient."""
    backbone = GivenLogits(torch.tensor([[0.0, 500.0, -500.0]]))
    total = ConfidencePenalty(backbone, beta=2.0).step_loss(batch_of(torch.tensor([[1]]))).total
    assert float(total.detach()) == 0
    total.backward()
    assert backbone.logits.grad is not None
    assert backbone.logits.grad.tolist() == [[0.0, 0.0, 0.0]]


def test_terms() -> None:
    found = ConfidencePenalty(still.backbone("gpt2"), beta=0.5).step_loss(batch("gpt2"))
    torch.testing.assert_close(found.terms["mle"] + found.terms["penalty"], found.total.detach(), **EXACT)
    assert found.terms["penalty"] < 0
