"""The pages of docs/notebooks: every block of Python runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.site.notebooks import FOLDER, execute, sources
from tools.site.pages import ROOT
from tools.site.running import forget


def test_there_are_two() -> None:
    assert [path.name for path in sources()] == ["own_objective.md", "table_again.md"]


def test_cells_share_their_names_and_write_files(tmp_path: Path) -> None:
    text = "```python\n%%writefile seven.py\nVALUE = 7\n```\n\n```python\nx = 3\n```\n\n```python\ny = x + 1\n```\n"
    names = execute(text, "shared", tmp_path)
    assert names["y"] == 4
    assert (tmp_path / "seven.py").read_text() == "VALUE = 7\n"


@pytest.mark.slow
@pytest.mark.usefixtures("sample_data")
@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.stem))
def test_every_cell_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / FOLDER.relative_to(ROOT)
    folder.mkdir(parents=True)
    (tmp_path / "leaderboards").symlink_to(ROOT / "leaderboards")
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    try:
        execute(path.read_text(encoding="utf-8"), path.stem, folder)
    finally:
        forget(folder)
