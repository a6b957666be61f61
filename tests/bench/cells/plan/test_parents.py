"""Parents: a fine-tuned method's older cells stand before it, once, and decide its key."""

import pytest

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.config.resolve import ancestors, find_method
from bench.errors import UsageError
from bench.tasks.ambiguous_template import AmbiguousTemplate
from tests.bench.cells.plan.planned import again
from tests.bench.own import FOCAL

pytestmark = pytest.mark.usefixtures("sample_data")

AMBIGUOUS, FOCAL_OF = "ambiguous_template", "my_losses:Focal"


def child_of(parent, **more):
    """A user's class that is fine-tuned from another method's cell."""
    lines = {"parent": repr(parent), **more}
    return FOCAL.replace('paper = "', "".join(f"{k} = {v}\n    " for k, v in lines.items()) + 'paper = "')


@pytest.fixture
def focal(own):
    own.write("my_losses", child_of("mle"))
    return own


def cells(*methods, task=AMBIGUOUS, limit=8, **others):
    return make_plan(RunArguments((task,), methods, limit=limit, preset="small", **others)).cells


def listed(found):
    """Names of cells, those that only a younger one wants in brackets."""
    return [c.method.name if c.evaluations else f"({c.method.name})" for c in found]


# Order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([FOCAL_OF], ["(mle)", "focal"]),
        (["mle", FOCAL_OF], ["mle", "focal"]),
        ([FOCAL_OF, "mle"], ["mle", "focal"]),
        ([FOCAL_OF, "mle.continued", "trime"], ["(mle)", "focal", "mle.continued", "trime"]),
        (["trime", "mle.continued", "mle", FOCAL_OF], ["trime", "mle", "mle.continued", "focal"]),
    ],
)
def test_a_parent_stands_before_its_children_once(focal, asked, found):
    assert listed(cells(*asked)) == found


def test_every_seed_has_a_parent_of_its_own(focal):
    found = cells(FOCAL_OF, "mle.continued", seeds=(1, 0))
    assert [(c.method.name, c.config.seed) for c in found] == [
        ("mle", 1), ("focal", 1), ("mle", 0), ("focal", 0), ("mle.continued", 1), ("mle.continued", 0)]  # fmt: skip
    assert [c.parent.key if c.parent else "" for c in found] == [
        "", found[0].key, "", found[2].key, found[0].key, found[2].key]  # fmt: skip


def test_older_generations_come_first(own):
    own.write("my_losses", child_of("mle.continued"))
    found = cells(FOCAL_OF)
    assert listed(found) == ["(mle)", "(mle.continued)", "focal"]
    assert [m.name for m in ancestors(found[-1].method)] == ["mle.continued", "mle"]
    assert found[2].parent.folder == found[1].folder
    assert found[1].parent.folder == found[0].folder


# Keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["mle:trainer.lr=0.5", "mle:trainer.steps=7", "mle:backbone.width=64"])
def test_what_changes_the_key_of_the_parent_changes_that_of_the_child(focal, text):
    plain, changed = cells(FOCAL_OF), cells(FOCAL_OF, sets=(text,))
    assert [c.config == d.config for c, d in zip(plain, changed, strict=True)] == [False, True]
    assert not {c.key for c in plain} & {c.key for c in changed}


@pytest.mark.parametrize("text", ["focal:trainer.lr=0.5", "finetuned:trainer.steps=7", "focal:method.gamma=3"])
def test_what_is_the_childs_own_leaves_the_parent_alone(focal, text):
    plain, changed = cells(FOCAL_OF), cells(FOCAL_OF, sets=(text,))
    assert plain[0].key == changed[0].key
    assert plain[1].key != changed[1].key


def test_the_recipe_may_have_other_settings_for_fine_tuning(focal, monkeypatch):
    monkeypatch.setitem(AmbiguousTemplate.recipes["small"], "finetuned:trainer.steps", 50)
    assert [c.config.trainer.steps for c in cells(FOCAL_OF)] == [300, 50]
    assert [c.config.trainer.steps for c in cells(FOCAL_OF, sets=("trainer.steps=5",))] == [5, 5]
    assert [c.config.trainer.steps for c in cells(FOCAL_OF, sets=("finetuned:trainer.steps=5",))] == [300, 5]


# config.yaml ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [FOCAL_OF, "mle.continued", "mle"])
@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("trainer.steps=9",),
        ("finetuned:trainer.steps=9", "mle:trainer.lr=0.5"),
        ("mle:trainer.lr=0.5", "mle.continued:trainer.lr=0.25", "mle.continued:evaluation.rows=3"),
    ],
)
def test_the_config_of_a_fine_tuned_cell_repeats_it_and_its_parent(focal, monkeypatch, tmp_path, method, sets):
    monkeypatch.setitem(AmbiguousTemplate.recipes["small"], "finetuned:trainer.steps", 50)
    monkeypatch.setitem(AmbiguousTemplate.recipes["small"], "finetuned:backbone.dropout", 0.1)
    (found,) = [c for c in cells("mle.continued", method, sets=sets) if c.method.spec == method]
    (*older, repeated) = again(tmp_path, found)
    assert (repeated.key, repeated.config, repeated.evaluations) == (found.key, found.config, found.evaluations)
    assert [c.key for c in older] == ([found.parent.key] if found.parent else [])


# What is refused or skipped ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parent", "says"),
    [
        ("mel", "no method 'mel'; did you mean 'mle'?; module:Name or file.py:Name works too"),
        (
            "mle.continud",
            "no method 'mle.continud'; did you mean 'mle.continued'?; module:Name or file.py:Name works too",
        ),
        (FOCAL_OF, "method 'focal' is fine-tuned from itself; its `parent` should be another one"),
    ],
)
def test_a_parent_that_cannot_be_is_one_clear_line(own, parent, says):
    own.write("my_losses", child_of(parent))
    with pytest.raises(UsageError) as found:
        cells(FOCAL_OF)
    assert str(found.value) == says


def test_a_child_of_what_does_not_fit_is_skipped_with_its_reason(own):
    own.write("my_others", FOCAL.replace('paper = "', 'architectures = ("encoder-decoder",)\n    paper = "'))
    own.write("my_losses", child_of("my_others:Focal").replace("focal", "child"))
    plan = make_plan(RunArguments((AMBIGUOUS,), (FOCAL_OF, "mle"), limit=8, preset="small"))
    assert listed(plan.cells) == ["mle"]
    assert [s.reason for s in plan.skips] == [
        "is fine-tuned from focal, which works on encoder-decoder backbones, not on decoder-only ones"
    ]


def test_settings_of_a_parent_that_was_not_asked_for_are_taken(focal):
    assert find_method(FOCAL_OF).parent == "mle"
    assert cells(FOCAL_OF, sets=("mle:trainer.steps=7",))[0].config.trainer.steps == 7
    with pytest.raises(UsageError, match="^'finetuned:trainer.steps' is for 'finetuned', which is not in this run"):
        cells("mle", sets=("finetuned:trainer.steps=7",))
