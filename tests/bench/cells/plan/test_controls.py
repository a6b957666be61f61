"""Controls: who declares them, whose cell they read, what they want of it, and where they do not fit."""

import pytest

from bench.cells.cell import described
from bench.cells.plan import make_plan
from bench.cells.record import config_yaml
from bench.cells.required import LADDER
from bench.config.arguments import RunArguments
from bench.config.resolve import method_names
from bench.errors import UsageError
from bench.models import ALIASES, METHODS
from bench.tasks import TASKS, TaskEntry
from tests.bench.cells.plan.planned import again

pytestmark = pytest.mark.usefixtures("sample_data")

AMBIGUOUS, TABLES, TEXT = "ambiguous_template", "logicnlg", "text"


@pytest.fixture(autouse=True)
def text_task(monkeypatch):
    """A task without sources."""
    monkeypatch.setitem(TASKS, TEXT, TaskEntry("bench.tasks.text:Text", "your own text"))


def plan(*methods, task=TABLES, limit=8, **others):
    return make_plan(RunArguments((task,), methods, limit=limit, preset="small", **others))


def cell(method, **others):
    return plan(method, **others).cells[-1]


def reason(method, **others):
    found = plan(method, **others)
    assert found.cells == []
    (skip,) = found.skips
    return skip.reason


# Names ------------------------------------------------------------------------------------------------------------


def test_all_is_every_objective_then_every_declared_control_once():
    names = method_names(["all"])
    objectives = [name for name, entry in METHODS.items() if not entry.baseline]
    assert names[: len(objectives)] == objectives
    assert len(names) == len(set(names))
    assert set(names) - set(objectives) == {c for name in objectives for c in METHODS[name].controls} - set(objectives)
    assert {"mle.decoupled", "mle.matched", "mle.continued", "adadec.const", "adadec.swapped", "copy_exemplar",
            "lead"} <= set(names)  # fmt: skip
    assert not [name for name in names if name.endswith(".released")]


def test_without_controls_all_is_the_objectives():
    names = method_names(["all"], controls=False)
    assert names == [name for name, entry in METHODS.items() if not entry.baseline]
    assert method_names(["all", "mle.decoupled"], controls=False) == [*names, "mle.decoupled"]


def test_an_alias_stands_for_its_methods():
    assert method_names(["unlikelihood"]) == ["ul_token", "ul_seq", "ul_token_seq"]
    assert method_names(["ul_seq", "unlikelihood", "mle"]) == ["ul_seq", "ul_token", "ul_token_seq", "mle"]
    assert all(name in METHODS for names in ALIASES.values() for name in names)
    with pytest.raises(UsageError, match="did you mean 'unlikelihood'"):
        method_names(["unlikelyhood"])


# Controls that read a cell ----------------------------------------------------------------------------------------

READERS = [("mle.decoupled", "mle", TABLES), ("mle.matched", "mle", TEXT), ("adadec.swapped", "adadec", TABLES)]


@pytest.mark.parametrize(("control", "method", "task"), READERS)
def test_a_control_that_reads_has_the_cell_of_its_method(control, method, task):
    one, two = plan(control, method, task=task).cells
    assert (one.method.name, two.method.name) == (control, method)
    assert (one.key, one.folder, described(one)) == (two.key, two.folder, described(two))
    assert not set(one.evaluations) & set(two.evaluations)
    assert {what.shown_as for what in one.evaluations.values()} == {control}
    assert {what.shown_as for what in two.evaluations.values()} == {""}
    assert one.label != two.label
    assert config_yaml(one) == config_yaml(two)


def test_decoupled_reads_every_decoding_it_can():
    found = cell("mle.decoupled", decode="greedy,topk=3,beam=4,sample,topk=3+temperature=0.5")
    assert [what.decoding.text for what in found.evaluations.values()] == [
        "decoupled:greedy", "decoupled:topk=3", "decoupled:beam=4"]  # fmt: skip
    assert [what.kind for what in found.evaluations.values()] == ["generation"] * 3


def test_matched_sweeps_the_ladder_with_the_length_of_the_task():
    found = cell("mle.matched", task=TEXT)
    longest = cell("mle", task=TEXT).config.decodings[0].max_new_tokens
    assert [(w.decoding.k, w.decoding.max_new_tokens) for w in found.evaluations.values()] == [
        (k, longest) for k in LADDER]  # fmt: skip
    assert {what.max_new_tokens for what in found.evaluations.values()} == {longest}


