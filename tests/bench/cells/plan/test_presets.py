"""The presets `paper` and `mid`: which methods run on which data and backbone."""

import pytest

from bench.cells.completion import required_families
from bench.cells.plan import make_plan, why_unpublished
from bench.cells.record import config_yaml
from bench.cells.work import train_and_evaluate
from bench.cli import parser
from bench.config.arguments import RunArguments, collect
from bench.config.resolve import find_method
from bench.errors import MissingError, UsageError
from bench.leaderboards.published.papers import papers
from bench.metrics import find_metric
from bench.metrics.requirements import describe
from bench.tasks import TASKS

pytestmark = pytest.mark.usefixtures("sample_data")


def plan(*tasks, methods=("mle",), preset="paper", say=lambda line: None, **others):
    return make_plan(RunArguments(tasks, methods, preset=preset, **others), say)


def test_built_in_rows_are_refused_with_what_to_do():
    with pytest.raises(MissingError, match="--preset paper is to train on the published data of xsum.*--data-dir"):
        plan("xsum", backbone="small-encdec")


def test_a_trial_of_few_rows_may_be_of_built_in_ones():
    assert len(plan("xsum", backbone="small-encdec", limit=4).cells) == 1


def test_costs_are_planned_without_data():
    arguments = RunArguments(("xsum",), ("mle",), preset="paper")
    assert len(make_plan(arguments, costs_only=True).cells) == 1


def test_methods_without_a_recipe_are_left_out_with_how_to_run_them():
    found = plan("logicnlg", methods=("mle", "f2softmax"), limit=4, backbone="small-encdec")
    assert [cell.method.name for cell in found.cells] == ["mle"]
    (skip,) = found.skips
    assert skip.reason.startswith("has no recipe of a paper on logicnlg, where papers train mle, trime, histalign;")
    assert "--preset small" in skip.reason


@pytest.mark.parametrize(
    ("task", "method", "runs"),
    [
        ("xsum", "histalign.released", True), ("xsum", "mle.decoupled", False), ("xsum", "lead", True),
        ("wikitext103", "mle.decoupled", True), ("wikitext103", "mle.continued", True),
        ("wikitext103", "ul_seq", False), ("gigaword", "adadec.const", True), ("gigaword", "adadec_attexp", False),
        ("wikibio", "adadec_attexp", True), ("pairs", "f2softmax", True),
    ],
)  # fmt: skip
def test_variants_and_controls_follow_their_methods(task, method, runs):
    assert (why_unpublished(TASKS[task].load(), find_method(method)) is None) == runs


def test_recipes_name_what_papers_have_in_their_tables():
    trained = {}
    for paper in papers():
        for cell in [cell for table in paper.tables for row in table.rows for cell in row]:
            if cell.method and cell.task and not cell.task.startswith("human/"):
                trained.setdefault(cell.task, set()).add(cell.method.partition(".")[0])
    for task, methods in trained.items():
        named = set(TASKS[task].load().recipes["paper"]["methods"].split(","))
        assert named == methods, task


def trained_by(tmp_path, preset):
    """The record of a tiny cell of Gigaword's recipe, made on sample rows."""
    sets = ("trainer.steps=1", "trainer.batch_size=4", "backbone.width=16", "backbone.vocabulary=300",
            "trainer.validate=0", "trainer.watch=", "trainer.select=")  # fmt: skip
    arguments = RunArguments(
        ("gigaword",), ("seq2seq",), preset=preset, sets=sets, limit=8, decode="greedy", results=str(tmp_path)
    )
    (cell,) = make_plan(arguments).cells
    train_and_evaluate(cell, [])
    return cell.folder.trained()


def test_the_record_of_a_papers_recipe_says_what_of_it_is_other(tmp_path):
    deviations = {one["setting"]: one for one in trained_by(tmp_path, "paper")["deviations"]}
    assert deviations["trainer.length"] == {
        "setting": "trainer.length", "ours": "1 steps", "paper": "20 epochs", "where": "A.1",
    }  # fmt: skip
    assert {"backbone.width", "trainer.batch_size", "optimizer.decays"} <= set(deviations)
    assert not {"decode", "backbone.layers", "trainer.lr"} & set(deviations)


def test_a_small_recipe_is_no_papers_and_its_record_stays(tmp_path):
    assert "deviations" not in trained_by(tmp_path, "small")


# The preset `mid` fine-tunes a pretrained model; its plan needs no weights ----------------------------------------


@pytest.mark.parametrize("task", [name for name, entry in TASKS.items() if "mid" in entry.load().recipes])
@pytest.mark.parametrize("method", ["mle", "histalign.released", "mle.untrained"])
def test_every_method_is_planned_on_the_pretrained_model(task, method, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    found = plan(task, methods=(method,), preset="mid", limit=4)
    (cell,) = [cell for cell in found.cells if cell.evaluations]
    assert cell.config.backbone == "smollm2-135m-instruct-q4"
    assert not found.skips


@pytest.mark.parametrize(("method", "reference"), [("tailr.dft", None), ("emo", None), ("asft", "mle.untrained")])
def test_what_fine_tunes_a_pretrained_model_starts_from_its_weights(method, reference, tmp_path):
    """A model from scratch is trained by `mle` first; 100 steps after 100 of `mle` would be compared with 100."""
    cell = plan("gigaword", methods=(method,), preset="mid", limit=4).cells[-1]
    assert cell.parent is None
    assert (cell.reference and cell.reference.method.name) == reference
    path = tmp_path / "config.yaml"
    path.write_text(config_yaml(cell))
    again = make_plan(collect(parser().parse_args(["run", "--config", str(path)]))).cells[-1]
    assert again.key == cell.key
    with pytest.raises(UsageError, match="is for 'finetuned', which is not in this run"):
        plan("gigaword", methods=(method,), preset="mid", limit=4, sets=("finetuned:trainer.steps=7",))
    cell = plan("gigaword", methods=(method,), preset="small", limit=4).cells[-1]
    assert cell.parent.method.name == "mle"
    assert (cell.reference and cell.reference.method.name) == ("mle" if reference else None)


def test_the_preset_names_the_models_that_metrics_read():
    (cell,) = plan("wikitext103", methods=("mle.untrained",), preset="mid", limit=4).cells
    metric = {family.name.partition("[")[0]: family for family in required_families(cell)}["mauve"]
    assert metric.name == "mauve[all-minilm-l6-v2]"
    assert "bench models get all-minilm-l6-v2" in describe(metric.value.requires)
    with pytest.raises(UsageError, match="a model can be named in entity_precision"):
        find_metric("rouge[all-minilm-l6-v2]")


def test_what_the_preset_leaves_out():
    said = []
    found = plan("xsum", "wikitext103", "gigaword", methods=("mle", "seq2seq"), preset="mid", say=said.append, limit=4)
    assert {cell.config.task for cell in found.cells} == {"wikitext103", "gigaword"}
    assert said[0] == "xsum is left out: it has no recipe for the preset mid"
    reasons = {skip.reason for skip in found.skips if skip.task == "gigaword"}
    assert reasons == {"trains bilstm from scratch, and the preset mid fine-tunes a pretrained model"}
    with pytest.raises(UsageError, match="task 'xsum' has no recipe for the preset 'mid', only for: small, paper"):
        plan("xsum", preset="mid")
