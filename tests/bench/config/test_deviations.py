"""Deviations: every statement of a paper is of a setting there is, and a recipe that is changed says so."""

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from bench.config.config import parse_sets
from bench.config.deviations import deviations_of, settings_in_effect
from bench.config.resolve import cell_config, find_method
from bench.leaderboards.published.papers import papers
from bench.models import METHODS
from bench.models.backbones.recurrent.glove import HOW_TO_GET
from bench.models.core import trainable
from bench.tasks import TASKS, find_task
from bench.tasks.core.published_settings import Deviation, PublishedSetting, as_text, published_settings
from tests.shipped import ROOT

STATED_TASKS = sorted({task for statement in published_settings() for task in statement.tasks})


def configured(task: str, method: str, *sets: str, backbone: str | None = None, preset: str = "paper") -> Any:
    """Configuration and method of a cell."""
    found = find_method(method)
    return cell_config(find_task(task).value, found, backbone, 0, preset, parse_sets(sets), None, None), found


def deviating(task: str, method: str, *sets: str, **options: Any) -> dict[str, Deviation]:
    """By setting, what a cell has otherwise."""
    config, found = configured(task, method, *sets, **options)
    decoding = config.decodings[0].text
    return {deviation.setting: deviation for deviation in deviations_of(config, found, decoding=decoding)}


def one_of(statement: PublishedSetting, task: str) -> str:
    """A method that a statement is of."""
    trained = str(TASKS_METHODS[task]).split(",")
    return next(method for method in trained if statement.is_of(task, method, (*statement.backbones, "")[0]))


TASKS_METHODS = {task: find_task(task).value.recipes["paper"]["methods"] for task in STATED_TASKS}
EVERY = [(statement, task) for statement in published_settings() for task in statement.tasks]


def named(value: Any) -> str:
    return value.name if isinstance(value, PublishedSetting) else str(value)


# Statements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("statement", "task"), EVERY, ids=named)
def test_every_statement_is_of_a_setting_that_its_recipe_has(statement: PublishedSetting, task: str) -> None:
    """A setting that is renamed, or a method that takes it no more, is found here."""
    config, method = configured(task, one_of(statement, task), backbone=(*statement.backbones, None)[0])
    assert statement.name in settings_in_effect(config, method, "greedy")


@pytest.mark.parametrize("task", STATED_TASKS)
def test_what_a_recipe_sets_is_stated_or_said_to_be_our_choice(task: str) -> None:
    """So a new line of a recipe cannot be forgotten."""
    known = {statement.name for statement in published_settings() if task in statement.tasks}
    assert "trainer.length" in known
    known |= {"trainer.epochs", "trainer.steps", "task.training_rows"}  # the last is stated as data.unit
    for path in (ROOT / "tasks" / "papers").glob("*.toml"):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["unstated"]:
            known |= set(entry["names"]) if task in entry["tasks"] else set()
    recipe = find_task(task).value.recipes["paper"]
    assert {key.rpartition(":")[2] for key in recipe if "." in key} <= known


def test_every_table_that_our_cells_stand_behind_has_statements() -> None:
    cells = [cell for paper in papers() for table in paper.tables for row in table.rows for cell in row]
    tasks = {cell.task for cell in cells if cell.method and cell.metric and cell.task in TASKS}
    assert tasks == set(STATED_TASKS)


def test_statements_name_tasks_and_methods_that_there_are() -> None:
    for statement in published_settings():
        assert statement.paper or statement.code
        assert set(statement.tasks) <= set(TASKS)
        assert set(statement.methods) <= set(METHODS)
        for value in statement.words:
            assert value in {*statement.paper, *statement.code, "0", "none", "nll", "pair_mean", "texts"}


@pytest.mark.parametrize(
    ("value", "text"), [(1e-5, "1e-05"), (20, "20"), (4.0, "4"), (None, "none"), (False, "false"), ("a", "a")]
)
def test_values_are_compared_as_typed(value: Any, text: str) -> None:
    assert as_text(value) == text


# Deviations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "method", "sets", "setting"),
    [
        ("xsum", "mle", ["trainer.steps=14000"], "trainer.length"),
        ("logicnlg", "trime", ["trainer.epochs=9"], "trainer.length"),
        ("wikitext103", "face", ["trainer.steps=1501"], "trainer.length"),
        ("gigaword", "seq2seq", ["trainer.epochs=30"], "trainer.length"),
        ("xsum", "mle", ["trainer.lr=1"], "trainer.lr"),
        ("xsum", "mle", ["trainer.batch_size=3"], "trainer.batch_size"),
        ("logicnlg", "histalign", ["method.alpha=3"], "method.alpha"),
        ("gigaword", "adadec", ["backbone.dropout=0.05"], "backbone.dropout"),
        ("gigaword", "adadec", ["backbone.width=7"], "backbone.width"),
    ],
)
def test_a_value_that_leaves_the_paper_appears(task: str, method: str, sets: list[str], setting: str) -> None:
    assert setting not in deviating(task, method)
    assert setting in deviating(task, method, *sets)


