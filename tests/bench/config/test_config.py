"""Configuration: overrides, scopes, ranges and YAML files that mean what they look like."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.options import read_options
from bench.config.config import (
    EvaluationConfig,
    Override,
    TrainerConfig,
    joined,
    override,
    parse_sets,
    read_yaml,
    section_values,
)
from bench.errors import UsageError


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("method.alpha", Override(None, "method", "alpha", "v")),
        ("histalign:method.alpha", Override("histalign", "method", "alpha", "v")),
        ("trime.released:trainer.lr", Override("trime.released", "trainer", "lr", "v")),
        ("task.eval_rows", Override(None, "evaluation", "rows", "v")),
        ("logicnlg:task.eval_split", Override("logicnlg", "evaluation", "split", "v")),
        ("optim.lr", Override(None, "trainer", "lr", "v")),
        ("finetuned:optim.warmup", Override("finetuned", "trainer", "warmup", "v")),
        ("backbone.a.b", Override(None, "backbone", "a.b", "v")),
    ],
)
def test_an_override_is_scope_section_and_name(key, right):
    assert override(key, "v") == right


def test_values_may_hold_equal_signs_and_spaces_around():
    assert parse_sets([" task.style = a=b "]) == [Override(None, "task", "style", "a=b")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("trainer.lr", "--set takes section.name=value, not 'trainer.lr'"),
        ("lr=1", "'lr' is not section.name; sections are task, method, backbone, trainer, "),
        ("trainer.=1", "'trainer.' is not section.name"),
        ("mle:trainr.lr=1", "no section 'trainr' in 'mle:trainr.lr'; did you mean 'trainer'?"),
    ],
)
def test_what_is_no_override_is_refused(text, says):
    with pytest.raises(UsageError) as found:
        parse_sets([text])
    assert str(found.value).startswith(says)


def test_a_list_from_python_is_typed_with_commas():
    assert [joined("method.x", value) for value in ((1, 2), ["a"], [], "a,b", None)] == ["1,2", "a", "", "a,b", None]
    with pytest.raises(UsageError, match=r"^items of method\.x are typed with commas .*; got 'a,b'"):
        joined("method.x", ["a,b"])


def test_a_scoped_value_wins_over_a_general_one_and_a_later_over_an_earlier():
    given = parse_sets(["trime:trainer.lr=2", "trainer.lr=1", "trainer.lr=3", "mle:trainer.lr=4", "trainer.clip=5"])
    assert section_values(given, "trainer", {"trime", "logicnlg"}) == {"lr": "2", "clip": "5"}
    assert section_values(given, "trainer", {"histalign"}) == {"lr": "3", "clip": "5"}
    assert section_values(given, "method", {"trime"}) == {}


def test_options_read_every_field_of_a_default_back_from_text():
    for default in (TrainerConfig(), EvaluationConfig()):
        texts = {f.name: str(getattr(default, f.name)) for f in fields(default)}
        assert type(default)(**read_options(type(default), texts, "x.")) == default


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        (TrainerConfig, {"stepz": 1}, "no option 'it.stepz'; did you mean 'steps'?"),
        (
            TrainerConfig,
            {"schedule": "Linear"},
            "it.schedule must be one of linear, constant, steps, not 'Linear'; did you mean",
        ),
        (TrainerConfig, {"lr": "-1"}, "it.lr must be at least 0, not -1"),
        (TrainerConfig, {"warmup": 10}, "it.warmup must be at least 0 and at most 1, not 10"),
        (EvaluationConfig, {"rows": "0"}, "it.rows must be at least 1, not 0"),
        (EvaluationConfig, {"split": "tset"}, "it.split must be one of valid, test, not 'tset'"),
    ],
)
def test_wrong_values_are_refused_before_anything_is_trained(kind, values, says):
    with pytest.raises(UsageError) as found:
        read_options(kind, values, "it.")
    assert str(found.value).startswith(says)


def test_steps_come_from_epochs_when_none_are_given():
    assert TrainerConfig(steps=7, epochs=3, batch_size=4).n_steps(10) == 7
    assert TrainerConfig(epochs=3, batch_size=4).n_steps(10) == 8
    assert TrainerConfig(epochs=0.01, batch_size=4).n_steps(10) == 1
    assert TrainerConfig().n_steps(10) == 0, "weights are read as they are given"


# YAML -------------------------------------------------------------------------------------------------------------


def read(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path)


def test_scalars_stay_what_was_written(tmp_path):
    text = "task: no\nseeds: [012, 1_0]\nset:\n"
    text += "  trainer.lr: 1e-4\n  task.style: yes\n  task.eval_rows: null\n  x.y: 3:20"
    found = read(tmp_path, text)
    assert (found["task"], found["seeds"], found["preset"]) == (["no"], [12, 10], "")
    assert found["set"] == {"trainer.lr": "1e-4", "task.style": "yes", "task.eval_rows": "null", "x.y": "3:20"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tsak: logicnlg", "has no option 'tsak'; did you mean 'task'?"),
        ("task: a\ntask: b", "has the key 'task' twice"),
        ("set:\n  trainer.lr: 1\n  trainer.lr: 2", "has the key 'trainer.lr' twice"),
        ("", "should hold 'name: value' lines, not NoneType"),
        ("- a", "should hold 'name: value' lines, not list"),
        ("just text", "should hold 'name: value' lines, not str"),
        ("set: [a]", "'set' in "),
        ("set:\n  trainer: {lr: 1}", "'set' in "),
        ("set:\n  trainer.lr: [1]", "'set' in "),
        ("backbone: [a, b]", "option 'backbone' must be text, not ['a', 'b']"),
        ("task: {a: b}", "option 'task' must be a list"),
        ("seeds: [[1]]", "option 'seeds' must be a whole number, not ['1']"),
        ("a: [", "cannot read the configuration"),
        ("a: b: c", "cannot read the configuration"),
        ("? [a]\n: b", "cannot read the configuration"),
        ("!!python/object/apply:os.system [ls]", "should hold 'name: value' lines"),
        (b"task: \xff", "cannot read the configuration"),
        (b"task: \x00", "cannot read the configuration"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_in_one_line(tmp_path, text, says):
    with pytest.raises(UsageError) as found:
        read(tmp_path, text)
    assert says in str(found.value)
    assert str(tmp_path / "config.yaml") in str(found.value)
    assert "\n" not in str(found.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot read the configuration"):
        read_yaml(tmp_path / "nothing.yaml")


@pytest.mark.parametrize("kind", ["list", "mapping"])
def test_aliases_do_not_blow_up(tmp_path, kind):
    bomb = "set: &a0 {x.y: '1'}\n"
    for i in range(1, 40):
        above = f"*a{i - 1}"
        bomb += f"k{i}: &a{i} " + (f"[{above}, {above}]\n" if kind == "list" else f"{{p: {above}, q: {above}}}\n")
    for text in (bomb + "task: *a39", bomb.replace("k39:", "task:"), "set: &a {x: *a}", "task: &a [*a]"):
        with pytest.raises(UsageError):
            read(tmp_path, text)


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    said = ""
    try:
        read(tmp_path_factory.mktemp("yaml"), content)
    except UsageError as error:
        said = str(error)
    assert "\n" not in said
