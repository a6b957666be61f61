"""What pages show is run: every command and every block of Python, in order, small. Most of it takes long."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cli import parser
from tools.site.pages import Page, page, pages
from tools.site.running import FIRST, Sandbox, forget

PAGES = {found.path.as_posix(): found for found in pages()}
COMMANDS = {name: [c for block in found.blocks for c in block.commands] for name, found in PAGES.items()}
WITH_COMMANDS = [name for name, commands in COMMANDS.items() if commands]
RUN_HERE = ("docs/quickstart.md", "tasks/README.md")
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
    wrong = []
    if found.path.as_posix() in FIRST:
        assert sandbox.tried(FIRST[found.path.as_posix()]) == ""
    for block in found.blocks:
        wrong += sandbox.run(block)
        is_run = found.path.as_posix() in RUN_HERE and "TaskEntry(" not in block.text  # a line of a list
        if block.kind == "python" and block.file is None and is_run:
            exec(compile(block.text, str(found.path), "exec"), {"__name__": "page"})
    return wrong


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_are_commands(name: str) -> None:
    for command in COMMANDS[name]:
        parser().parse_args(shlex.split(command)[1:])


def test_the_quickstart_works(sandbox: Sandbox) -> None:
    """The one page that every run of the tests goes through; one seed, since each cell takes a second."""
    found = page("docs/quickstart.md")
    commands = [c for block in found.blocks for c in block.commands if "--seeds" not in c]
    assert len(commands) >= 7
    for block in found.blocks:
        if block.kind == "python":
            exec(compile(block.text, str(found.path), "exec"), {"__name__": "page"})
        for command in block.commands:
            if command in commands:
                assert sandbox.tried(command) == ""


def test_the_logger_of_ones_own_is_made_as_its_page_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow is not installed here, so its logger stands for itself."""
    made: list[dict[str, str]] = []
    monkeypatch.setattr("lightning.pytorch.loggers.MLFlowLogger", lambda **options: made.append(options))
    files = dict(filter(None, (block.file for block in PAGES["docs/loggers.md"].blocks)))
    names: dict[str, Any] = {}
    exec(compile(files["my_loggers.py"], "my_loggers.py", "exec"), names)
    names["mlflow"]("logs", "logicnlg/mle/1f0c")
    assert made == [{"experiment_name": "objective-bench", "run_name": "logicnlg/mle/1f0c", "save_dir": "logs"}]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_a_page_works(name: str, sandbox: Sandbox) -> None:
    wrong = run_whole(sandbox, PAGES[name])
    if wrong:
        pytest.fail("\n\n".join(wrong))
