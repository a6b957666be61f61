"""Unfinished folders: whose they are, who may take them, and how one becomes the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.base.files import signature
from bench.errors import StoreError
from bench.tasks.fetch.folders import claim, publish

HOST = signature().partition("-")[0]


def unfinished_of(process: int, folder: Path) -> Path:
    made = folder.with_name(f".{folder.name}.{HOST}-{process}.tmp")
    made.mkdir(parents=True)
    (made / "part").write_text("written")
    (made / ".part.torn.tmp").write_text("half")
    return made


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.mark.parametrize("resume", [False, True])
def test_the_folder_of_a_process_that_is_gone_is_taken_over_or_removed(resume: bool, gone: int, tmp_path: Path) -> None:
    theirs = unfinished_of(gone, tmp_path / "rows")
    mine = claim(tmp_path / "rows", resume=resume)
    assert not theirs.exists()
    assert os.listdir(mine) == (["part"] if resume else []), "what was torn is not kept"
    assert mine.name.endswith(f"-{os.getpid()}.tmp")


@pytest.mark.parametrize("resume", [False, True])
def test_the_folder_of_a_living_process_is_left_alone(resume: bool, tmp_path: Path) -> None:
    theirs = unfinished_of(os.getppid(), tmp_path / "rows")
    assert os.listdir(claim(tmp_path / "rows", resume=resume)) == []
    assert len(os.listdir(theirs)) == 2


def test_a_name_that_begins_alike_is_another_folder(gone: int, tmp_path: Path) -> None:
    theirs = unfinished_of(gone, tmp_path / "rows2")
    claim(tmp_path / "rows")
    claim(tmp_path / "row*")
    assert theirs.exists()


def test_of_several_that_are_left_one_is_taken_over(gone: int, tmp_path: Path) -> None:
    unfinished_of(gone, tmp_path / "rows")
    mine = unfinished_of(os.getpid(), tmp_path / "rows")
    (mine / "part").write_text("my own")
    assert (claim(tmp_path / "rows", resume=True) / "part").read_text() == "my own"
    assert os.listdir(tmp_path) == [mine.name]


def test_the_first_to_publish_wins(tmp_path: Path) -> None:
    mine = claim(tmp_path / "rows")
    (mine / "a").write_text("mine")
    assert publish(mine, tmp_path / "rows")
    again = claim(tmp_path / "rows")
    (again / "a").write_text("later")
    assert not publish(again, tmp_path / "rows")
    assert (tmp_path / "rows" / "a").read_text() == "mine"
    assert os.listdir(tmp_path) == ["rows"]


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write below"):
        claim(tmp_path / "file" / "rows")
    mine = claim(tmp_path / "rows")
    (tmp_path / "rows").write_text("in the way")
    with pytest.raises(StoreError, match="cannot put '.*rows' in place"):
        publish(mine, tmp_path / "rows")
