"""What the modern objectives have in common: several names for one gradient, and settings that are plain likelihood.

Each loss is written here as the formula of its paper and must meet its golden vectors. Then the formula, at the setting
in question, must meet the vectors of another loss. So these are facts about the losses, not about the classes.

Shapes: N positions with a target, V tokens, D width of an embedding.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from bench.models.core.states import IGNORED
from tests.models.modern_cases import ModernCase, modern_case

CASES = [0, 1]
VALUE = {"rtol": 1e-9, "atol": 1e-9}
GRADIENT = {"rtol": 1e-5, "atol": 1e-7}
Loss = Callable[[Tensor, Tensor], Tensor]
"""Logits [N, V] and targets [N] to the loss of each, [N]."""


# The formulas -------------------------------------------------------------------------------------------------------


def log_p(z: Tensor, y: Tensor) -> Tensor:
    """Log-probability of each target."""
    return z.log_softmax(1).gather(1, y[:, None]).squeeze(1)


def nll(z: Tensor, y: Tensor) -> Tensor:
    return -log_p(z, y)


def dft(z: Tensor, y: Tensor) -> Tensor:
    return log_p(z, y).exp().detach() * nll(z, y)


def tailr(gamma: float, floor: float = 0.0) -> Loss:
    def loss(z: Tensor, y: Tensor) -> Tensor:
        p = log_p(z, y).exp().detach()
        return (p / (gamma + (1 - gamma) * p)).clamp(floor, 1) * nll(z, y)

    return loss


def mixce(eta: float) -> Loss:
    return lambda z, y: eta * nll(z, y) + (1 - eta) * dft(z, y)


def power(k: float) -> Loss:
    return lambda z, y: -torch.expm1(k * log_p(z, y)) / k


def focal(gamma: float) -> Loss:
    return lambda z, y: (1 - log_p(z, y).exp()) ** gamma * nll(z, y)


def label_smoothing(eps: float) -> Loss:
    return lambda z, y: (1 - eps) * nll(z, y) - eps * z.log_softmax(1).mean(1)


def confidence_penalty(beta: float) -> Loss:
    return lambda z, y: nll(z, y) + beta * (z.softmax(1) * z.log_softmax(1)).sum(1)


def scalegrad(gamma: float, seen: Tensor) -> Loss:
    """`seen` [N, V] says which tokens are not novel."""

    def loss(z: Tensor, y: Tensor) -> Tensor:
        scales = torch.full_like(z, gamma).masked_fill(seen, 1.0)
        return nll(z + scales.log(), y)

    return loss


def gem(beta: float, *, weighted: bool = False) -> Loss:
    """Linear h, or h = log sigmoid with its weights."""

    def loss(z: Tensor, y: Tensor) -> Tensor:
        q = (z / beta).softmax(1).detach()
        if weighted:
            q = q * torch.sigmoid(z - z.gather(1, y[:, None])).detach()
        return (q * (z.log_softmax(1) - log_p(z, y)[:, None])).sum(1)

    return loss


def emo(embedding: Tensor) -> Loss:
    """`embedding` [V, D]."""
    directions = normalize(embedding, dim=1)

    def loss(z: Tensor, y: Tensor) -> Tensor:
        distance = (z.softmax(1) * (1 - directions[y] @ directions.T)).sum(1)
        return (nll(z, y) + (nll(z, y) / distance).detach() * distance) / 2

    return loss


def entmax_probs(z: Tensor, alpha: float) -> Tensor:
    """alpha-entmax of each row [N, V] by bisection: ((alpha - 1) z - tau)_+ ^ (1 / (alpha - 1)) sums to one."""
    scaled = (alpha - 1) * z
    high = scaled.amax(1, keepdim=True)
    low, high = high - 1, high - z.shape[1] ** (1 - alpha)
    for _ in range(80):
        middle = (low + high) / 2
        too_much = (scaled - middle).clamp_min(0).pow(1 / (alpha - 1)).sum(1, keepdim=True) >= 1
        low, high = torch.where(too_much, middle, low), torch.where(too_much, high, middle)
    p = (scaled - low).clamp_min(0).pow(1 / (alpha - 1))
    return p / p.sum(1, keepdim=True)


def entmax(alpha: float) -> Loss:
    """Its value; the gradient p - e_y is that of p . z - z_y with p as it is, by the envelope theorem."""

    def loss(z: Tensor, y: Tensor) -> Tensor:
        p = entmax_probs(z.detach(), alpha)
        entropy = (p - p**alpha).sum(1) / (alpha * (alpha - 1))
        return (p * z).sum(1) - z.gather(1, y[:, None]).squeeze(1) + entropy

    return loss


# Comparing ----------------------------------------------------------------------------------------------------------


def measured(loss: Loss, case: ModernCase) -> tuple[Tensor, Tensor]:
    """Loss of each position with a target, [N], and gradient of their sum by its logits, [N, V]."""
    real = case["targets"] != IGNORED
    z = case["logits"][real].clone().requires_grad_()
    rows = loss(z, case["targets"][real])
    (gradient,) = torch.autograd.grad(rows.sum(), [z])
    return rows.detach(), gradient


def golden(case: ModernCase, suffix: str = "") -> tuple[Tensor, Tensor]:
    """The same, of the vectors."""
    real = case["targets"] != IGNORED
    return case[f"rows{suffix}"][real], case[f"grad_logits{suffix}"][real]


def assert_meets(found: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> None:
    """Compare values and gradients."""
    torch.testing.assert_close(found[0], expected[0], **VALUE)
    torch.testing.assert_close(found[1], expected[1], **GRADIENT)


def at_targets(case: ModernCase) -> tuple[Tensor, Tensor]:
    """Logits [N, V] of the positions with a target, and e_y, [N, V]."""
    real = case["targets"] != IGNORED
    z = case["logits"][real]
    return z, one_hot(case["targets"][real], z.shape[1]).double()


OF_ONE_NUMBER: dict[str, tuple[Callable[[float], Loss], str]] = {
    "mixce": (mixce, "eta"),
    "power": (power, "k"),
    "focal": (focal, "gamma"),
    "label_smoothing": (label_smoothing, "eps"),
    "confidence_penalty": (confidence_penalty, "beta"),
    "gem": (gem, "beta"),
    "entmax": (entmax, "alpha"),
}
"""The formula of each family, and which number of a case it takes."""


def formula(family: str, case: ModernCase) -> Loss:
    """The formula of a family with the numbers of a case."""
    given, real = case.params, case["targets"] != IGNORED
    if family == "scalegrad":
        return scalegrad(given["gamma"], case["seen"][real])
    if family == "emo":
        return emo(case["embedding"])
    if family == "tailr":
        return tailr(given["gamma"], given["min_weight"])
    if family in ("nll", "dft"):
        return {"nll": nll, "dft": dft}[family]
    make, parameter = OF_ONE_NUMBER[family]
    return make(given[parameter])


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize("family", ["nll", "dft", "scalegrad", "emo", "tailr", *OF_ONE_NUMBER])
def test_a_formula_meets_its_vectors(family: str, number: int) -> None:
    case = modern_case(f"{family}_{number}")
    assert_meets(measured(formula(family, case), case), golden(case))


# One gradient under several names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize("loss", [tailr(1.0), mixce(0.0)], ids=["tailr", "mixce"])
def test_dft_is_tailr_of_1_and_mixce_of_0(loss: Loss, number: int) -> None:
    """In value and gradient."""
    case = modern_case(f"dft_{number}")
    assert_meets(measured(loss, case), golden(case))


@pytest.mark.parametrize("number", CASES)
def test_dft_has_the_gradient_of_power_1(number: int) -> None:
    """Not its value: 1 - p."""
    case = modern_case(f"dft_{number}")
    values, gradient = measured(power(1.0), case)
    torch.testing.assert_close(gradient, golden(case)[1], **GRADIENT)
    assert not torch.allclose(values, golden(case)[0])


def test_the_vectors_of_power_1_and_of_dft_are_one_gradient() -> None:
    """Without any formula of ours."""
    assert modern_case("power_0").params["k"] == 1
    torch.testing.assert_close(modern_case("power_0")["grad_logits"], modern_case("dft_0")["grad_logits"], **GRADIENT)


@pytest.mark.parametrize("number", CASES)
def test_gold_is_a_weighted_likelihood_and_dft_with_weight_p(number: int) -> None:
    """With Q = 1, no floor and no lag its weight is p."""
    case = modern_case(f"gold_{number}")
    real = case["targets"] != IGNORED
    weights = case["weights"][real]
    assert_meets(measured(lambda z, y: weights * nll(z, y), case), golden(case))
    p = log_p(case["logits"][real], case["targets"][real]).exp()
    assert_meets(measured(lambda z, y: p * nll(z, y), case), golden(modern_case(f"dft_{number}")))


# Gradients that are known in closed form ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", CASES)
def test_linear_gem_is_tempered_likelihood(number: int) -> None:
    """Its gradient is softmax(z / beta) - e_y, that of beta times the cross-entropy at z / beta."""
    case = modern_case(f"gem_{number}")
    beta, (z, target) = case.params["beta"], at_targets(case)
    gradient = golden(case)[1]
    torch.testing.assert_close(gradient, (z / beta).softmax(1) - target, **GRADIENT)
    _, tempered = measured(lambda z, y: beta * nll(z / beta, y), case)
    torch.testing.assert_close(gradient, tempered, **GRADIENT)


@pytest.mark.parametrize("number", CASES)
def test_gem_of_a_weighted_form_is_another_gradient(number: int) -> None:
    case = modern_case(f"gem_{number}")
    assert_meets(measured(gem(case.params["beta"], weighted=True), case), golden(case, "_logsigmoid"))
    assert not torch.allclose(golden(case, "_logsigmoid")[1], golden(case)[1], atol=1e-2)


@pytest.mark.parametrize("number", CASES)
def test_scalegrad_is_likelihood_with_scaled_probabilities(number: int) -> None:
    """Its gradient is p~ - e_y, with p~ made of gamma p on novel tokens and of p on the others."""
    case = modern_case(f"scalegrad_{number}")
    z, target = at_targets(case)
    seen = case["seen"][case["targets"] != IGNORED]
    scaled = z.softmax(1) * torch.full_like(z, case.params["gamma"]).masked_fill(seen, 1.0)
    torch.testing.assert_close(golden(case)[1], scaled / scaled.sum(1, keepdim=True) - target, **GRADIENT)


@pytest.mark.parametrize("number", CASES)
def test_entmax_has_the_gradient_p_minus_target(number: int) -> None:
    case = modern_case(f"entmax_{number}")
    _, target = at_targets(case)
    probs = case["probs"][case["targets"] != IGNORED]
    torch.testing.assert_close(golden(case)[1], probs - target, rtol=1e-5, atol=1e-5)


# EMO ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", CASES)
def test_the_value_of_emo_is_the_nll(number: int) -> None:
    """So a loss curve shows nothing; the gradient differs."""
    (values, gradient), expected = golden(modern_case(f"emo_{number}")), golden(modern_case(f"nll_{number}"))
    torch.testing.assert_close(values, expected[0], **VALUE)
    assert not torch.allclose(gradient, expected[1], atol=1e-2)


@pytest.mark.parametrize("number", CASES)
def test_emo_with_orthogonal_embeddings_knows_no_likeness(number: int) -> None:
    """The distance is 1 - p, so the gradient is half that of the nll and half a weight times that of power 1."""
    case = modern_case(f"emo_{number}")
    z, _ = at_targets(case)
    y = case["targets"][case["targets"] != IGNORED]
    weights = nll(z, y) / (1 - log_p(z, y).exp())

    def expected(z: Tensor, y: Tensor) -> Tensor:
        return (nll(z, y) + weights * power(1.0)(z, y)) / 2

    _, gradient = measured(emo(torch.eye(z.shape[1], dtype=torch.float64)), case)
    torch.testing.assert_close(gradient, measured(expected, case)[1], **GRADIENT)


# Settings that are plain likelihood ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(tailr(0.0), id="tailr"),
        pytest.param(mixce(1.0), id="mixce"),
        pytest.param(focal(0.0), id="focal"),
        pytest.param(label_smoothing(0.0), id="label_smoothing"),
        pytest.param(confidence_penalty(0.0), id="confidence_penalty"),
    ],
)
def test_plain_likelihood(loss: Loss, number: int) -> None:
    """In value and gradient."""
    case = modern_case(f"nll_{number}")
    assert_meets(measured(loss, case), golden(case))


@pytest.mark.parametrize("number", CASES)
def test_scalegrad_of_gamma_1_is_plain_likelihood(number: int) -> None:
    case = modern_case(f"scalegrad_{number}")
    loss = scalegrad(1.0, case["seen"][case["targets"] != IGNORED])
    assert_meets(measured(loss, case), golden(modern_case(f"nll_{number}")))


@pytest.mark.parametrize("number", CASES)
def test_gem_of_beta_1_has_the_gradient_of_likelihood(number: int) -> None:
    """Not its value, which may be negative."""
    case = modern_case(f"nll_{number}")
    _, gradient = measured(gem(1.0), case)
    torch.testing.assert_close(gradient, golden(case)[1], **GRADIENT)


@pytest.mark.parametrize("number", CASES)
@pytest.mark.parametrize("family", [power, lambda step: entmax(1 + step)], ids=["power", "entmax"])
def test_plain_likelihood_in_the_limit(family: Callable[[float], Loss], number: int) -> None:
    """k to 0, alpha to 1: a tenth of the step leaves about a tenth of the difference."""
    case = modern_case(f"nll_{number}")
    expected = golden(case)
    left = []
    for step in (1e-4, 1e-5):
        values, gradient = measured(family(step), case)
        left.append(max(float((values - expected[0]).abs().max()), float((gradient - expected[1]).abs().max())))
    assert left[0] < 0.2
    assert left[1] < 0.12 * left[0]


# Where it leads -----------------------------------------------------------------------------------------------------


def test_the_best_distribution_of_1_minus_p_is_one_token() -> None:
    """Its mean is linear in p, so a point mass on the most frequent continuation has the least, and likelihood not."""
    truth = torch.tensor([0.3, 0.25, 0.25, 0.2], dtype=torch.float64)
    best_of = {}
    for name, loss in (("nll", nll), ("power", power(1.0))):
        z = torch.tensor([[0.1, 0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([z], lr=0.2)
        for _ in range(300):
            optimizer.zero_grad()
            (truth * loss(z.expand(4, -1), torch.arange(4))).sum().backward()
            optimizer.step()
        best_of[name] = z.detach().softmax(1)[0]
    torch.testing.assert_close(best_of["nll"], truth, rtol=1e-3, atol=1e-3)
    assert best_of["power"][0] > 0.99
