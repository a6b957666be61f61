"""Objectives of positions alone: golden vectors, settings at which a loss is another one, numbers worked by hand.

Every golden case runs through a step of the class, with the head in its fast and in its plain form.
"""

from typing import Any

import pytest
import torch

from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import assert_golden, modern_case, step_of
from tests.models.still import KINDS, batch

EXACT = {"rtol": 1e-9, "atol": 1e-9}

GOLDEN: list[tuple[str, str, str, dict[str, str]]] = [
    ("label_smoothing", "", "label_smoothing", {"eps": "eps"}),
    ("label_smoothing", "_others", "label_smoothing.others", {"eps": "eps"}),
    ("label_smoothing", "_unigram", "label_smoothing.unigram", {"eps": "eps"}),
    ("confidence_penalty", "", "confidence_penalty", {"beta": "beta"}),
    ("gem", "", "gem", {}),
    ("gem", "_logsigmoid", "gem.log_sigmoid", {}),
    ("gem", "_logsigmoid_as_coded", "gem.released", {}),
    ("entmax", "", "entmax", {"alpha": "alpha"}),
    ("scalegrad", "", "scalegrad", {"gamma": "gamma"}),
    ("scalegrad", "_as_coded", "scalegrad.released", {"gamma": "gamma"}),
    ("tailr", "", "tailr", {"gamma": "gamma", "floor": "min_weight"}),
    ("mixce", "", "tailr.mixce", {"eta": "eta"}),
    ("dft", "", "tailr.dft", {}),
    ("power", "", "tailr.power", {"k": "k"}),
]
"""Family and suffix of the arrays, the method, and which number of a case is which of its options."""


def made(name: str, backbone: Any, case: Any, **options: Any) -> Objective:
    """A method, with the unigram distribution of the case if it asks for one."""
    method = find_method(name)
    objective: Objective = method.kind(backbone, **{**method.values("method"), **options})
    if objective.uses_token_counts:
        objective.prepare(case["unigram"] * 1000)
    return objective


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(("family", "suffix", "name", "numbers"), GOLDEN)
def test_value_and_gradient(family: str, suffix: str, name: str, numbers: dict[str, str], number: int) -> None:
    case = modern_case(f"{family}_{number}")
    options = {option: case.params[parameter] for option, parameter in numbers.items()}
    assert_golden(f"{family}_{number}", lambda backbone: made(name, backbone, case, **options), suffix)


@pytest.mark.parametrize("form", ["top_p", "bottom_p", "top_logp", "bottom_logp"])
@pytest.mark.parametrize("number", [0, 1])
def test_thresholded_forms_of_the_power_family(number: int, form: str) -> None:
    case = modern_case(f"power_{number}")
    options = {"form": form, "q": case.params["thresholds"]["q"]}
    assert_golden(f"power_{number}", lambda backbone: made("tailr", backbone, case, **options), f"_{form}")


LIKELIHOOD: list[tuple[str, dict[str, Any]]] = [
    ("label_smoothing", {"eps": 0.0}),
    ("label_smoothing.others", {"eps": 0.0}),
    ("confidence_penalty", {"beta": 0.0}),
    ("scalegrad", {"gamma": 1.0}),
    ("tailr", {"gamma": 0.0}),
    ("tailr.mixce", {"eta": 1.0}),
    ("tailr.power", {"k": 0.0}),
    ("simctg", {"margin": 0.0}),
    ("simctg.released", {"margin": 0.0}),
    ("ul_token", {"alpha": 0.0}),
    ("histalign", {"alpha": 0.0}),
    ("mtp", {"heads": 1}),
    ("ditto", {"mix": 0.0}),
    ("loss_truncation", {}),  # before the first cut
    ("loss_truncation.released", {}),
    ("face", {"form": "opr"}),  # before anything is counted
    ("face", {"form": "opo"}),
    ("face", {"form": "gpr"}),
    ("face", {"form": "gpo"}),
    ("gold", {"floor": 1.0, "least": 1.0, "gamma": 0.0}),  # a policy at its floor, and rewards of 1
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "options"), LIKELIHOOD)
def test_settings_that_are_maximum_likelihood(name: str, options: dict[str, Any], kind: str) -> None:
    """In value and in the gradient of every parameter."""
    objective = made(name, still.backbone(kind), None, **options).double()
    objective.setup_run(RunContext(reference=MLE(still.backbone(kind, seed=1))))
    given: Any = {**batch(kind), "step": 3}
    expected = MLE(objective.backbone).step_loss(batch(kind)).total
    still.assert_same_gradients(objective, objective.step_loss(given).total, expected)


def test_the_gradient_of_linear_gem_is_that_of_likelihood_at_a_temperature() -> None:
    """It is softmax(z / beta) less the target, what `mle` has by y = z / beta; and at beta = 1 that of `mle` itself."""
    case = modern_case("gem_0")
    real = case["targets"] != IGNORED
    for beta in (0.3, 0.7, 1.0):
        value, found = step_of(case, lambda backbone, beta=beta: made("gem", backbone, case, beta=beta))
        expected = (case["logits"][real] / beta).softmax(1)
        expected[torch.arange(len(expected)), case["targets"][real]] -= 1
        torch.testing.assert_close(found, expected, **EXACT)
    likelihood, gradient = step_of(case, MLE)
    torch.testing.assert_close(found, gradient, **EXACT)
    assert value < likelihood  # by the entropy
    half = step_of(case, lambda backbone: made("gem.log_sigmoid", backbone, case, scale=0.0))
    whole = step_of(case, lambda backbone: made("gem", backbone, case))
    torch.testing.assert_close(half, (whole[0] / 2, whole[1] / 2), **EXACT)  # sigmoid(0) is one half


@pytest.mark.parametrize("number", [0, 1])
def test_one_gradient_under_four_names(number: int) -> None:
    """DFT is TaiLr(1, floor 0), MixCE(0) in value too, and power(1) in gradient; GOLD without a floor is it as well."""
    case = modern_case(f"nll_{number}")
    dft = step_of(case, lambda backbone: made("tailr.dft", backbone, case))
    for name, options in (("tailr", {"gamma": 1.0, "floor": 0.0}), ("tailr.mixce", {"eta": 0.0})):
        found = step_of(case, lambda backbone, name=name, options=options: made(name, backbone, case, **options))
        torch.testing.assert_close(found, dft, **EXACT)
    value, gradient = step_of(case, lambda backbone: made("tailr.power", backbone, case))
    torch.testing.assert_close(gradient, dft[1], **EXACT)
    assert value > dft[0] + 1
    gold = made("gold", still.backbone("gpt2"), case, floor=0.0, least=1.0, gamma=0.0)
    gold.setup_run(RunContext(reference=MLE(still.backbone("gpt2", seed=1))))
    total = made("tailr.dft", gold.backbone, case).step_loss(batch("gpt2")).total
    still.assert_same_gradients(gold, gold.step_loss(batch("gpt2")).total, total)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("tailr", {"form": "power", "gamma": 0.5}, "gamma=0.5 has no effect with form=power, only with form tailr"),
        ("gem", {"beta": 1.5}, "'beta' must be at least 0.05 and at most 1, not 1.5"),
        ("histalign", {"margin": float("inf")}, "'margin' must be a finite number, not 'inf'"),
        ("histalign", {"variant": "relased"}, "'variant' must be one of paper, released, mean, not 'relased'; did"),
        ("loss_truncation", {"size": 20, "min_count": 10}, "min_count is at least size, .* got min_count=10"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        made(name, still.backbone("gpt2"), None, **options)
