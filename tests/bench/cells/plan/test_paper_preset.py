"""The preset `paper`: published data only, and the methods that papers train, as their tables say."""

import pytest

from bench.cells.plan import make_plan, why_unpublished
from bench.cells.work import train_and_evaluate
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.errors import MissingError
from bench.leaderboards.published.papers import papers
from bench.tasks import TASKS

pytestmark = pytest.mark.usefixtures("sample_data")


def plan(*tasks, methods=("mle",), **others):
    return make_plan(RunArguments(tasks, methods, preset="paper", **others))


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
        ("xsum", "histalign.released", True),
        ("xsum", "mle.decoupled", False),
        ("xsum", "lead", True),
        ("wikitext103", "mle.decoupled", True),
        ("wikitext103", "mle.continued", True),
        ("wikitext103", "ul_seq", False),
        ("gigaword", "adadec.const", True),
        ("gigaword", "adadec_attexp", False),
        ("wikibio", "adadec_attexp", True),
        ("pairs", "f2softmax", True),
    ],
)
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
