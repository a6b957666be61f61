"""MTP as a class: golden vectors, what each head predicts, and that the first one is the model."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bench.models.core.states import IGNORED
from bench.models.mle import MLE
from bench.models.mtp import MTP
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of, modern_case
from tests.models.still import KINDS, batch

CASES = ["mtp_0", "mtp_1"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def made(kind: str, **options: Any) -> MTP:
    torch.manual_seed(0)
    return MTP(still.backbone(kind), **options).double()


class Answer(nn.Module):
    """A head whose state is a given one: what it adds to any state is the difference.

    Args:
        answer: [B, T, V].
    """

    def __init__(self, answer: Tensor) -> None:
        super().__init__()
        self.answer = nn.Parameter(answer.clone())

    def forward(self, hidden: Tensor) -> Tensor:
        return self.answer - hidden


class Capped(GivenLogits):
    """A head that is no matrix product, so that the loss takes its plain form."""

    def linear_head(self) -> None:  # type: ignore[override]
        return None


class TestGolden:
    @pytest.mark.parametrize("backbone", [GivenLogits, Capped])
    @pytest.mark.parametrize("name", CASES)
    def test_value_and_gradient(self, name: str, backbone: type[GivenLogits]) -> None:
        """In the fast form, and in the plain one."""
        case = modern_case(name)
        targets, logits, n_heads = case["targets"], case["logits"], case.params["heads"]
        objective = MTP(backbone(logits[0][targets != IGNORED]), heads=n_heads)
        objective.later_heads = nn.ModuleList([Answer(answer) for answer in logits[1:]])
        found = objective.step_loss(batch_of(targets))
        torch.testing.assert_close(found.total, case["rows"].nansum(), **EXACT)
        assert found.n_target_tokens == (targets != IGNORED).sum()
        for number in range(n_heads):
            torch.testing.assert_close(found.terms[f"head_{number + 1}"], case["rows"][number].nansum(), **EXACT)
        answers = [head.answer for head in objective.later_heads]
        first, *rest = torch.autograd.grad(found.total, [objective.backbone.logits, *answers])  # type: ignore[list-item]
        wanted = case["grad_logits"]
        torch.testing.assert_close(first, wanted[0][targets != IGNORED], rtol=1e-8, atol=1e-10)
        for gradient, expected in zip(rest, wanted[1:], strict=True):
            torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-10)


class TestTargets:
    def test_rows_too_short_for_the_last_head(self) -> None:
        """Its parameters have gradients all the same, of zero: all ranks wait for each other's."""
        objective = made("gpt2", heads=3)
        given = still.rows_of([[1, 5, 6]], [[IGNORED, 5, 6]])
        found = objective.step_loss(given)
        assert found.terms["head_3"] == 0
        gradients = torch.autograd.grad(found.total, list(objective.later_heads[1].parameters()))
        assert not any(gradient.any() for gradient in gradients)


class TestHeads:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_first_is_the_model(self, kind: str) -> None:
        """Its likelihood, and so its texts, are those of the trunk."""
        objective = made(kind, heads=3)
        alone = MLE(objective.backbone)
        states, given = objective.states(batch(kind)), batch(kind)
        for (_, found), (_, expected) in zip(objective.nll(states), alone.nll(alone.states(given)), strict=True):
            assert torch.equal(found, expected)
