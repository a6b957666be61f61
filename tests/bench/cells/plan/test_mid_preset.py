"""The preset `mid` fine-tunes a pretrained model; its plan needs no weights."""

import pytest

from bench.cells.completion import required_families
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from bench.metrics import find_metric
from bench.metrics.requirements import describe
from bench.tasks import TASKS

pytestmark = pytest.mark.usefixtures("sample_data")

MID_TASKS = [name for name, entry in TASKS.items() if "mid" in entry.load().recipes]


def planned(task, method):
    return make_plan(RunArguments(tasks=(task,), methods=(method,), seeds=(0,), preset="mid", limit=4))


@pytest.mark.parametrize("task", MID_TASKS)
@pytest.mark.parametrize("method", ["mle", "histalign.released", "mle.untrained"])
def test_every_method_is_planned_on_the_pretrained_model(task, method, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    plan = planned(task, method)
    (cell,) = [cell for cell in plan.cells if cell.evaluations]
    assert cell.config.backbone == "smollm2-135m-instruct-q4"
    assert not plan.skips


def test_the_preset_names_the_models_that_metrics_read():
    (cell,) = planned("wikitext103", "mle.untrained").cells
    metric = {family.name.partition("[")[0]: family for family in required_families(cell)}["mauve"]
    assert metric.name == "mauve[all-minilm-l6-v2]"
    assert "bench models get all-minilm-l6-v2" in describe(metric.value.requires)
    with pytest.raises(UsageError, match="a model can be named in entity_precision"):
        find_metric("rouge[all-minilm-l6-v2]")


def test_a_method_that_trains_its_own_backbone_is_skipped():
    (skip,) = planned("gigaword", "seq2seq").skips
    assert skip.reason == "trains bilstm from scratch, and the preset mid fine-tunes a pretrained model"


def test_threads_are_fixed_so_that_bits_do_not_depend_on_the_machine():
    arguments = RunArguments(tasks=("gigaword",), methods=("mle",), preset="mid")
    assert arguments.threads_of("mid") == 1


def test_a_task_without_such_a_recipe_says_which_it_has():
    with pytest.raises(UsageError, match="task 'xsum' has no recipe for the preset 'mid', only for: small, paper"):
        planned("xsum", "mle")


def test_of_several_tasks_those_with_a_recipe_are_planned():
    said = []
    arguments = RunArguments(tasks=("xsum", "wikitext103"), methods=("mle",), preset="mid", limit=4)
    plan = make_plan(arguments, said.append)
    assert {cell.config.task for cell in plan.cells} == {"wikitext103"}
    assert said[0] == "xsum is left out: it has no recipe for the preset mid"
