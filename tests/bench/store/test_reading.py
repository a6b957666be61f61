"""Reading a whole store: what is damaged, foreign or of a later version costs its own row, and is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.base.keys import canonical, sha256
from bench.commands.store import run_states
from bench.leaderboards.leaderboards import leaderboards_of
from bench.leaderboards.table import tables
from bench.metrics.sums import Sums, mean
from bench.store.reading import CellRecords, read_cells
from bench.store.store import Store
from tests.leaderboards.handmade import ready, scored, trained

METHODS = ("face", "mle", "trime")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three methods, the sums of one column each."""
    for method in METHODS:
        ready(tmp_path / "results", method)
        cell = trained(tmp_path / "results", method)
        scored(cell, {"rouge-l": 3.0}, items={"rouge-l": Sums(mean(1), [[1, 2], [3, 4], [float(len(method)), 1]])})
    return tmp_path / "results"


def read(root: Path) -> tuple[list[CellRecords], Store]:
    store = Store(root)
    return list(read_cells(store)), store


def one(root: Path, pattern: str, method: str = "mle") -> Path:
    """A file of a method's cell."""
    return min((root / "logicnlg" / method).glob(f"*/{pattern}"))


def methods_shown(root: Path) -> dict[str, int]:
    """How many columns each row has."""
    (built, *_), _ = tables(Store(root), columns="all")
    return {row.method: len(row.values) for row in built.rows}


WHOLE = dict.fromkeys(METHODS, 4)
DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "junk": lambda path: path.write_text("[" * 10_000),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "later": lambda path: rewrite(path, schema=9),
    "foreign": lambda path: rewrite(path, content={"mine": 1}),
}


def rewrite(path: Path, **changes: Any) -> None:
    """Write a record of another program, whose hash is right."""
    if path.suffix != ".json":
        path.write_bytes(b"{}")
        return
    record = {**json.loads(path.read_text()), **changes}
    record["sha256"] = sha256(canonical(record["content"]))
    path.write_text(json.dumps(record))


def test_a_whole_store_is_read_whole(root: Path) -> None:
    cells, store = read(root)
    assert [cell.folder.path.parts[-2] for cell in cells] == list(METHODS)
    assert [len(cell.scores) for cell in cells] == [3] * 3
    assert store.damaged == {}
    assert methods_shown(root) == WHOLE


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_scores_cost_their_columns(root: Path, damage: str) -> None:
    path = next(path for path in (root / "logicnlg" / "mle").rglob("scores-*") if "ppl/word" in path.read_text())
    DAMAGES[damage](path)
    _, store = read(root)
    assert list(store.damaged) == [path]
    assert methods_shown(root) == {**WHOLE, "mle": 3}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_of_training_costs_its_row(root: Path, damage: str) -> None:
    path = one(root, "trained.json")
    DAMAGES[damage](path)
    cells, store = read(root)
    assert list(store.damaged) == [path]
    assert [cell.trained is None for cell in cells] == [False, True, False]
    assert methods_shown(root) == {"face": 4, "trime": 4}
    (line,) = [run for run in run_states(store, None) if run["status"] == "damaged"]
    assert (line["task"], line["method"], line["scores"]) == ("logicnlg", "mle", 3)
    assert line["error"]


@pytest.mark.parametrize("damage", ["cut", "junk", "folder"])
def test_damaged_sums_cost_the_test_and_not_the_number(root: Path, damage: str) -> None:
    path = one(root, "items-*")
    DAMAGES[damage](path)
    cells, store = read(root)
    assert list(store.damaged) == [path]
    assert methods_shown(root) == WHOLE
    assert [any("items" in score for score in cell.scores) for cell in cells] == [True, False, True]
    assert leaderboards_of(Store(root)).tables


def test_sums_that_are_gone_are_no_damage(root: Path) -> None:
    one(root, "items-*").unlink()
    cells, store = read(root)
    assert store.damaged == {}
    assert [any("items" in score for score in cell.scores) for cell in cells] == [True, False, True]


def test_tasks_that_are_not_wanted_are_not_read(root: Path) -> None:
    ready(root, "mle", task="xsum")
    one(root, "scores-*").write_text("{")
    store = Store(root)
    assert [cell.folder.path.parts[-3] for cell in read_cells(store, ["xsum"])] == ["xsum"]
    assert store.damaged == {}
