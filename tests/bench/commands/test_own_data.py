"""Data of your own: score and samples find the rows of a run again, and only those very rows."""

from pathlib import Path

import pytest

from tests.bench.commands.test_score import scores_of
from tests.conftest import Bench

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


def test_commands_find_the_rows_again(bench: Bench, stored: Path) -> None:
    scores = scores_of(stored)
    for path in scores:
        path.unlink()
    assert bench("score", str(stored)).out == f"{len(scores)} scores made, 0 stored already\n"
    ended = bench("samples", "--n", "1")
    assert (ended.code, "what is " in ended.out, "not shown" in ended.out) == (0, True, False)


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
