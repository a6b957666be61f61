"""mle.calibrated: the temperature that validation text asks for, and what is evaluated at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bench.config.resolve import find_method
from bench.decodings.greedy import Greedy
from bench.decodings.sample import Sample
from bench.models import METHODS
from bench.models.core.continuations import rows_from_everywhere
from bench.models.core.states import slices
from bench.models.mle import MLE
from bench.models.mle_controls import TEMPERATURES, MLECalibrated
from bench.store.store import Store
from tests.conftest import Ended
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


def test_enough_validation_text_is_read_and_no_more() -> None:
    """Whole batches, each once, in the same order every time."""
    objective, given = MLE(still.backbone("gpt2")), [batch("gpt2", slice(at, at + 1)) for at in range(5)]
    read = [[rows.targets.tolist() for rows in rows_from_everywhere(objective, given, 12)] for _ in range(2)]
    assert read[0] == read[1]
    lengths = [sum(map(len, read[0][:number])) for number in range(len(read[0]) + 1)]
    assert lengths[-2] < 12 <= lengths[-1]


def test_it_is_the_control_of_less_certain_models() -> None:
    method = find_method("mle.calibrated")
    assert (method.kind, method.parent, method.chooses_after_training) == (MLECalibrated, "mle", True)
    for name in ("label_smoothing", "confidence_penalty"):
        assert "mle.calibrated" in METHODS[name].controls


def test_a_cell_has_the_weights_of_mle_and_says_what_was_chosen(bench: Callable[..., Ended], tmp_path: Path) -> None:
    small = ("trainer.steps=3", "backbone.width=16", "backbone.layers=1", "trainer.batch_size=4")
    ended = bench("run", "--task", "logicnlg", "--method", "mle.calibrated", "--limit", "12", "--quiet",
                  "--decode", "greedy", "--set", *small, "--results", str(tmp_path))  # fmt: skip
    assert ended.code == 0, ended.err
    (folder,) = [folder for folder in Store(tmp_path).cells() if "calibrated" in str(folder.path)]
    record = folder.trained()
    assert record is not None
    assert record["train"]["steps"] == 0
    assert record["train"]["after_training"]["nll"] <= record["train"]["after_training"]["nll_alone"]
    assert record["start"]["config"]["method"] == "mle"
