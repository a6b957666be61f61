"""TaiLr and its family: golden values and gradients of every form, one gradient under four names, limits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.base.entries import all_names
from bench.base.options import read_options
from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models import METHODS, one_gradient
from bench.models.mle import MLE
from bench.models.tailr import TaiLr
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.modern_cases import modern_case
from tests.models.modern_steps import assert_golden, step_of

CASES = ["0", "1"]
FORMS: list[dict[str, Any]] = [
    {}, {"form": "mixce"}, {"form": "power"}, {"form": "power", "k": 10.0}, {"form": "top_p"}, {"form": "bottom_logp"},
]  # fmt: skip
EXACT = {"rtol": 1e-9, "atol": 1e-12}


class TestGolden:
    @pytest.mark.parametrize("case", CASES)
    def test_tailr(self, case: str) -> None:
        given = modern_case(f"tailr_{case}").params
        options = {"gamma": given["gamma"], "floor": given["min_weight"]}
        assert_golden(f"tailr_{case}", lambda backbone: TaiLr(backbone, **options))

    @pytest.mark.parametrize("case", CASES)
    def test_mixce(self, case: str) -> None:
        eta = modern_case(f"mixce_{case}").params["eta"]
        assert_golden(f"mixce_{case}", lambda backbone: TaiLr(backbone, form="mixce", eta=eta))

    @pytest.mark.parametrize("case", CASES)
    def test_dft(self, case: str) -> None:
        assert_golden(f"dft_{case}", lambda backbone: find_method("tailr.dft").objective(backbone))

    @pytest.mark.parametrize("case", CASES)
    def test_power(self, case: str) -> None:
        k = modern_case(f"power_{case}").params["k"]
        assert_golden(f"power_{case}", lambda backbone: TaiLr(backbone, form="power", k=k))

    @pytest.mark.parametrize("form", ["top_p", "bottom_p", "top_logp", "bottom_logp"])
    @pytest.mark.parametrize("case", CASES)
    def test_thresholded(self, case: str, form: Any) -> None:
        q = modern_case(f"power_{case}").params["thresholds"]["q"]
        assert_golden(f"power_{case}", lambda backbone: TaiLr(backbone, form=form, q=q), f"_{form}")


def found(case: str, **options: Any) -> tuple[Tensor, Tensor]:
    """Value and gradient of a form on golden logits."""
    return step_of(modern_case(f"nll_{case}"), lambda backbone: TaiLr(backbone, **options))


class TestIdentities:
    @pytest.mark.parametrize("case", CASES)
    def test_one_gradient_under_four_names(self, case: str) -> None:
        """DFT is TaiLr(1, floor 0), MixCE(0) in value too, and power(1) in gradient."""
        dft = step_of(modern_case(f"nll_{case}"), lambda backbone: find_method("tailr.dft").objective(backbone))
        for options in ({"gamma": 1.0, "floor": 0.0}, {"form": "mixce", "eta": 0.0}):
            torch.testing.assert_close(found(case, **options), dft, **EXACT)
        value, gradient = found(case, form="power", k=1.0)
        torch.testing.assert_close(gradient, dft[1], **EXACT)
        assert value > dft[0] + 1

    @pytest.mark.parametrize("options", [{"gamma": 0.0}, {"form": "mixce", "eta": 1.0}, {"form": "power", "k": 0.0}])
    @pytest.mark.parametrize("case", CASES)
    def test_limits_are_maximum_likelihood(self, case: str, options: dict[str, Any]) -> None:
        torch.testing.assert_close(found(case, **options), step_of(modern_case(f"nll_{case}"), MLE), **EXACT)

    @pytest.mark.parametrize("case", CASES)
    def test_a_small_power_is_near_likelihood(self, case: str) -> None:
        torch.testing.assert_close(
            found(case, form="power", k=1e-6), step_of(modern_case(f"nll_{case}"), MLE), rtol=1e-3, atol=1e-3
        )

    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("name", METHODS["tailr"].gradients)
    def test_settings_that_the_table_calls_one_gradient_have_it(self, name: str, case: str) -> None:
        gradients = [found(case, **options)[1] for options in METHODS["tailr"].gradients[name]]
        assert len(gradients) == 3
        for gradient in gradients:
            torch.testing.assert_close(gradient, gradients[0], **EXACT)

    def test_the_table_finds_every_name_that_has_one(self) -> None:
        """With the defaults of the class in place, as in a stored configuration."""
        for label, names in one_gradient().items():
            for name in all_names(METHODS):
                method = find_method(name)
                options = read_options(method.kind, method.values("method"), name)
                assert (METHODS[name.partition(".")[0]].gradient(options) == label) == (name in names), name


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"form": "power", "gamma": 0.5},
            "gamma=0.5 has no effect with form=power, only with form tailr; leave it out",
        ),
        ({"k": 2.0}, "k=2.0 has no effect with form=tailr, only with form power"),
        ({"form": "mixce", "q": 0.2}, "q=0.2 has no effect with form=mixce, only with form top_p or bottom_p or"),
    ],
)
def test_a_number_of_another_form_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        TaiLr(still.backbone("gpt2"), **options)


def test_it_is_fine_tuned() -> None:
    assert {find_method(name).parent for name in ("tailr", "tailr.mixce", "tailr.power", "tailr.dft")} == {"mle"}


def test_without_gamma_a_target_of_probability_0_counts_as_in_likelihood() -> None:
    logits = torch.tensor([[0.0, 120.0, 1.0]])  # p of the first token is 0 in float32
    objective = TaiLr(GivenLogits(logits), gamma=0.0, floor=0.0)
    total = objective.step_loss(batch_of(torch.tensor([[0]]))).total
    torch.testing.assert_close(total, torch.tensor(120.0).to(total))
