"""Resolve: names to classes, and constructor defaults < recipe < variant < what was typed in."""

import pytest

from bench.config.config import parse_sets
from bench.config.resolve import cell_config, check_overrides, find_method
from bench.errors import UsageError
from bench.models.backbones import backbone_factory
from bench.models.histalign import HistAlign
from bench.models.mle import MLE
from bench.tasks.ambiguous_template import AmbiguousTemplate
from bench.tasks.core.recipes import BART
from bench.tasks.gigaword import Gigaword
from bench.tasks.logicnlg import LogicNLG
from bench.tasks.nyt import NYT
from bench.tasks.wikibio import Wikibio
from tests.bench.own import FOCAL


def config(*sets, task=AmbiguousTemplate, method="mle", backbone=None, decode=None, limit=None, preset="small"):
    return cell_config(task, find_method(method), backbone, 0, preset, parse_sets(sets), decode, limit)


# Methods ----------------------------------------------------------------------------------------------------------


def test_a_built_in_method_is_its_class_and_version():
    found = find_method("mle")
    assert (found.kind, found.base, found.spec) == (MLE, "mle", "mle")
    assert found.code == {"class": "mle", "version": MLE.version}


def test_a_variant_is_the_same_class_with_its_options():
    found = find_method("histalign.released")
    assert (found.kind, found.base, found.spec) == (HistAlign, "histalign", "histalign.released")
    assert found.settings == {"method.variant": "released"}
    assert found.code == find_method("histalign").code


def test_options_of_a_users_class_have_types(own):
    own.write("my_losses", FOCAL)
    assert config(method="my_losses:Focal").method_options == {"gamma": 2.0, "mode": "plain"}
    typed = config("method.gamma=3", "focal:method.mode=x", method="my_losses:Focal").method_options
    assert typed == {"gamma": 3.0, "mode": "x"}
    with pytest.raises(UsageError, match="^method 'focal' option 'gamma' must be a finite number, not 'big'$"):
        config("method.gamma=big", method="my_losses:Focal")


# Backbones --------------------------------------------------------------------------------------------------------


def test_a_backbone_is_a_name_a_hub_id_or_a_folder(tmp_path):
    hub = backbone_factory("gpt2")
    assert backbone_factory("someone/some-model") is hub
    assert backbone_factory(str(tmp_path)) is hub
    assert backbone_factory("small-causal") is not hub
    with pytest.raises(UsageError, match="^no backbone 'gtp2'; did you mean 'gpt2'\\?; a hub id or a folder works"):
        backbone_factory("gtp2")


# Cells ------------------------------------------------------------------------------------------------------------


def test_the_recipe_of_the_task_is_the_start():
    found, recipe = config(), AmbiguousTemplate.recipes["small"]
    assert found.backbone == recipe["backbone"]
    assert found.trainer.steps == recipe["trainer.steps"]
    assert found.evaluation.rows == recipe["evaluation.rows"]
    assert found.backbone_options["embeddings"] == recipe["backbone.embeddings"]
    assert found.trainer.clip == 1.0


def test_what_is_typed_in_wins_over_the_recipe_and_a_scope_over_all():
    scoped = ("ambiguous_template:trainer.lr=0.5", "small-causal:backbone.width=8")
    found = config("trainer.steps=5", *scoped, "trainer.lr=9")
    assert (found.trainer.steps, found.trainer.lr, found.backbone_options["width"]) == (5, 0.5, 8)
    assert config("logicnlg:trainer.steps=5").trainer.steps == config().trainer.steps


def test_epochs_typed_in_win_over_the_steps_of_a_recipe():
    assert (config().trainer.steps > 0, config("trainer.epochs=2").trainer.steps) == (True, 0)
    assert config("trainer.epochs=2", "trainer.steps=5").trainer.steps == 5
    with pytest.raises(UsageError, match=r"schedule=steps needs trainer\.decay, below 1, and trainer\.decay_epochs"):
        config("trainer.schedule=steps")


def test_a_general_value_typed_in_wins_over_a_scoped_one_of_the_recipe():
    assert config(task=LogicNLG, method="histalign").method_options["alpha"] == 0.5
    assert config("method.alpha=2", task=LogicNLG, method="histalign").method_options["alpha"] == 2.0
    assert config(task=LogicNLG, method="histalign.released").method_options["alpha"] == 0.5


