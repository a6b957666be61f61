"""bench/cells/search/grid.py: every combination is trained, the best by validation loss is kept, all is on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cells.search.grid import combinations
from bench.cells.search.place import best
from bench.cells.search.search import Tried
from bench.errors import UsageError
from bench.store.store import Store
from tests.conftest import TINY, Ended

Bench = Callable[..., Ended]
RATES = "1e-5,1e-1,1e-3"


def test_combinations() -> None:
    assert combinations(["optim.lr=1,2", "method.alpha=3,4"]) == [
        ("optim.lr=1", "method.alpha=3"), ("optim.lr=1", "method.alpha=4"),
        ("optim.lr=2", "method.alpha=3"), ("optim.lr=2", "method.alpha=4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (["optim.lr="], "--grid takes section.name=value,value, not 'optim.lr='"),
        (["optim.lr"], "--grid takes section.name=value,value, not 'optim.lr'"),
        (["optim.lr=1", "optim.lr=2"], "--grid has 'optim.lr' twice"),
        (["lr=1"], "'lr' is not section.name"),
    ],
)
def test_a_wrong_axis_is_one_clear_line(axes: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        combinations(axes)


def test_the_best_is_the_lowest_loss_that_every_seed_has() -> None:
    found = [Tried(("a",), {}, 2.0), Tried(("b",), {}, None), Tried(("c",), {}, 1.0), Tried(("d",), {}, 1.0)]
    assert best(found) == found[2]
    assert best([found[1]]) is None


def losses(results: Path) -> dict[str, float]:
    """Validation loss of each stored cell, from its rows."""
    found = {}
    for cell in Store(results).cells():
        for stored in cell.all_rows():
            if stored.content["split"] == "valid":
                tokens = sum(row["n_tokens"] for row in stored.rows)
                found[cell.path.name] = sum(row["nll_sum"] for row in stored.rows) / tokens
    return found


def test_a_dry_run_of_a_grid_trains_nothing(bench: Bench, tmp_path: Path) -> None:
    ended = bench(*TINY, "--grid", f"optim.lr={RATES}", "--dry-run", "--results", str(tmp_path / "results"))
    assert ended.code == 0, ended.err
    assert ended.out.count("to train") == 3, "each combination; one is the setting without a search, planned as picked"
    assert not (tmp_path / "results").exists()


def test_the_grid_of_one_method(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    ended = bench(*TINY, "--grid", f"optim.lr={RATES}", "--results", str(results))
    assert ended.code == 0, ended.err
    cells = {cell.path.name: cell for cell in Store(results).cells()}
    assert len(cells) == 3
    held = losses(results)
    picked = min(held, key=held.__getitem__)
    (grid,) = cells[picked].grids()
    assert grid["picked"] == picked
    assert grid["axes"] == [f"optim.lr={RATES}"]
    assert {one["keys"]["0"]: one["nll"] for one in grid["tried"]} == pytest.approx(held)
    tested = {name for name, cell in cells.items() if any(r.content["split"] == "test" for r in cell.all_rows())}
    assert tested == {picked}, "only what was picked sees the test split"
    assert (
        "picked from 3 combinations by validation loss"
        in bench("report", "--results", str(results), "--format", "markdown").out
        or "cut by --limit" in ended.out
    )
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    again = bench(*TINY, "--grid", f"optim.lr={RATES}", "--results", str(results))
    assert again.code == 0
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_one_choice_for_all_seeds(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    ended = bench(*TINY, "--grid", "optim.lr=1e-4,1e-2", "--seeds", "0,1", "--results", str(results), "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["exit_code"] == 0
    tuned = [cell for cell in Store(results).cells() if cell.grids()]
    assert len(tuned) == 2
    rates = {record["config"]["trainer"]["lr"] for cell in tuned if (record := cell.trained())}
    assert len(rates) == 1
