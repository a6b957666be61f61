"""The catalogue of commands: a file for each, imported only when it is typed, and light until it runs."""

import argparse
import importlib
import subprocess
import sys

import pytest

from bench.cli import parser
from bench.commands import COMMANDS
from tests.bench.test_cli import HEAVY
from tests.shipped import MODULES


def printed_by(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def test_every_file_is_a_command_and_every_command_a_light_file():
    """What is heavy is imported when the command runs."""
    files = {name for name in MODULES if name.startswith("bench.commands.")}
    assert {f"bench.commands.{name}" for name in COMMANDS} == files
    code = f"""
import importlib, sys
for name in {sorted(files)!r}:
    module = importlib.import_module(name)
    assert callable(module.options) and callable(module.run)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert printed_by(code) == "[]"


@pytest.mark.parametrize(
    ("typed", "imported"),
    [
        (["--help"], []),
        (["--version"], []),
        (["store", "status", "--help"], ["bench.commands.store"]),
        (["human", "export", "--help"], ["bench.commands.human"]),
        (["store", "status", "--results", "nowhere"], ["bench.commands.store"]),
    ],
)
def test_only_the_file_of_the_typed_command_is_imported(typed, imported):
    code = f"""
import sys
from bench.cli import main
try:
    main({typed!r})
except SystemExit:
    pass
print(sorted(name for name in sys.modules if name.startswith("bench.commands.")))
"""
    assert printed_by(code) == str(imported)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is(name, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args([name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: bench {name} ")
    options = argparse.ArgumentParser()
    importlib.import_module(f"bench.commands.{name}").options(options)
    assert [action.dest for action in options._actions if action.dest != "action" and not action.help] == []


def test_a_package_that_is_not_installed_is_one_clear_line(bench, monkeypatch):
    monkeypatch.setitem(sys.modules, "bench.cells.score", None)
    with pytest.raises(ModuleNotFoundError):  # a file of ours that is gone is a fault of ours
        bench("score")

    def halt(given):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("bench.commands.store.run", halt)
    ended = bench("store", "status")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == "bench: the package 'torch' is needed and not installed; bench doctor says how\n"
