"""mle.calibrated and mle.tempered: the temperature that is chosen or given, and what is evaluated at it."""

from __future__ import annotations

import pytest
import torch

from bench.decodings.samplers import Sample
from bench.decodings.searches import Greedy
from bench.models.core.states import slices
from bench.models.gem import GEM
from bench.models.mle import MLE
from bench.models.mle_controls import TEMPERATURES, MLECalibrated, MLETempered
from tests.models import still
from tests.models.still import KINDS, batch


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_temperature_is_chosen(kind: str) -> None:
    """Against the likelihood at every temperature; a random model is best at the flattest."""
    objective, given = MLECalibrated(still.backbone(kind)), [batch(kind)]
    alone = torch.cat([nll for _, nll in objective.nll(objective.states(given[0]))])
    found = objective.after_training([], given)
    by_hand = {}
    for temperature in TEMPERATURES:
        objective.chosen.fill_(temperature)
        by_hand[temperature] = float(torch.cat([nll for _, nll in objective.nll(objective.states(given[0]))]).mean())
    best = min(by_hand, key=lambda temperature: by_hand[temperature])
    assert found["temperature"] == best
    assert found["at_edge"] == (best in (TEMPERATURES[0], TEMPERATURES[-1]))
    assert found["nll"] == pytest.approx(by_hand[best], rel=1e-12)
    assert found["nll_alone"] == pytest.approx(float(alone.mean()), rel=1e-12)
    assert found["targets"] == len(alone)


@torch.no_grad()
def test_a_model_that_is_too_certain_is_calmed_down() -> None:
    """Texts that the model itself has drawn ask for about 1; with its logits times four they ask for more."""
    objective = MLECalibrated(still.backbone("gpt2"))
    given = [batch("gpt2", count=40)]
    (rows,) = slices(objective.states(given[0]), 9999)
    drawn = torch.multinomial(objective.log_probs(rows).exp(), 1, generator=torch.Generator().manual_seed(0))
    labels = given[0]["labels"]
    labels[labels != -100] = drawn.squeeze(1)
    assert objective.after_training([], given)["temperature"] == pytest.approx(1.0, abs=0.25)
    objective.backbone.model.lm_head.weight.data.mul_(4)
    certain = objective.after_training([], given)
    assert certain["temperature"] > 1.3
    assert certain["nll"] < certain["nll_alone"]


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_is_the_model_at_its_temperature(kind: str) -> None:
    """Likelihoods and samples are of softmax(z / T); what is greedy stays, and without validation text so does all."""
    backbone = still.backbone(kind)
    likelihood, calibrated = MLE(backbone), MLECalibrated(backbone)
    (rows,) = slices(backbone.states(batch(kind)), 999)
    torch.testing.assert_close(calibrated.log_probs(rows), likelihood.log_probs(rows))
    assert calibrated.after_training([], [])["temperature"] == 1.0
    calibrated.chosen.fill_(1.6)
    expected = (backbone.head(rows.hidden) / 1.6).log_softmax(1)
    torch.testing.assert_close(calibrated.log_probs(rows), expected, rtol=1e-6, atol=1e-6)  # T is kept in float32
    torch.testing.assert_close(calibrated.decode_log_probs(rows, Sample()), calibrated.log_probs(rows))
    best = [objective.decode_log_probs(rows, Greedy()).argmax(1) for objective in (likelihood, calibrated)]
    assert torch.equal(*best)


def test_the_control_of_gem_has_its_temperature() -> None:
    """Likelihoods and samples of `mle.tempered` are of softmax(beta z), beta that of GEM."""
    backbone = still.backbone("gpt2")
    tempered = MLETempered(backbone)
    assert tempered.beta == GEM(backbone).beta == 0.7
    (rows,) = slices(backbone.states(batch("gpt2")), 999)
    expected = (0.7 * backbone.head(rows.hidden)).log_softmax(1)
    torch.testing.assert_close(tempered.log_probs(rows), expected)
    torch.testing.assert_close(tempered.decode_log_probs(rows, Sample()), expected)
