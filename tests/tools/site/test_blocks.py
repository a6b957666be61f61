"""What pages show is run: every command and every block of Python, in order, small. Most of it takes long."""

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cli import parser
from bench.errors import UsageError
from tools.site.pages import ROOT, Page, page, pages
from tools.site.running import FIRST, Sandbox, forget

PAGES = {found.path.as_posix(): found for found in pages()}
COMMANDS = {name: [c for block in found.blocks for c in block.commands] for name, found in PAGES.items()}
WITH_COMMANDS = [name for name, commands in COMMANDS.items() if commands]
ENTRY = re.compile(r'^"\w+": ', re.MULTILINE)
"""The beginning of a line that a page adds to a dictionary of the code."""
NOTEBOOKS = ("docs/notebooks/own_objective.md", "docs/notebooks/table_again.md")
RUN_HERE = ("docs/quickstart.md", "tasks/README.md", *NOTEBOOKS)
"""Pages whose Python is run here, among their commands; that of other pages is run by tests of their own."""


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample_data: None) -> Iterator[Sandbox]:
    """An empty folder as the current one."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Sandbox(folder)
    made.prepare()
    yield made
    forget(folder)


def run_whole(sandbox: Sandbox, found: Page) -> list[str]:
    """Run commands and loose Python of a page in order; return what went wrong."""
    sandbox.write_files(found)
    wrong, names = [], {"__name__": "page"}
    if found.path.as_posix() in FIRST:
        assert sandbox.tried(FIRST[found.path.as_posix()]) == ""
    for block in found.blocks:
        wrong += sandbox.run(block)
        is_part = block.file is not None or ENTRY.search(block.text)
        if block.kind == "python" and block.is_run and not is_part and found.path.as_posix() in RUN_HERE:
            exec(compile(block.text, str(found.path), "exec"), names)
    return wrong


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_are_commands(name: str) -> None:
    for command in COMMANDS[name]:
        parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("name", sorted(set(PAGES) - {"CHANGELOG.md"}))  # which names removed commands, too
def test_sentences_name_commands_that_there_are(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for code in PAGES[name].inline_code:
        match code.split():
            case ["make", target, *_] if target.islower():
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), code
            case ["python", "-m", module, *_] if module.startswith("tools."):
                assert importlib.util.find_spec(module) is not None, code
            case ["bench", word, *words] if word != "COMMAND":
                assert refusal([word, *words]) in ("", "incomplete"), code


def refusal(words: list[str]) -> str:
    """Why a command cannot be parsed: nothing, `incomplete` for the name of a command alone, or the message."""
    try:
        parser().parse_args(words)
    except UsageError as error:
        return "incomplete" if re.search("are required|expected one argument", str(error)) else str(error)
    except SystemExit:  # --help
        return ""
    return ""


@pytest.mark.parametrize("name", sorted(PAGES))
def test_python_can_be_read(name: str) -> None:
    for block in PAGES[name].blocks:
        if block.kind == "python" and not ENTRY.search(block.text):
            compile(block.text.removeprefix("%%writefile "), name, "exec")


def test_the_quickstart_works(sandbox: Sandbox) -> None:
    """The one page that every run of the tests goes through; one seed, since each cell takes a second."""
    found = page("docs/quickstart.md")
    commands = [c for block in found.blocks for c in block.commands if "--seeds" not in c]
    assert len(commands) >= 7
    for block in found.blocks:
        if block.kind == "python":
            exec(compile(block.text, str(found.path), "exec"), {"__name__": "page"})
        for command in block.commands:
            if block.is_run and command in commands:
                assert sandbox.tried(command) == ""


def test_the_logger_of_ones_own_is_made_as_its_page_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow is not installed here, so its logger stands for itself."""
    made: list[dict[str, str]] = []
    monkeypatch.setattr("lightning.pytorch.loggers.MLFlowLogger", lambda **options: made.append(options))
    files = dict(filter(None, (block.file for block in PAGES["docs/commands.md"].blocks)))
    names: dict[str, Any] = {}
    exec(compile(files["my_loggers.py"], "my_loggers.py", "exec"), names)
    names["mlflow"]("logs", "logicnlg/mle/1f0c")
    assert made == [{"experiment_name": "objective-bench", "run_name": "logicnlg/mle/1f0c", "save_dir": "logs"}]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WITH_COMMANDS, *NOTEBOOKS])
def test_a_page_works(name: str, sandbox: Sandbox) -> None:
    wrong = run_whole(sandbox, PAGES[name])
    if wrong:
        pytest.fail("\n\n".join(wrong))
