"""`--dry-run` counts the costs of a training exactly, without memory for the model."""

import json

import pytest
import torch

import bench as suite
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.cost import cost_text, costs_of_plan
from bench.models import METHODS

pytestmark = pytest.mark.usefixtures("sample_data")

TINY = {"backbone.vocabulary": 300, "backbone.width": 16, "backbone.layers": 1, "trainer.batch_size": 4,
        "trainer.max_source": 12, "trainer.max_target": 6, "trainer.steps": 5}  # fmt: skip
SETS = tuple(f"{name}={value}" for name, value in TINY.items())


def costs(task, *methods, sets=SETS, **others):
    arguments = RunArguments((task,), methods, sets=sets, **{"preset": "small", "controls": False, **others})
    return costs_of_plan(make_plan(arguments, costs_only=True))


@pytest.mark.parametrize("method", ["mle", "label_smoothing", "mtp", "bigram"])
def test_parameters_are_those_that_a_training_begins_with(method, tmp_path):
    *_, cost = costs("logicnlg", method, results=str(tmp_path))
    objective, _ = suite.make("logicnlg", method, set=TINY, results=tmp_path)
    every = list(objective.parameters())
    assert cost.parameters == sum(map(torch.numel, every))
    assert cost.trained_parameters == sum(weight.numel() for weight in every if weight.requires_grad)
    assert (cost.weights, cost.checkpoint) == (4 * cost.parameters, 4 * cost.parameters)
    assert (cost.gradients, cost.moments) == (4 * cost.trained_parameters, 8 * cost.trained_parameters)


def test_a_vocabulary_of_the_tasks_own_is_counted_as_it_is(tmp_path):
    (cost,) = costs("ambiguous_template", "mle", sets=(), results=str(tmp_path))
    objective, _ = suite.make("ambiguous_template", "mle", results=tmp_path)
    assert cost.parameters == sum(map(torch.numel, objective.parameters())) < 500_000


def test_a_model_is_counted_once_for_all_seeds_and_rates(tmp_path, monkeypatch):
    (first,) = costs("logicnlg", "mle", results=str(tmp_path))
    monkeypatch.delattr("bench.cost.parameters_of")
    (again,) = costs("logicnlg", "mle", results=str(tmp_path), seeds=(3,), sets=(*SETS, "optim.lr=1e-5"))
    assert (again.parameters, again.trained_parameters) == (first.parameters, first.trained_parameters)
    (wider,) = costs("logicnlg", "mle", results=str(tmp_path), sets=(*SETS, "backbone.width=32"))
    assert "parameters_of" in wider.unknown
    (double,) = costs("logicnlg", "mle", results=str(tmp_path), sets=(*SETS, "trainer.precision=64-true"))
    assert (double.weights, double.moments) == (2 * first.weights, 2 * first.moments)


@pytest.mark.parametrize("task", ["logicnlg", "text"])
def test_every_method_is_counted(task, tmp_path):
    names = [name for name, entry in METHODS.items() if not entry.baseline]
    found = {cost.label.split(" · ")[1]: cost for cost in costs(task, *names, results=str(tmp_path))}
    assert len(found) > 7
    assert [cost.unknown for cost in found.values() if cost.unknown] == []
    for cost in found.values():
        assert (cost.parameters > 0, cost.steps) == (True, 5)
    assert found["gold"].parameters == 2 * found["mle"].parameters, "its reference model is frozen"


def test_a_published_model_is_planned_without_weights_or_data():
    (cost,) = costs("writingprompts", "mle", sets=("task.training_rows=stories",), preset="paper")
    assert (cost.parameters, cost.steps) == (124_439_808, round(3 * 272_600 / 512))
    (cost,) = costs("writingprompts", "mle", sets=(), preset="paper")
    assert (cost.parameters, cost.steps) == (124_439_808, None), "how many blocks there are depends on the text"
    assert cost_text([cost]).splitlines()[2].endswith(" ?")


def test_blocks_of_joined_texts_are_counted_by_the_bytes_of_the_text(tmp_path):
    sets = (*SETS, "trainer.steps=0", "trainer.epochs=1", "trainer.max_target=32", "trainer.batch_size=8")
    steps = [
        costs("writingprompts", "mle", results=str(tmp_path), sets=(*sets, f"task.training_rows={rows}"))[0].steps
        for rows in ("stories", "blocks")
    ]
    assert steps[0] < steps[1], "stories are longer than a block"


def test_adapters_are_all_that_has_gradients_and_is_saved(tmp_path):
    pytest.importorskip("peft")
    sets = ("backbone.lora_rank=8",)
    (cost,) = costs("text", "mle", sets=sets, backbone="gpt2", results=str(tmp_path))
    assert cost.trained_parameters == 12 * 2 * 8 * (768 + 3 * 768) / 2
    assert (cost.gradients, cost.checkpoint) == (4 * cost.trained_parameters, 4 * cost.trained_parameters)
    assert cost.weights == 4 * cost.parameters > 4 * 124_439_808


def test_a_head_that_counts_make_has_classes_of_running_text(tmp_path):
    """How many there are depends on the text, which a plan does not tokenize."""
    (cost,) = costs("logicnlg", "f2softmax", results=str(tmp_path))
    objective, _ = suite.make("logicnlg", "f2softmax", set=TINY, results=tmp_path)
    assert cost.parameters == pytest.approx(sum(map(torch.numel, objective.parameters())), rel=0.02)


def test_what_takes_no_step_has_weights_alone(tmp_path):
    mle, penalty = costs("text", "mle", "mle.penalty", results=str(tmp_path))
    assert (penalty.gradients, penalty.moments) == (0, 0)
    assert penalty.weights == mle.weights == mle.gradients


def test_baselines_and_trained_cells_cost_nothing(bench, tiny_store):
    assert costs("logicnlg", "lead") == []
    (config,) = tiny_store.rglob("config.yaml")
    ended = bench("run", "--config", str(config), "--results", str(tiny_store), "--dry-run", "--json")
    assert json.loads(ended.out)["cost"]["cells"] == []


def test_a_dry_run_states_costs_and_sums_them(bench, tmp_path):
    words = ("run", "--task", "logicnlg", "--method", "mle,trime", "--preset", "small", "--no-controls", "--results",
             str(tmp_path / "results"), "--set", *SETS, "--dry-run")  # fmt: skip
    content = json.loads(bench(*words, "--json").out)["cost"]
    assert content["sum"]["cells"] == len(content["cells"]) == 2
    assert content["sum"]["checkpoints"] == sum(cell["checkpoint"] for cell in content["cells"]) > 0
    shown = " ".join(bench(*words).out.split())
    assert " run parameters trained weights, gradients, moments on disk steps logicnlg · mle" in shown
    assert " sum of 2 runs: " in shown


def test_a_model_that_cannot_be_made_is_said_and_others_are_counted(own):
    own.write("reads_files", "def factory(name, texts, seed):\n    raise ValueError('no weights are here')\n")
    found = costs("text", "mle", sets=("trainer.batch_size=4",), backbone="reads_files:factory")
    assert found[0].unknown == "no weights are here"
    assert "unknown: no weights are here" in cost_text(found)
