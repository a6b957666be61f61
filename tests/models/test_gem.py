"""GEM: golden values and gradients of every form, and what its linear form is: maximum likelihood at a temperature."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models.core.states import IGNORED, slices
from bench.models.gem import GEM
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden, step_of

CASES = ["gem_0", "gem_1"]
FORMS: list[dict[str, Any]] = [{}, {"h": "log_sigmoid"}, {"h": "log_sigmoid", "scale": 0.01}]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


class TestGolden:
    @pytest.mark.parametrize(
        ("method", "suffix"),
        [("gem", ""), ("gem.log_sigmoid", "_logsigmoid"), ("gem.released", "_logsigmoid_as_coded")],
    )
    @pytest.mark.parametrize("name", CASES)
    def test_every_variant(self, name: str, method: str, suffix: str) -> None:
        assert modern_case(name).params == {"beta": 0.7, "scale_as_coded": 0.01}
        assert_golden(name, lambda backbone: find_method(method).objective(backbone), suffix)

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("name", CASES)
    def test_every_form_is_its_definition(self, name: str, form: dict[str, Any]) -> None:
        """-sum of q a (log p of the target - log p), in value; q and a get no gradient."""
        case = modern_case(name)
        real = case["targets"] != IGNORED
        logits, targets = case["logits"][real], case["targets"][real]
        objective = GEM(GivenLogits(logits), **form)
        (rows,) = slices(objective.backbone.states(batch_of(case["targets"])), 99)
        above = logits.log_softmax(1) - logits.log_softmax(1).gather(1, targets[:, None])
        weights = (logits / 0.7).softmax(1)
        if form:
            weights = weights * (form.get("scale", 1.0) * above).sigmoid()
        losses, _ = objective.position_loss(rows)
        torch.testing.assert_close(losses.detach(), (weights * above).sum(1), **EXACT)


def tempered_by(backbone: GivenLogits, beta: float) -> GivenLogits:
    """The same with its logits divided by a number, in place."""
    backbone.logits.data.div_(beta)
    return backbone


class TestIdentities:
    @pytest.mark.parametrize("beta", [0.3, 0.7])
    @pytest.mark.parametrize("name", CASES)
    def test_the_linear_form_is_likelihood_at_a_temperature(self, name: str, beta: float) -> None:
        """Its gradient by z is softmax(z / beta) less the target: what MLE has by y = z / beta."""
        case = modern_case(name)
        real = case["targets"] != IGNORED
        _, found = step_of(case, lambda backbone: GEM(backbone, beta=beta))
        _, tempered = step_of(case, lambda backbone: MLE(tempered_by(backbone, beta)))
        torch.testing.assert_close(found, tempered, **EXACT)
        expected = (case["logits"][real] / beta).softmax(1)
        expected[torch.arange(len(expected)), case["targets"][real]] -= 1
        torch.testing.assert_close(found, expected, **EXACT)

    @pytest.mark.parametrize("name", CASES)
    def test_at_one_the_gradient_is_that_of_likelihood(self, name: str) -> None:
        case = modern_case(name)
        value, gradient = step_of(case, lambda backbone: GEM(backbone, beta=1.0))
        likelihood, expected = step_of(case, MLE)
        torch.testing.assert_close(gradient, expected, **EXACT)
        assert value < likelihood  # by the entropy

    def test_the_released_scale_is_half_of_the_linear_form(self) -> None:
        """sigmoid(0) is one half."""
        case = modern_case(CASES[0])
        tiny = step_of(case, lambda backbone: GEM(backbone, h="log_sigmoid", scale=0.0))
        value, gradient = step_of(case, GEM)
        torch.testing.assert_close(tiny, (value / 2, gradient / 2), **EXACT)

    @pytest.mark.parametrize("form", FORMS)
    def test_nothing_is_learned_where_the_copy_agrees(self, form: dict[str, Any]) -> None:
        """A target that the copy is sure of has neither loss nor gradient."""
        backbone = GivenLogits(torch.tensor([[0.0, 300.0, -300.0]]))
        total = GEM(backbone, **form).step_loss(batch_of(torch.tensor([[1]]))).total
        total.backward()
        assert float(total.detach()) == 0
        assert backbone.logits.grad is not None
        assert backbone.logits.grad.tolist() == [[0.0, 0.0, 0.0]]


def test_which_forms_are_fast() -> None:
    assert [GEM(still.backbone("gpt2"), **form).has_fast_form for form in FORMS] == [True] * 3


def test_a_temperature_of_at_most_one() -> None:
    with pytest.raises(UsageError, match=r"'beta' is at least 0.05 and at most 1, not 1.5"):
        GEM(still.backbone("gpt2"), beta=1.5)
