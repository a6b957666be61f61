"""Plug-ins: one mechanism finds a name of a table, of a module, of a file, or of an installed package."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bench.base.entries import Entry, find, installed
from bench.base.own_code import load
from bench.errors import MissingError, UsageError

TABLE = {"plain": Entry("bench.base.keys:key_of", "", variants={"other": {}})}
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
    found = find("plain", TABLE, "method")
    assert (found.name, found.value.__name__, found.asked, found.code) == ("plain", "key_of", "plain", {})
    assert find("plain.other", TABLE, "method").name == "plain.other"


def test_a_module_and_a_file_of_one_source_are_one_thing(own, monkeypatch):
    own.write("of_mine", SOURCE)
    by_module = find("of_mine:Mine", TABLE, "method")
    assert (by_module.name, by_module.asked) == ("mine", "of_mine:Mine")
    monkeypatch.chdir(own.folder)
    by_file = find("of_mine.py:Mine", TABLE, "method")
    assert by_file.value is by_module.value
    assert by_file.code == by_module.code
    assert by_file.code["class"] == "of_mine:Mine"
    assert by_file.asked == f"{own.folder}/of_mine.py:Mine"
    own.write("shows", "from of_mine import Mine, maker\n")
    assert find("shows:Mine", TABLE, "method").code["source_sha256"] == by_file.code["source_sha256"]
    assert find("of_mine:maker", TABLE, "backbone").name == "maker"


def test_a_file_of_another_folder_may_import_what_lies_beside_it(files):
    files.write("beside", "NAME = 'mine'\n")
    files.write("of_mine", "import beside\n\n\nclass Mine:\n    name = beside.NAME\n")
    assert find(f"{files.folder}/of_mine.py:Mine", TABLE, "method").name == "mine"


def test_an_entry_may_point_at_a_file(files):
    files.write("elsewhere", "def scores():\n    return 1\n")
    target = f"{files.folder / 'elsewhere.py'}:scores"
    files.write("of_mine", f"from bench.base.entries import Entry\n\nmine = Entry({target!r}, '')\n")
    sources = set()
    for line in ("", "# changed"):
        files.write("elsewhere", "def scores():\n    return 1\n" + line)
        found = find(f"{files.folder / 'of_mine.py'}:mine", TABLE, "metric")
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


@pytest.mark.parametrize("name", ["Mine", "", "a/b", "all", "plain", "plain.other"])
def test_a_name_that_is_none_or_taken_is_refused(own, name):
    own.write("of_mine", SOURCE.replace('"mine"', repr(name)))
    with pytest.raises(UsageError, match="should have a class attribute `name`|which is a built-in method"):
        find("of_mine:Mine", TABLE, "method")


@pytest.mark.parametrize(
    ("also", "says"),
    [
        ("", "no method 'plian'; did you mean 'plain'?; module:Name or file.py:Name works too"),
        ("a hub id", "no method 'plian'; did you mean 'plain'?; a hub id works too, and module:Name or file.py:Name"),
    ],
)
def test_an_unknown_name_is_told_what_else_works(also, says):
    with pytest.raises(UsageError) as raised:
        find("plian", TABLE, "method", also=also)
    assert str(raised.value) == says


# Installed packages ------------------------------------------------------------------------------------------------


def register(folder: Path, package: str, **names: str) -> None:
    """Write what an installed package leaves beside its code: its name and its entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in names.items()]
    (info / "entry_points.txt").write_text("\n".join(["[objective_bench.methods]", *lines]))


def test_what_a_package_registered_is_found_by_its_name(own):
    own.write("of_mine", SOURCE)
    register(own.folder, "losses", mine="of_mine:Mine")
    found = find("mine", TABLE, "method")
    assert (found.name, found.asked, found.code["class"]) == ("mine", "mine", "of_mine:Mine")
    with pytest.raises(UsageError, match="^no task 'mine'"):
        find("mine", TABLE, "task")
    with pytest.raises(UsageError, match="^no method 'mime'; did you mean 'mine'"):
        find("mime", TABLE, "method")


def test_nothing_of_packages_is_read_for_a_built_in_name(own):
    register(own.folder, "losses", plain="of_mine:Mine")
    assert find("plain", TABLE, "method").code == {}
    with pytest.raises(UsageError, match="^package 'losses' registers the method 'plain', which is built in; rename"):
        installed("method", TABLE)


def test_two_packages_of_one_name_are_refused(own):
    register(own.folder, "losses", mine="of_mine:Mine")
    register(own.folder, "more", mine="of_others:Mine")
    with pytest.raises(UsageError, match="both register the method 'mine'"):
        find("mine", TABLE, "method")


def test_a_package_and_its_class_have_one_name(own):
    own.write("of_mine", SOURCE)
    register(own.folder, "losses", other="of_mine:Mine")
    with pytest.raises(UsageError, match="method 'other' of package 'losses' names itself 'mine'; expected one name"):
        find("other", TABLE, "method")


def test_the_packages_code_is_not_imported_to_list_it(own):
    own.write("of_mine", SOURCE)
    register(own.folder, "losses", mine="of_mine:Mine")
    assert isinstance(installed("method", TABLE)["mine"], EntryPoint)
    assert "of_mine" not in sys.modules


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
