"""Places of one's own data: score and samples find the rows of a run again, and only those very rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cells.location import PLACES, DataLocation, absolute, remember, remembered
from bench.store.export import export
from bench.store.joining import join
from bench.store.store import Store
from bench.tasks.pairs import Pairs
from tests.conftest import Ended

Bench = Callable[..., Ended]
AGAIN = "name the data as the run did, with --data-dir DIR or --set pairs:task.path=..."
COLUMNS = ("task.source=question", "task.target=answer")


def rows_file(path: Path, first: int = 0) -> Path:
    """A table of sources and targets that no two `first` share."""
    lines = [f"what is {number}?,it is {number % 7}" for number in range(first, first + 60)]
    path.write_text("\n".join(["question,answer", *lines]) + "\n")
    return path


def run_pairs(bench: Bench, path: str, results: str = "results") -> None:
    """Store the cell of a method that needs no training."""
    sets = ("--set", f"task.path={path}", *COLUMNS)
    ended = bench("run", "--task", "pairs", "--method", "lead", "--quiet", *sets, "--results", results)
    assert ended.code == 0, ended.err


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a table of one's own."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rows_file(folder / "my.csv")
    return folder


@pytest.fixture
def stored(bench: Bench, work: Path) -> Path:
    """The store of a run on `my.csv`, which was named by a relative path."""
    run_pairs(bench, "my.csv")
    return work / "results"


def scores_of(root: Path) -> list[Path]:
    return sorted(root.rglob("scores-*.json"))


# Found again ------------------------------------------------------------------------------------------------------


def test_commands_find_the_rows_from_any_folder(
    bench: Bench, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scores = scores_of(stored)
    for path in scores:
        path.unlink()
    assert bench("score", str(stored)).out == f"{len(scores)} scores made, 0 were there\n"
    ended = bench("samples", "--results", str(stored), "--n", "1")
    assert (ended.code, "what is " in ended.out, "not shown" in ended.out) == (0, True, False)


# Not found, or not believed -----------------------------------------------------------------------------------------


def test_moved_data_is_asked_for(bench: Bench, stored: Path, work: Path) -> None:
    (work / "my.csv").rename(work / "moved.csv")
    ended = bench("score", str(stored))
    assert (ended.code, AGAIN in ended.err) == (3, True)
    assert bench("score", "--set", "task.path=moved.csv").code == 0
    assert AGAIN in " ".join(bench("samples").out.split())


@pytest.mark.parametrize("content", ["question,answer\n", "no table", "other rows"])
def test_other_content_at_the_place_is_asked_for(bench: Bench, stored: Path, work: Path, content: str) -> None:
    (work / "my.csv").write_text(content)
    if content == "other rows":
        rows_file(work / "my.csv", 500)
    ended = bench("score", str(stored))
    assert (ended.code, AGAIN in ended.err, "built-in sample" in ended.err) == (3, True, True)


def test_a_place_that_is_given_wins(bench: Bench, stored: Path, work: Path) -> None:
    rows_file(work / "other.csv", 500)
    (work / "data" / "pairs").mkdir(parents=True)
    rows_file(work / "data" / "pairs" / "train.csv", 500)
    for given, code in (
        (("--set", "task.path=other.csv"), 3),
        (("--set", "pairs:task.path=other.csv"), 3),
        (("--set", "text:task.path=other.csv"), 0),  # of another task
        (("--set", *COLUMNS), 0),  # says nothing of a place
        (("--data-dir", "data"), 3),
        (("--data-dir", "."), 0),  # has no folder of this task
    ):
        ended = bench("score", *given)
        assert (ended.code, ended.err.count("other.csv")) == (code, int(code == 3 and "--set" in given)), given


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b"\xff\xfe"])
def test_a_damaged_place_is_none(bench: Bench, stored: Path, content: bytes) -> None:
    (path,) = (stored / PLACES).iterdir()
    path.write_bytes(content)
    ended = bench("score", str(stored))
    assert (ended.code, AGAIN in ended.err) == (3, True)
    assert bench("score", "--set", "task.path=my.csv").code == 0


# What leaves ------------------------------------------------------------------------------------------------------


def test_places_stay_on_the_machine(stored: Path, work: Path) -> None:
    join(stored, work / "merged")
    export(stored, work / "kept")
    assert not (work / "merged" / PLACES).exists()
    (cell,) = (path.parent for path in stored.rglob("trained.json"))
    (kept,) = Store(work / "kept").cells()
    leaving = [json.dumps(kept.record(name)).encode() for name in kept.names("*")]
    leaving += [path.read_bytes() for path in cell.glob("*.json")]
    assert all(str(work).encode() not in content for content in leaving)


# The parts --------------------------------------------------------------------------------------------------------


def test_paths_are_absolute_and_other_options_as_typed(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(work))
    (work / "train").mkdir()
    assert absolute("path", "my.csv") == absolute("test_path", "~/my.csv") == str(work / "my.csv")
    assert absolute("hub", "owner/name") == "owner/name"
    assert absolute("train_split", "train") == "train"
    assert absolute("column", 3) == 3
    task = Pairs(path="my.csv")
    task.load(task.source)
    other = Pairs(path=str(rows_file(work / "other.csv")))
    other.load(other.source)
    for found in (other, task):  # the last run wins
        remember(work, "rows", found)
    assert remembered(work, "rows") == DataLocation(work / "my.csv", {"path": str(work / "my.csv")})
    task = Pairs()
    task.load(task.source)
    remember(work, "built-in", task)
    assert remembered(work, "built-in") is None
