"""Registries: names, groups and globs; plug-ins by module or file; what each table points at."""

import os
import subprocess
import sys

import pytest

from bench.base.options import read_options
from bench.base.registry import NAME, Entry, all_names, expand, find, load
from bench.commands.list import KINDS
from bench.config.config import PRESETS, EvaluationConfig, TrainerConfig
from bench.config.resolve import EvaluationVariant, find_method
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
    with pytest.raises(UsageError, match="^no method 'bth'; did you mean 'both'\\?; module:Name or"):
        expand(["bth"], TABLE, "method", groups=groups)
    assert expand(["a.b:C", "mle"], TABLE, "method") == ["a.b:C", "mle"]
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
        assert "small" in entry.load().recipes, name
        assert set(entry.load().recipes) <= set(PRESETS), name


@pytest.mark.parametrize("name", all_names(METHODS))
def test_every_method_sets_options_that_there_are(name):
    """Settings of classes and variants are of constructor, own backbone, trainer or evaluation variant."""
    method = find_method(name)
    sections = {key.partition(".")[0] for key in method.settings}
    assert sections <= {"method", "backbone", "trainer", "evaluation"}
    read_options(method.kind, method.values("method"), name)
    read_options(TrainerConfig, method.values("trainer"), name)
    read_options(EvaluationConfig, method.values("evaluation"), name)
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


# Plug-ins ------------------------------------------------------------------------------------------------------------

PLAIN = {"plain": Entry("bench.base.keys:key_of", "", variants={"other": {}})}
SOURCE = """
class Mine:
    name = "mine"


def maker():
    return 3
"""


@pytest.fixture
def files(own, monkeypatch):
    """The folder of own code, which a file is loaded from and no module."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(own.folder)])
    return own


def test_a_name_of_the_table_is_its_target_and_brings_no_code():
    found = find("plain", PLAIN, "method")
    assert (found.name, found.value.__name__, found.spec, found.code) == ("plain", "key_of", "plain", {})
    assert find("plain.other", PLAIN, "method").name == "plain.other"


def test_a_module_and_a_file_of_one_source_are_one_thing(own, monkeypatch):
    own.write("of_mine", SOURCE)
    by_module = find("of_mine:Mine", PLAIN, "method")
    assert (by_module.name, by_module.spec) == ("mine", "of_mine:Mine")
    monkeypatch.chdir(own.folder)
    by_file = find("of_mine.py:Mine", PLAIN, "method")
    assert by_file.value is by_module.value
    assert by_file.code == by_module.code
    assert by_file.code["class"] == "of_mine:Mine"
    assert by_file.spec == f"{own.folder}/of_mine.py:Mine"
    own.write("shows", "from of_mine import Mine, maker\n")
    assert find("shows:Mine", PLAIN, "method").code["source_sha256"] == by_file.code["source_sha256"]
    assert find("of_mine:maker", PLAIN, "backbone").name == "maker"
    own.write("of_mine", SOURCE + "# changed\n")
    assert find("of_mine:Mine", PLAIN, "method").code != by_file.code


def test_a_file_of_another_folder_may_import_what_lies_beside_it(files):
    files.write("beside", "NAME = 'mine'\n")
    files.write("of_mine", "import beside\n\n\nclass Mine:\n    name = beside.NAME\n")
    assert find(f"{files.folder}/of_mine.py:Mine", PLAIN, "method").name == "mine"


def test_an_entry_may_point_at_a_file(files):
    files.write("elsewhere", "def scores():\n    return 1\n")
    target = f"{files.folder / 'elsewhere.py'}:scores"
    files.write("of_mine", f"from bench.base.registry import Entry\n\nmine = Entry({target!r}, '')\n")
    sources = set()
    for line in ("", "# changed"):
        files.write("elsewhere", "def scores():\n    return 1\n" + line)
        found = find(f"{files.folder / 'of_mine.py'}:mine", PLAIN, "metric")
        assert found.value.load()() == 1
        sources.add(found.code["source_sha256"])
    assert len(sources) == 2


def test_a_file_that_breaks_is_not_kept(files):
    files.write("of_mine", "{}['missing']")
    for _ in range(2):
        with pytest.raises(UsageError, match=r"^importing '.*of_mine.py' for '.*of_mine.py:Mine' fails: KeyError"):
            load(f"{files.folder}/of_mine.py:Mine")
    assert "of_mine" not in sys.modules


@pytest.mark.parametrize(
    ("file", "error", "says"),
    [
        ("random", UsageError, "has the name of another module"),
        ("test-1", UsageError, "should be named by letters, digits and '_'"),
        ("of_mine", UsageError, "has no 'Nine'; did you mean 'Mine'?"),
        ("nowhere", MissingError, "there is no file '"),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_clear_error(files, file, error, says):
    files.write("of_mine", SOURCE)
    if file != "nowhere":
        (files.folder / f"{file}.py").write_text(SOURCE)
    with pytest.raises(error) as raised:
        load(f"{files.folder}/{file}.py:Nine")
    assert says in str(raised.value)


def test_two_files_of_one_name_are_refused(files, tmp_path):
    files.write("of_mine", SOURCE)
    load(f"{files.folder}/of_mine.py:Mine")
    (tmp_path / "of_mine.py").write_text(SOURCE)
    with pytest.raises(UsageError, match="has the name of another module .*own code/of_mine.py.; rename one of them"):
        load(f"{tmp_path}/of_mine.py:Mine")


@pytest.mark.parametrize(
    "name", ["Mine", "", "a/b", "all", "plain", "plain.other", "../x", "a b", ".a", "x" * 65, "é", "a\n", "con:1", None]
)
def test_a_name_that_is_none_or_taken_is_refused(own, name):
    own.write("of_mine", SOURCE.replace('"mine"', repr(name)))
    with pytest.raises(UsageError, match="should have a class attribute `name`|which is a built-in method"):
        find("of_mine:Mine", PLAIN, "method")


# The current folder ------------------------------------------------------------------------------------------------


def test_the_program_imports_from_the_current_folder_and_the_library_does_not(tmp_path):
    (tmp_path / "of_mine.py").write_text("")
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    look = "import importlib.util; print(importlib.util.find_spec('of_mine') is not None)"
    codes = {"import bench": "False", "import sys, bench.cli; sys.argv = ['bench']; bench.cli.program()": "True"}
    for code, says in codes.items():
        command = [sys.executable, "-c", f"{code}; {look}"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split()[-1] == says