def test_another_backbone_appears() -> None:
    assert "backbone" not in deviating("ambiguous_template", "mle", backbone="gpt2-large")
    assert deviating("ambiguous_template", "mle", backbone="gpt2-scratch")["backbone"].ours == "gpt2-scratch"
    config, method = configured("ambiguous_template", "mle", backbone="gpt2")
    (found,) = [one for one in deviations_of(config, method, backbone="gpt2-large") if one.setting == "backbone"]
    assert (found.ours, found.paper) == ("gpt2", "gpt2-large")


def test_another_decoding_appears() -> None:
    config, method = configured("gigaword", "adadec")
    (found,) = [one for one in deviations_of(config, method, decoding="beam=5") if one.setting == "decode"]
    assert (found.ours, found.paper, found.code) == (
        "beam=5",
        "beam=5+gnmt=1.0",
        "beam=10+gnmt=1.0+unrepeated_ngram=3",
    )
    assert not [one for one in deviations_of(config, method) if one.setting == "decode"]


def test_other_optimisers_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts come from the code that trains."""
    assert deviating("gigaword", "adadec")["optimizer.decays"].ours == "matrices"
    monkeypatch.setattr(trainable, "DECAYED_DIMENSIONS", 0)
    assert "optimizer.decays" not in deviating("gigaword", "adadec")
    assert deviating("xsum", "mle")["optimizer.decays"].ours == "all tensors"


def test_rows_that_are_not_the_published_ones_appear() -> None:
    config, method = configured("xsum", "mle")
    found = deviations_of(config, method, data={"train": "subset", "test": "official"})
    assert [one.setting for one in found if one.section == "data"] == ["data.train"]


def test_histalign_says_what_its_objective_is() -> None:
    """The paper's equations, the code's TRIME and mean of means, and our own mean over pairs."""
    found = deviating("logicnlg", "histalign")
    assert found["method.base"].text == (
        "method.base: ours cross-entropy (CE); paper: the same (eq. 6); code: the TRIME loss"
    )
    assert "the sum over pairs; paper: the same (eq. 5); code: a mean for each" in found["method.reduction"].text
    mean = deviating("logicnlg", "histalign.mean")["method.reduction"].text
    assert "(pair mean); paper: the sum over pairs (eq. 5); code: a mean for each" in mean
    released = deviating("logicnlg", "histalign.released")
    for setting in ("method.base", "method.reduction", "method.rank_scope"):
        assert released[setting].ours == released[setting].code != released[setting].paper
    assert found["method.reduction"].ours == found["method.reduction"].paper


def test_word_vectors_are_a_deviation_until_they_are_given(tmp_path: Any) -> None:
    found = deviating("wikibio", "adadec")["backbone.glove"]
    assert found.how == HOW_TO_GET
    assert "backbone.glove" not in deviating("wikibio", "adadec", f"backbone.glove={tmp_path / 'vectors.txt'}")


def test_a_method_of_ones_own_departs_by_what_is_stated_of_all_methods() -> None:
    config, method = configured("xsum", "mle")
    own = replace(method, name="focal", settings={})
    names = {deviation.setting for deviation in deviations_of(replace(config, method="focal"), own)}
    assert "trainer.schedule" in names
    assert not {name for name in names if name.startswith("method.")}


@pytest.mark.parametrize("task", ["logicnlg", "writingprompts", "wikitext103", "xsum"])
@pytest.mark.parametrize("method", ["mle.cache", "mle.penalty"])
def test_what_takes_no_step_does_not_depart_in_its_training(task: str, method: str) -> None:
    """Its recipe has scopes of fine-tuned methods; the weights are those of its parent."""
    of_parent, found = deviating(task, "mle"), deviating(task, method)
    assert not {setting for setting in found if setting.startswith(("trainer.", "optimizer."))} - set(of_parent)
    assert not {"trainer.length", "trainer.lr", "trainer.batch_size", "trainer.clip", "optimizer.name"} & set(found)


def test_rows_are_cut_as_stated_where_nothing_is_trained() -> None:
    assert "trainer.max_target" in deviating("xsum", "mle.cache", "trainer.max_target=7")