def test_swapped_reads_every_kind_with_another_rows_exemplar():
    swapped, plain = plan("adadec.swapped", "adadec").cells
    assert [w.kind for w in swapped.evaluations.values()] == [w.kind for w in plain.evaluations.values()]
    assert {what.exemplars for what in swapped.evaluations.values()} == {"swapped"}
    assert {what.exemplars for what in plain.evaluations.values()} == {"own"}
    assert {what.exemplars for what in cell("mle").evaluations.values()} == {""}


def test_a_setting_for_a_reading_alone_is_refused():
    """It has no training of its own to set; taken silently it would do nothing."""
    with pytest.raises(
        UsageError, match="^'mle.decoupled:trainer.lr' is for 'mle.decoupled', which is not in this run"
    ):
        plan("mle.decoupled", sets=("mle.decoupled:trainer.lr=0.5",))
    assert plan("mle.decoupled", sets=("mle:trainer.lr=0.5",)).cells[0].config.trainer.lr == 0.5


# Controls with a cell of their own --------------------------------------------------------------------------------


def test_const_is_adadec_on_a_backbone_that_reads_no_exemplar():
    const, plain = plan("adadec.const", "adadec").cells
    assert (const.config.backbone, plain.config.backbone) == ("bilstm", "bilstm")
    assert (const.config.backbone_options["exemplar"], plain.config.backbone_options["exemplar"]) == (
        "constant", "adapt")  # fmt: skip
    assert const.key != plain.key


@pytest.mark.parametrize("control", ["adadec.const", "mle.continued", "lead", "copy_exemplar"])
def test_the_config_of_a_control_repeats_it(tmp_path, control):
    found = cell(control)
    repeated = again(tmp_path, found)[-1]
    assert (repeated.key, repeated.config, repeated.evaluations) == (found.key, found.config, found.evaluations)


@pytest.mark.parametrize(("control", "method", "task"), READERS)
def test_the_config_of_a_cell_that_a_control_has_trained_repeats_the_cell(tmp_path, control, method, task):
    reads = cell(control, task=task)
    (repeated,) = again(tmp_path, reads)
    (expected,) = plan(method, task=task).cells
    assert (repeated.key, repeated.config, repeated.evaluations) == (
        expected.key, expected.config, expected.evaluations)  # fmt: skip
    (control_again,) = again(tmp_path, reads, "--method", control)
    assert control_again.evaluations == reads.evaluations


# Where they do not fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "others", "why"),
    [
        ("adadec", {"backbone": "small-encdec"}, "is maximum likelihood on its own backbone, bilstm"),
        ("seq2seq", {"backbone": "gpt2"}, "is maximum likelihood on its own backbone, bilstm"),
        ("seq2seq", {"task": TEXT}, "has the backbone bilstm, which reads a source; text has none"),
        ("mle", {"task": TEXT, "backbone": "small-encdec"},
         "has the backbone small-encdec, which reads a source; text has none"),
        ("mle", {"task": TEXT, "backbone": "bilstm"}, "has the backbone bilstm, which reads a source; text has none"),
        ("lead", {"task": TEXT}, "needs rows with a source"),
        ("copy_exemplar", {"task": TEXT}, "needs rows with a source"),
        ("mle.matched", {}, "is for open-ended tasks, whose texts have a diversity to match"),
        ("mle.matched", {"task": AMBIGUOUS}, "is for open-ended tasks, whose texts have a diversity to match"),
        ("lead", {"task": AMBIGUOUS}, "only writes texts, and ambiguous_template asks for none"),
        ("mle.decoupled", {"task": AMBIGUOUS}, "only writes texts, and ambiguous_template asks for none"),
        ("mle.decoupled", {"decode": "sample"}, "cannot read any of the decodings"),
        ("f2softmax", {"backbone": "bilstm"},
         "has a head of its own, which a copying backbone cannot mix with its copies"),
        ("ul_seq", {"task": AMBIGUOUS}, "needs targets of 8 tokens; these have about 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_skipped_with_its_reason(method, others, why):
    assert reason(method, **others) == why
