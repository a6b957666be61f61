"""The index: it never says anything that the files do not, and nobody misses it."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from bench.commands.report import report
from bench.store import index, reading
from bench.store.reading import read_cells, summaries
from bench.store.store import Store
from tests.leaderboards.handmade import ready

METHODS = ("face", "mle", "trime")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the index lies; however small a store, it has one."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "SMALLEST", 1)
    return tmp_path / "cache" / "index"


@pytest.fixture
def root(tmp_path: Path, cache: Path) -> Path:
    """A store that was written long ago, and is in the index."""
    root = tmp_path / "results"
    for method in METHODS:
        ready(root, method)
    settle(root)
    everything(root)
    return root


@pytest.fixture
def was_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods whose cells were read from files."""
    names: list[str] = []
    read = reading._read

    def noted(folder: Any, *given: Any) -> Any:
        names.append(folder.path.parts[-2])
        return read(folder, *given)

    monkeypatch.setattr(reading, "_read", noted)
    return names


def settle(root: Path, seconds: int = 3600) -> None:
    """Make every file old."""
    for path in root.rglob("*"):
        old = path.stat().st_mtime - seconds
        os.utime(path, (old, old))


def everything(root: Path) -> Any:
    """All that is read of a store."""
    store = Store(root)
    cells = [(cell.folder.path, cell.trained, cell.scores, cell.damaged != []) for cell in read_cells(store)]
    return cells, list(summaries(store)), [str(error) for error in store.damaged.values()]


def scores_of(root: Path, method: str = "mle") -> Path:
    return min((root / "logicnlg" / method).rglob("scores-*"))


def the_file(cache: Path) -> Path:
    (path,) = cache.glob("*.sqlite")
    return path


def test_what_is_known_is_not_read_again(root: Path, was_read: list[str]) -> None:
    everything(root)
    assert was_read == []


def test_it_says_what_the_files_say(root: Path, cache: Path) -> None:
    known = everything(root)
    the_file(cache).unlink()
    assert everything(root) == known
    assert report(root, None, "json") == report(root, None, "json")


def test_only_what_has_changed_is_read(root: Path, was_read: list[str]) -> None:
    ready(root, "mle", bleu=50.0)
    everything(root)
    assert set(was_read) == {"mle"}


@pytest.mark.parametrize("change", ["size", "time", "inode", "name", "gone"])
def test_every_change_of_a_file_is_seen(root: Path, was_read: list[str], change: str) -> None:
    path = scores_of(root)
    about = path.stat()
    text = path.read_text()
    if change == "size":
        path.write_text(text + " ")
    elif change == "inode":
        path.with_name("copy").write_text(text)
        path.with_name("copy").rename(path)
    elif change == "name":
        path.rename(path.with_name("scores-new.json"))
    elif change == "gone":
        path.unlink()
    if path.exists():
        os.utime(path, ns=(about.st_mtime_ns, about.st_mtime_ns + (change == "time")))
    everything(root)
    assert set(was_read) == {"mle"}


def test_damage_is_told_again_from_the_index(root: Path, was_read: list[str]) -> None:
    scores_of(root).write_text("{")
    settle(root)
    first = everything(root)
    was_read.clear()
    assert everything(root) == first
    assert was_read == []
    assert len(first[2]) == 1


def test_what_changed_this_moment_is_not_trusted(root: Path, was_read: list[str]) -> None:
    scores_of(root).touch()
    everything(root)
    everything(root)
    assert was_read.count("mle") == 4  # records and summaries, twice


def test_a_cell_that_is_gone_is_forgotten(root: Path, cache: Path) -> None:
    for path in (root / "logicnlg" / "mle").rglob("*.json"):
        path.unlink()
    everything(root)
    with sqlite3.connect(the_file(cache)) as connection:
        held = [name for (name,) in connection.execute("SELECT folder FROM records")]
    connection.close()
    assert [name.split("/")[1] for name in sorted(held)] == ["face", "trime"]


@pytest.mark.parametrize("damage", ["cut", "zeros", "junk", "empty", "bits", "folder"])
def test_a_damaged_index_is_made_anew(root: Path, cache: Path, damage: str) -> None:
    known, path = everything(root), the_file(cache)
    data = path.read_bytes()
    damages = {
        "cut": data[: len(data) // 2],
        "zeros": bytes(len(data)),
        "junk": b"x" * 5000,
        "empty": b"",
        "bits": bytes(byte ^ (place % 97 == 0) for place, byte in enumerate(data)),
    }
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(damages[damage])
    assert everything(root) == known
    assert everything(root) == known


@pytest.mark.parametrize("place", [0, 10, -1])
def test_content_that_was_changed_in_the_index_is_not_believed(root: Path, cache: Path, place: int) -> None:
    known = everything(root)
    with sqlite3.connect(the_file(cache)) as connection:
        for table in index.TABLES:
            for folder, content in connection.execute(f"SELECT folder, content FROM {table}").fetchall():  # noqa: S608
                changed = bytearray(content)
                changed[place] ^= 8
                values = bytes(changed), folder
                connection.execute(f"UPDATE {table} SET content = ? WHERE folder = ?", values)  # noqa: S608
    connection.close()
    assert everything(root) == known


def test_an_index_of_another_version_is_made_anew(root: Path, cache: Path, was_read: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "VERSION", -1)
        everything(root)
    assert set(was_read) == set(METHODS)


def test_a_locked_index_is_done_without(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = everything(root)
    monkeypatch.setattr(index, "WAIT_S", 0.01)
    other = sqlite3.connect(the_file(cache), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert everything(root) == known
    other.close()
    assert the_file(cache).exists()


def test_a_cache_that_cannot_be_written_is_done_without(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = everything(root)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "file"))
    assert everything(root) == known


def test_many_at_once_read_the_same(root: Path, cache: Path) -> None:
    known = everything(root)
    the_file(cache).unlink()
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(everything(root))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [known] * 6


def test_nothing_is_written_into_the_store(root: Path) -> None:
    before = sorted(root.rglob("*"))
    everything(root)
    report(root, None, "terminal")
    assert sorted(root.rglob("*")) == before


def test_a_small_store_has_none(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SMALLEST", 4)
    root = tmp_path / "small"
    for method in METHODS:
        ready(root, method)
    settle(root)
    everything(root)
    assert not cache.exists()
