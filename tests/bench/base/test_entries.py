"""Entries: names, groups and globs; the tables agree with the classes they point at."""

import pytest

from bench.base.entries import Entry, all_names, expand
from bench.base.options import options_of, read_options
from bench.base.own_code import load
from bench.commands.list import KINDS
from bench.config.config import EvaluationConfig, TrainerConfig, typed
from bench.config.resolve import NAME, EvaluationVariant, find_method
from bench.errors import MissingError, UsageError
from bench.metrics import METRICS
from bench.models import METHODS
from bench.models.backbones import backbone_factory
from bench.tasks import TASKS

TABLE = {
    "mle": Entry("m:M", ""),
    "trime": Entry("t:T", "", variants={"released": {}, "other": {}}),
    "histalign": Entry("h:H", "", variants={"released": {}}),
}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["all"], ["mle", "trime", "histalign"]),
        (["histalign", "all"], ["histalign", "mle", "trime"]),
        (["trime.released", "mle"], ["trime.released", "mle"]),
        (["*.released"], ["trime.released", "histalign.released"]),
        (["t*"], ["trime", "trime.released", "trime.other"]),
        (["[mh]*e"], ["mle"]),
        (["mle", "mle", "m?e"], ["mle"]),
        ([], []),
    ],
)
def test_names_groups_and_globs(wanted, found):
    assert expand(wanted, TABLE, "method") == found


def test_groups_and_a_users_own_class():
    groups = {"both": ["histalign", "mle"], "all": ["mle", "trime"]}
    assert expand(["mle", "both", "all"], TABLE, "method", groups=groups) == ["mle", "histalign", "trime"]
    with pytest.raises(UsageError, match="^no method 'bth'; did you mean 'both'\\?$"):
        expand(["bth"], TABLE, "method", groups=groups)
    assert expand(["a.b:C", "mle"], TABLE, "method", own=True) == ["a.b:C", "mle"]
    assert all_names(TABLE) == ["mle", "trime", "trime.released", "trime.other", "histalign", "histalign.released"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("trim", "no method 'trim'; did you mean 'trime'?"),
        ("trime.relesed", "no method 'trime.relesed'; did you mean 'trime.released'?"),
        ("mle.released", "no method 'mle.released'; did you mean 'trime.released'?"),
        ("xyz*", "no method matches 'xyz*'; there are: histalign, histalign.released, mle, trime, trime.other, "),
        ("ALL", "no method 'ALL'; did you mean 'all'?"),
        ("../mle", "no method '../mle'; did you mean 'mle'?"),
        ("package.module:Class", "no method 'package.module:Class'; there are: "),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(name, says):
    with pytest.raises(UsageError) as found:
        expand([name], TABLE, "method")
    assert str(found.value).startswith(says)


@pytest.mark.parametrize(
    ("target", "error", "says"),
    [
        ("no_such_module_here:X", MissingError, "cannot import 'no_such_module_here' for 'no_such_module_here:X': "),
        ("bench.base.keys:key_off", UsageError, "module 'bench.base.keys' has no 'key_off'; did you mean 'key_of'?"),
        ("bench.base.keys:", UsageError, "module 'bench.base.keys' has no ''; there are: "),
        (":X", UsageError, "importing '' for ':X' fails: ValueError: "),
        (".keys:X", UsageError, "importing '.keys' for '.keys:X' fails: TypeError: "),
        ("broken_on_purpose:X", UsageError, "importing 'broken_on_purpose' for 'broken_on_purpose:X' fails: Syntax"),
        ("needs_on_purpose:X", MissingError, "cannot import 'needs_on_purpose' for 'needs_on_purpose:X': No module"),
    ],
)
def test_what_cannot_be_loaded_is_one_clear_error(tmp_path, monkeypatch, target, error, says):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_on_purpose.py").write_text("x = (")
    (tmp_path / "needs_on_purpose.py").write_text("import not_installed_here")
    with pytest.raises(error) as found:
        load(target)
    assert str(found.value).startswith(says)
    assert "__" not in str(found.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_can_be_loaded_and_says_what_it_is(kind):
    for name, entry in KINDS[kind].items():
        assert NAME.fullmatch(name.replace(".", "-")), name
        assert entry.summary, name
        assert callable(entry.load()), name
        if kind in ("methods", "tasks"):
            assert entry.load().name == name


def test_every_task_names_metrics_and_columns_that_there_are():
    for name, entry in TASKS.items():
        info = entry.load().info
        assert set(info.metrics) <= set(METRICS), name
        assert {METRICS[family].kind for family in info.metrics} == set(info.evaluations), name
        assert entry.primary in entry.columns, name
        assert set(entry.load().recipes) - {"mid"} == {"small", "paper"}, name


@pytest.mark.parametrize("name", all_names(METHODS))
def test_every_method_sets_options_that_there_are(name):
    """Settings of classes and variants are of constructor, own backbone, trainer or evaluation variant."""
    method = find_method(name)
    sections = {key.partition(".")[0] for key in method.settings}
    assert sections <= {"method", "backbone", "trainer", "evaluation"}
    read_options(method.kind, method.values("method"), name)
    typed(TrainerConfig, method.values("trainer"), name)
    typed(EvaluationConfig, method.values("evaluation"), name)
    if "backbone" in sections:
        read_options(backbone_factory(method.own_backbone), method.values("backbone"), name)
    base, _, variant = name.partition(".")
    given = (METHODS[base].variants or {}).get(variant, {})
    read = {key.partition(".")[2]: value for key, value in given.items() if key.startswith("evaluation_variant.")}
    assert method.evaluation_variant == EvaluationVariant(**read)
    assert not method.evaluation_variant.matched or method.evaluation_variant.matched in METHODS
    assert not method.only_reads or not method.parent


def test_every_variant_says_what_it_is():
    for name, entry in METHODS.items():
        for variant, given in (entry.variants or {}).items():
            assert given.get("summary"), f"{name}.{variant}"
            assert "summary" not in find_method(f"{name}.{variant}").settings, "it is in no configuration and no key"


@pytest.mark.parametrize("name", [name for name, entry in METHODS.items() if entry.baseline])
def test_a_baseline_has_no_options(name):
    assert options_of(METHODS[name].load()) == {}