def test_a_variant_wins_over_the_recipe_and_typing_over_the_variant(monkeypatch):
    monkeypatch.setitem(AmbiguousTemplate.recipes["small"], "method.variant", "paper")
    assert config(method="histalign.released").method_options["variant"] == "released"
    assert config("method.variant=paper", method="histalign.released").method_options["variant"] == "paper"
    assert config("histalign.released:method.alpha=3", method="histalign.released").method_options["alpha"] == 3.0
    assert config("histalign.released:method.alpha=3", method="histalign").method_options["alpha"] == 1.0
    assert config("histalign:method.alpha=3", method="histalign.released").method_options["alpha"] == 3.0


def test_the_aliases_of_evaluation():
    found = config("task.eval_rows=5", "task.eval_split=valid")
    assert (found.evaluation.rows, found.evaluation.split) == (5, "valid")
    assert config("task.eval_rows=all").evaluation.rows is None


def test_limit_and_decodings():
    assert config(limit=3).trainer.limit == config("trainer.limit=3").trainer.limit == 3
    found = config(task=LogicNLG, decode="greedy,topk=3,beam=4+length_penalty=2")
    assert [d.text for d in found.decodings] == ["greedy", "topk=3", "beam=4+length_penalty=2.0"]
    assert config(task=LogicNLG).as_dict()["decodings"] == ["greedy"]
    assert [d.text for d in config(task=LogicNLG, preset="paper").decodings] == [BART]


def test_an_option_of_another_method_or_backbone_is_left_to_it():
    assert config("method.alpha=3").method_options == {}
    assert "path" not in config("backbone.path=x").backbone_options


@pytest.mark.parametrize("text", ["trainer.stepz=1", "evaluation.row=1", "method.alpha=x", "backbone.width=1.5",
                                  "task.split=clena", "trainer.batch_size=0"])  # fmt: skip
def test_values_that_cannot_be_are_refused(text):
    with pytest.raises(UsageError, match=text.partition("=")[0].partition(".")[2].rstrip("z")):
        config(text, method="histalign")


# Overrides that nothing takes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("method.alhpa=1", "no method in this run has the option 'alhpa'; did you mean 'alpha'?"),
        ("task.splitt=clean", "no task in this run has the option 'splitt'; did you mean 'split'?"),
        ("backbone.widht=1", "no backbone in this run has the option 'widht'; did you mean 'width'?"),
        ("histalgin:method.alpha=1", "'histalgin:method.alpha' is for 'histalgin', which is not in this run; did you"),
        ("mle:method.alpha=1", "no method in this run has the option 'alpha'"),
        ("method.lr=1", "no method in this run has the option 'lr'; there are: alpha, "),
        ("logicnlg:task.style=plog", "'logicnlg:task.style' is for 'logicnlg', which is not in this run"),
    ],
)
def test_an_override_that_nothing_takes_is_refused(text, says):
    methods = [find_method("mle"), find_method("histalign")]
    with pytest.raises(UsageError) as found:
        check_overrides(parse_sets([text]), [AmbiguousTemplate], methods, ["small-causal"])
    assert str(found.value).startswith(says)


@pytest.mark.parametrize(
    "text",
    ["method.alpha=1", "histalign:method.alpha=1", "histalign.released:method.alpha=1", "small-causal:backbone.width=1",
     "ambiguous_template:method.alpha=1", "ambiguous_template:backbone.width=1", "mle:backbone.width=1",
     "mle:trainer.lr=1", "task.eval_rows=5"],
)  # fmt: skip
def test_an_override_that_something_takes_is_not(text):
    methods = [find_method("mle"), find_method("histalign.released")]
    check_overrides(parse_sets([text]), [AmbiguousTemplate], methods, ["small-causal"])


@pytest.mark.parametrize(("task", "width"), [(Gigaword, 32), (NYT, 50), (Wikibio, 50)])
@pytest.mark.parametrize("method", ["attexp", "adadec"])
def test_exemplars_are_as_wide_as_the_recipe_says(task, width, method):
    """Peng et al. 2019, A.1: 32 for Gigaword, 50 for the Times; a default of the class does not stand above it."""
    found = config(task=task, method=method, preset="paper").backbone_options
    assert found["exemplar_width"] == width
    typed = config("backbone.exemplar_width=7", task=task, method=method, preset="paper").backbone_options
    assert typed["exemplar_width"] == 7


def test_a_default_of_the_method_holds_where_the_recipe_says_nothing():
    assert config(task=Gigaword, method="attexp").backbone_options["exemplar_width"] == 64
    assert config(task=Gigaword, method="adadec").backbone_options["exemplar_width"] == 32
