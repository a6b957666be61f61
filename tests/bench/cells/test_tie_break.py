"""Trials that tie are repeated at full length, and the best of them is picked; what is stored is not repeated."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.cells import search
from bench.store.export import export
from bench.store.joining import join
from bench.store.store import CellFolder, Store
from tests.conftest import TINY, Bench

SEARCH = (*TINY, "--trials", "3", "steps=1/2", "rows=8", "--seeds", "0,1")
RATES = [0.000978, 0.00131, 0.00283]
ALL_ALIKE = 99.0


def records(results: Path) -> dict[str, dict[str, Any]]:
    """Records of trained runs, by key."""
    found = {cell.path.name: cell.trained() for cell in Store(results).cells()}
    return {key: record for key, record in found.items() if record is not None}


def picked(results: Path) -> list[CellFolder]:
    """The runs that were picked, by seed."""
    cells = [cell for cell in Store(results).cells() if cell.contents("grid-*.json")]
    return sorted(cells, key=lambda cell: records(results)[cell.path.name]["config"]["seed"])


def grids(results: Path) -> dict[str, Any]:
    return {cell.path.name: cell.contents("grid-*.json") for cell in picked(results)}


def test_trials_that_tie_are_trained_whole_on_the_first_seed(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "TIE", ALL_ALIKE)
    results = tmp_path / "results"
    ended = bench(*SEARCH, "--results", str(results))
    assert ended.code == 0, ended.err
    assert "picked among 3 of these at full length" in ended.out
    trained, cells = records(results), picked(results)
    assert len(trained) == 3 + 3 + 1, "three trials, three whole, one of them on a second seed"
    for cell in cells:
        (grid,) = cell.contents("grid-*.json")
        assert [one["sets"] for one in grid["play_off"]] == [one["sets"] for one in grid["tried"]]
        for part, steps in (("tried", 1), ("play_off", 2)):
            for one in grid[part]:
                (key,) = one["keys"].values()
                assert trained[key]["config"]["trainer"]["steps"] == steps
                assert (trained[key]["config"]["seed"], trained[key]["config"]["evaluation"]["rows"]) == (0, 8)
        best = min(grid["play_off"], key=lambda one: one["nll"])
        assert best["sets"] == [f"mle:optim.lr={trained[cell.path.name]['config']['trainer']['lr']}"]
        assert best["keys"] == {"0": cells[0].path.name}, "its whole training is the run of the first seed"
    export(results, tmp_path / "kept")
    assert not join(tmp_path / "kept", tmp_path / "again").conflicts
    ended = bench(*SEARCH, "--results", str(tmp_path / "again"), "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (0, []), ended.err
    assert grids(tmp_path / "again") == grids(results), "a stored tie break is not repeated"


@pytest.mark.parametrize("fails", [False, True])
def test_the_trainings_at_full_length_decide_that_did_not_fail(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The best trial is the worst whole training."""

    def loss(cell: Any, column: str, metrics: Any = ()) -> float | None:
        trainer = cell.config.trainer
        if trainer.steps == 1:
            return float(trainer.lr)
        return None if fails and trainer.lr == max(RATES) else -float(trainer.lr)

    monkeypatch.setattr(search, "TIE", ALL_ALIKE)
    monkeypatch.setattr(search, "value_of", loss)
    ended = bench(*SEARCH, "--results", str(tmp_path))
    assert ended.code == 0, ended.err
    cells = picked(tmp_path)
    assert len(cells) == 2
    for cell in cells:
        (grid,) = cell.contents("grid-*.json")
        assert [one["nll"] is None for one in grid["play_off"]].count(True) == fails
        rate = sorted(RATES)[1] if fails else max(RATES)
        assert records(tmp_path)[cell.path.name]["config"]["trainer"]["lr"] == rate


@pytest.mark.parametrize(("tie", "share"), [(ALL_ALIKE, "1"), (0.0, "1/2")])
def test_there_is_none_where_trials_are_whole_or_one_is_best(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tie: float, share: str
) -> None:
    monkeypatch.setattr(search, "TIE", tie)
    ended = bench(*TINY, "--trials", "2", f"steps={share}", "--results", str(tmp_path))
    assert ended.code == 0, ended.err
    (found,) = grids(tmp_path).values()
    assert all("play_off" not in grid for grid in found)
