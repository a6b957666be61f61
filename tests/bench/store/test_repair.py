"""Repair: every damaged file goes out of the way, nothing is lost, and the command that is named makes it again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.store.repair import ASIDE, repaired
from bench.store.store import Store
from tests.conftest import Ended

PATTERNS = ("trained.json", "rows-*", "scores-*", "items-*", "model-*")


def cut(path: Path) -> bytes:
    """Damage a file; return what it holds then."""
    path.write_bytes(path.read_bytes()[:-20])
    return path.read_bytes()


def contents(root: Path) -> dict[str, bytes]:
    """What a store holds but its page, circumstances left out: the canonical parts of records."""
    held = {}
    for cell in Store(root).cells():
        place = cell.path.relative_to(root).as_posix()
        for name in cell.names("*"):
            held[f"{place}/{name}"] = (cell.path / name).read_bytes()
    return held


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_moved_aside_is_made_again(bench: Callable[..., Ended], store_copy: Path, pattern: str) -> None:
    (cell,) = Store(store_copy).cells()
    path = cell.path / cell.names(pattern)[0]
    before, damaged = path.read_bytes(), cut(path)
    ended = bench("repair", "--results", str(store_copy))
    assert ended.code == 0, ended.err
    aside = store_copy / ASIDE / path.relative_to(store_copy)
    assert aside.read_bytes() == damaged
    assert not path.exists()
    command = ended.out.splitlines()[-1].strip()
    assert bench(*shlex.split(command)[1:]).code == 0
    if pattern in ("items-*", "model-*"):
        assert path.read_bytes() == before
    assert path.exists()
    assert list(repaired(store_copy)) == []
    assert bench("status", "--results", str(store_copy)).code == 0


def test_a_dry_run_moves_nothing(bench: Callable[..., Ended], store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    cut(cell.path / cell.names("scores-*")[0])
    before = contents(store_copy)
    ended = bench("repair", "--results", str(store_copy), "--dry-run")
    assert (ended.code, "would move" in ended.out) == (1, True)
    assert contents(store_copy) == before
    assert not (store_copy / ASIDE).exists()


def test_a_whole_store_is_left_alone(bench: Callable[..., Ended], store_copy: Path) -> None:
    before = contents(store_copy)
    ended = bench("repair", "--results", str(store_copy))
    assert (ended.code, ended.out) == (0, f"no damaged files in '{store_copy}'\n")
    assert contents(store_copy) == before


def test_two_damaged_files_of_one_name_are_both_kept(store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    path = cell.path / cell.names("scores-*")[0]
    for text in ("first", "second"):
        path.write_text(text)
        assert len(list(repaired(store_copy))) == 1
    kept = (store_copy / ASIDE / path.parent.relative_to(store_copy)).iterdir()
    assert sorted(file.read_text() for file in kept) == ["first", "second"]


def test_what_was_moved_aside_is_no_cell(bench: Callable[..., Ended], store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    cut(cell.path / "trained.json")
    list(repaired(store_copy))
    assert list(Store(store_copy).cells()) == []
    assert bench("score", str(store_copy)).code == 3  # no trained cell


def test_a_file_of_a_later_version_stays(bench: Callable[..., Ended], store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    path = cell.path / cell.names("scores-*")[0]
    text = path.read_text().replace('"schema": 1', '"schema": 9').replace('"bench": "', '"bench": "9.')
    path.write_text(text)
    ended = bench("repair", "--results", str(store_copy))
    assert ended.code == 1
    assert "pip install" in ended.out
    assert path.read_text() == text


def test_a_kept_board_is_refused(bench: Callable[..., Ended]) -> None:
    for command in (["repair"], ["clean"]):
        assert bench(*command, "--results", "leaderboards/runs/grid.jsonl").code == 2
