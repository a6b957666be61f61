"""Hours of a plan: calibrated on the hours that papers state, and none where nobody can know them."""

import math

import pytest

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.cost import costs_of_plan
from bench.hours import DEVICES, hours_content, hours_text
from bench.leaderboards.published.papers import papers

pytestmark = pytest.mark.usefixtures("sample_data")


def planned(task, method, backbone=None, **others):
    arguments = RunArguments((task,), (method,), backbone=backbone, controls=False, **{"preset": "paper", **others})
    plan = make_plan(arguments, costs_only=True)
    return plan.cells, costs_of_plan(plan)


@pytest.fixture
def weights_here(monkeypatch):
    monkeypatch.setattr("bench.hours.missing_weights", lambda cell: "")


def test_the_share_of_a_card_is_what_the_papers_own_hours_come_to():
    device, shares = DEVICES["a100"], []
    stated = [(time, method) for paper in papers() for time in paper.training for method in time.methods
              if time.device == device.name and time.hours]  # fmt: skip
    for time, method in stated:  # how many blocks the joined stories make is not known without them
        sets = ("task.training_rows=stories",) if time.task == "writingprompts" else ()
        _, (cost,) = planned(time.task, method, time.backbone, sets=sets)
        shares.append(cost.flops / (time.hours * 3600 * time.count * device.peaks[0]))
    assert len(shares) == 9
    assert math.exp(sum(map(math.log, shares)) / len(shares)) == pytest.approx(device.share, abs=0.005)
    assert (round(min(shares), 2), round(max(shares), 2)) == (0.04, 0.17)


def test_hours_are_those_of_the_share_of_one_card(weights_here):
    cells, costs = planned("logicnlg", "mle", "bart-large")
    expected = costs[0].flops / (0.09 * 312e12 * 3600)
    (found,) = hours_content(cells, costs, "a100").values()
    assert found["hours"] == pytest.approx(expected)
    assert found["stated"] == ["HistAlign A.4: 2 h on 2 A100 (80 GB)"]
    said = hours_text(cells, costs, "a100")
    assert "at 9 % of its 312 TFLOP/s: what HistAlign's 9 stated trainings on this card come to, 4 to 17 %" in said
    assert f": {expected:.1f} h; HistAlign A.4: 2 h on 2 A100" in said
    assert "no paper states hours on this card" in hours_text(cells, costs, "h100")


def test_a_model_whose_weights_are_missing_has_no_hours():
    cells, costs = planned("writingprompts", "mle", "gpt2")
    assert "no hours: its weights are not here" in hours_text(cells, costs, "h100")
    assert "sum of" not in hours_text(cells, costs, "h100")


def test_a_model_that_one_card_cannot_hold_has_no_hours(weights_here):
    cells, costs = planned("ambiguous_template", "mle", "llama2-7b")
    assert "take 105 GB, more than one card has" in hours_text(cells, costs, "h100")


def test_float32_has_a_lower_bound(tmp_path):
    sets = ("trainer.steps=5", "backbone.width=16")
    cells, costs = planned("logicnlg", "mle", preset="small", sets=sets, results=str(tmp_path))
    (on_gpu,) = hours_content(cells, costs, "a100").values()
    assert on_gpu["hours"] == pytest.approx(costs[0].flops / 19.5e12 / 3600)
    assert "at least 0 s, in float32 at the whole peak of 19.5 TFLOP/s" in hours_text(cells, costs, "a100")
