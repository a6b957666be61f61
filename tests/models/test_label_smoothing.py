"""Label smoothing: golden values and gradients of every distribution, PyTorch's own, limits."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

from bench.errors import UsageError
from bench.models.core.states import IGNORED
from bench.models.label_smoothing import LabelSmoothing
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden, step_of
from tests.models.still import batch

CASES = ["label_smoothing_0", "label_smoothing_1"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def smoothed(name: str, backbone: Any, **options: Any) -> LabelSmoothing:
    """A method that knows the case's unigram distribution, if it asks for it."""
    case = modern_case(name)
    objective = LabelSmoothing(backbone, **{"eps": case.params["eps"], **options})
    if objective.uses_token_counts:
        objective.prepare(case["unigram"] * 1000)
    return objective


class TestGolden:
    @pytest.mark.parametrize("distribution", ["uniform", "others", "unigram"])
    @pytest.mark.parametrize("name", CASES)
    def test_every_distribution(self, name: str, distribution: Any) -> None:
        suffix = {"uniform": ""}.get(distribution, f"_{distribution}")
        assert_golden(name, lambda backbone: smoothed(name, backbone, distribution=distribution), suffix)

    @pytest.mark.parametrize("name", CASES)
    def test_pytorch(self, name: str) -> None:
        case = modern_case(name)
        real = case["targets"] != IGNORED
        expected = functional.cross_entropy(
            case["logits"][real], case["targets"][real], label_smoothing=0.3, reduction="sum"
        )
        total, _ = step_of(case, lambda backbone: LabelSmoothing(backbone, eps=0.3))
        torch.testing.assert_close(total, expected, **EXACT)


class TestLimits:
    @pytest.mark.parametrize("distribution", ["uniform", "others", "unigram"])
    def test_without_smoothing_it_is_maximum_likelihood(self, distribution: Any) -> None:
        name = CASES[1]
        found = step_of(modern_case(name), lambda b: smoothed(name, b, eps=0.0, distribution=distribution))
        torch.testing.assert_close(found, step_of(modern_case(name), MLE), **EXACT)

    def test_the_others_are_uniform_with_a_larger_share(self) -> None:
        case = modern_case(CASES[0])
        size = case["logits"].shape[-1]
        others = step_of(case, lambda b: LabelSmoothing(b, eps=0.2, distribution="others"))
        uniform = step_of(case, lambda b: LabelSmoothing(b, eps=0.2 * size / (size - 1)))
        torch.testing.assert_close(others, uniform, **EXACT)

    def test_the_best_distribution_is_the_smoothed_target(self) -> None:
        """There the gradient is zero: 1 - eps + eps / V at the target and eps / V elsewhere."""
        q = torch.full((1, 5), 0.3 / 5, dtype=torch.float64)
        q[0, 2] += 0.7
        backbone = GivenLogits(q.log())
        targets = torch.tensor([[2]])
        objective = LabelSmoothing(backbone, eps=0.3)
        objective.step_loss(batch_of(targets)).total.backward()
        assert backbone.logits.grad is not None
        torch.testing.assert_close(backbone.logits.grad, torch.zeros(1, 5, dtype=torch.float64), **EXACT)


def test_terms() -> None:
    found = LabelSmoothing(still.backbone("gpt2"), eps=0.2).step_loss(batch("gpt2"))
    torch.testing.assert_close(found.terms["mle"] + found.terms["smoothing"], found.total.detach(), **EXACT)


def test_only_the_unigram_distribution_counts_tokens() -> None:
    backbone = still.backbone("gpt2")
    assert not LabelSmoothing(backbone).uses_token_counts
    objective = LabelSmoothing(backbone, distribution="unigram")
    assert objective.uses_token_counts
    objective.prepare(torch.arange(backbone.vocabulary_size))
    assert torch.equal(objective.state_dict()["counts"], torch.arange(backbone.vocabulary_size))


def test_weights_of_whole_counts_are_exact() -> None:
    """One of twelve targets has the weight 1/12 in float64; in float32 it would be 0.0833333358."""
    logits = torch.zeros(1, 4, dtype=torch.float64)
    logits[0, 3] = 1.0
    objective = LabelSmoothing(GivenLogits(logits), eps=0.5, distribution="unigram")
    objective.prepare(torch.tensor([3, 4, 4, 1]))
    loss = objective.step_loss(batch_of(torch.tensor([[0]]))).total.item()
    lse = math.log(3 + math.e)
    assert loss == pytest.approx(0.5 * lse + 0.5 * (lse - 1 / 12), rel=1e-15)


def test_a_share_below_one() -> None:
    with pytest.raises(UsageError, match="'eps' is at least 0 and below 1, not 1"):
        LabelSmoothing(still.backbone("gpt2"), eps=1.0)
