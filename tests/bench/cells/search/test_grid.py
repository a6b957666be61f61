"""bench/cells/search/grid.py: every combination is trained, the best is kept, all is on record."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.cells.search.grid import combinations
from bench.cells.search.search import Stated, Tried, best
from bench.cells.search.validation_nll import validation_nll
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


def test_the_best_is_the_lowest_likelihood_that_every_seed_has() -> None:
    found = [Tried((f"optim.lr={rate}",), {}, nll) for rate, nll in enumerate([2.0, None, 1.0, 1.0])]
    assert best(found) == found[2]
    assert best([found[1]]) is None
    assert best([]) is None


def tried(rate: str, eps: str, nll: float | None, rouge: float | None = None) -> Tried:
    """One combination of a learning rate and an option of a method."""
    stated = None if rouge is None else Stated("rouge-l", rouge, lower_is_better=False)
    return Tried((f"optim.lr={rate}", f"method.eps={eps}"), {}, nll, stated)


def test_the_rate_is_picked_by_likelihood_and_an_option_by_the_stated_column() -> None:
    found = [
        tried("1", "0.1", 2.0, 30.0), tried("2", "0.1", 3.0, 50.0),
        tried("1", "0.2", 4.0, 60.0), tried("2", "0.2", 2.5, 40.0), tried("1", "0.3", None),
    ]  # fmt: skip
    assert best(found) == found[3], "rates 1 and 2 have the lower likelihoods; of these two, the second has more ROUGE"
    assert best(found[:2]) == found[0]
    unstated = [tried("1", "0.1", 2.0), tried("1", "0.2", 1.0)]
    assert best(unstated) == unstated[1]


@pytest.mark.parametrize(("second", "mean"), [(4.0, 3.0), (math.inf, None), (math.nan, None), (None, None)])
def test_a_likelihood_that_is_not_finite_is_none(
    monkeypatch: pytest.MonkeyPatch, second: float | None, mean: float | None
) -> None:
    values = iter([2.0, second])
    cells: Any = ["first seed", "second seed"]
    monkeypatch.setattr("bench.cells.search.validation_nll._of_rows", lambda cell: next(values))
    monkeypatch.setattr("bench.cells.search.validation_nll._recorded", lambda cells: None)
    monkeypatch.setattr("bench.cells.search.validation_nll._of_perplexity", lambda cell: None)
    assert validation_nll(cells) == mean


def test_an_option_of_a_method_is_picked_by_the_column_that_the_run_states(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = ["run", "--task", "logicnlg", "--method", "label_smoothing", "--limit", "16", "--quiet", "--seeds", "0,1",
               "--grid", "method.eps=0.01,0.9", "--results", str(results),
               "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4", "trainer.validate=0.25",
               "trainer.watch=table_bleu", "trainer.select=bleu-1"]  # fmt: skip
    ended = bench(*command)
    assert ended.code == 0, ended.err
    assert "method.eps picked from 2 combinations by validation NLL, options of the method (method.*) by" in ended.out
    searches = [(cell, grid) for cell in Store(results).cells() for grid in cell.grids()]
    assert len(searches) == 2
    for cell, grid in searches:
        assert grid["method_options_by"] == "bleu-1"
        best_of = max(grid["tried"], key=lambda one: one["bleu-1"])
        assert cell.path.name in best_of["keys"].values()
        for one in grid["tried"]:
            kept = [Store(results).cell("logicnlg", "label_smoothing", key).trained() for key in one["keys"].values()]
            values = [record["train"]["kept"]["value"] for record in kept if record is not None]
            assert one["bleu-1"] == pytest.approx(sum(values) / 2)


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
        "optim.lr picked from 3 combinations by validation NLL"
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
