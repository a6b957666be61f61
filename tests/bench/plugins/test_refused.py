"""Files that are no plug-ins of their kind are refused with the reason, and others are taken."""

import importlib
import shutil
import sys

import pytest

from bench import make
from bench.cells.plan import PlanBuilder, make_plan
from bench.cells.search import tuned_methods
from bench.errors import BenchError
from tests.bench.plugin_files import FILES, METHOD, RUN, arguments, board, write
from tests.conftest import call


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("towns", "(Task)", "", "is not a subclass of bench.tasks.core.task.Task"),
        ("towns", "def sample", "def simple", "should define sample; see tasks/README.md"),
        ("towns", "recipes =", "recipe =", "should have a class attribute `recipes`"),
        ("towns", '"small": {', '"tiny": {', "should have a recipe 'small'; its recipes are: tiny"),
        ("towns", 'primary="ppl/token"', 'primary="rouge-l"', "primary column 'rouge-l', which is not among"),
        ("towns", '"backbone": "small-causal", ', "", "the recipe 'small' of task 'towns' should name a 'backbone'"),
        ("towns", 'name = "towns"', 'name = "xsum"', "is named 'xsum', which is a built-in task; choose another name"),
        ("soft", "(Objective)", "", "is not a subclass of bench.models.core.objective.Objective or bench.models.base"),
        ("shouts", 'kind="generation"', 'kind="texts"', "should have a kind, one of likelihood, probe"),
        ("shouts", '"+shouts"', '"shouts"', "should have columns, each after '+' (higher is better)"),
        ("shouts", 'kind="generation"', 'kind="probe"', "'shouts', which reads probe rows; no task of this run makes"),
        ("shouts", "shouts = ", "shouts = METRICS = 5, ", "is not a bench.Metric, which names a function"),
        ("tiny", "name, texts, seed", "texts, seed", "should be a function (name, texts, seed, *, options)"),
        ("tiny", "def tiny", "class tiny:\n    name = 'tiny'\n\ndef tony", "is neither a function (name, texts, seed"),
    ],
)  # fmt: skip
def test_what_is_not_of_its_kind_is_refused(files, file, old, new, says):
    assert old in FILES[file]
    write(files, file, FILES[file].replace(old, new))
    wanted = arguments(metrics=("shouts.py:shouts",), backbone=None if old.startswith('"backbone') else "tiny.py:tiny")
    with pytest.raises(BenchError) as refused:
        make_plan(wanted)
    assert says in str(refused.value)


def test_a_recipe_that_is_not_there_is_refused(files):
    with pytest.raises(BenchError, match="task 'towns' has no recipe for the preset 'paper', only for: small"):
        make_plan(arguments(preset="paper"))


def test_two_tasks_or_tuned_methods_of_one_name_are_refused(files):
    write(files, "hamlets", FILES["towns"])
    with pytest.raises(BenchError, match=r"towns\.py:Towns' and '.*hamlets\.py:Towns' are both named 'towns'"):
        make_plan(arguments(tasks=("towns.py:Towns", "hamlets.py:Towns")))
    write(files, "softer", FILES["soft"])
    builder = PlanBuilder(arguments(methods=("soft.py:Soft", "softer.py:Soft")), print, print)
    with pytest.raises(BenchError, match=r"soft\.py:Soft' and '.*softer\.py:Soft' are both named 'soft'"):
        tuned_methods(builder)


def test_a_backbone_is_what_its_entry_says(files):
    text = FILES["tiny"] + "\nfrom bench.models.backbones import BackboneEntry\n"
    text += "other = BackboneEntry(f'{__name__}:tiny', 'says it reads a source', architecture='encoder-decoder')\n"
    write(files, "tiny", text)
    ended = call(*RUN[:3], "--method", "mle", "--backbone", "tiny.py:other", "--preset", "small", "--results", "none")
    assert "where encoder-decoder was expected; say architecture=... in a BackboneEntry" in ended.err
    shutil.rmtree("none")


def test_a_method_without_a_model_of_ones_own(files):
    write(files, "soft", METHOD + BASELINE)
    where = ("--results", "baseline")
    ended = call(*RUN[:3], "--method", "soft.py:Echo", "--preset", "small", *where, "--set", "evaluation.rows=4")
    assert ended.code == 0, ended.err
    tables = board(*where)["tables"]
    assert [(row["method"], row["backbone"]) for table in tables for row in table["methods"]] == [("echo", "")] * 2
    shutil.rmtree("baseline")


BASELINE = '''
from bench.models.baselines import Baseline


class Echo(Baseline):
    """The source as it is."""

    name = "echo"
    paper = "none"
    fields = frozenset()

    def write(self, source, exemplar, words):
        return source
'''


def test_a_class_is_taken_by_make(files, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(files)])
    towns, soft = importlib.import_module("towns"), importlib.import_module("soft")
    objective, task = make(towns.Towns, soft.Soft, backbone="tiny.py:tiny", set={"backbone.width": 8}, limit=8)
    assert (type(objective), type(task), objective.backbone.width) == (soft.Soft, towns.Towns, 8)
