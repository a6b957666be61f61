"""bench/cells/search/tie_break.py: trials that tie are repeated at full length, and the best of them is picked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.base import ties
from bench.base.ties import TIE, tied
from bench.store.export import export
from bench.store.joining import join
from bench.store.store import CellFolder, Store
from tests.conftest import TINY, Ended

Bench = Callable[..., Ended]
SEARCH = (*TINY, "--trials", "3", "steps=1/2", "rows=8", "--seeds", "0,1")
ALL_ALIKE = 99.0


@pytest.mark.parametrize(
    ("losses", "places"),
    [
        ([], []),
        ([5.0], []),
        ([None, None], []),
        ([5.0, None], []),
        ([5.0 + 1.1 * TIE, 5.0], []),
        ([5.0 + TIE / 2, None, 5.0], [0, 2]),
        ([5.0, 5.0], []),  # a setting that changes nothing
        ([5.0, 5.0, 5.0 + TIE / 2], [0, 2]),
        ([5.003, 5.002, 5.001, 5.0], [1, 2, 3]),
    ],
)
def test_what_ties(losses: list[float | None], places: list[int]) -> None:
    assert tied(losses) == places


def records(results: Path) -> dict[str, dict[str, Any]]:
    """Records of trained cells, by key."""
    found = {cell.path.name: cell.trained() for cell in Store(results).cells()}
    return {key: record for key, record in found.items() if record is not None}


def picked(results: Path) -> list[CellFolder]:
    """The cells that were picked, by seed."""
    cells = [cell for cell in Store(results).cells() if cell.grids()]
    return sorted(cells, key=lambda cell: records(results)[cell.path.name]["config"]["seed"])


@pytest.fixture
def repeated(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of a search in which all trials tie."""
    monkeypatch.setattr(ties, "TIE", ALL_ALIKE)
    ended = bench(*SEARCH, "--results", str(tmp_path / "results"))
    assert ended.code == 0, ended.err
    assert "picked among 3 of these at full length" in ended.out
    return tmp_path / "results"


def test_trials_that_tie_are_trained_whole_on_the_first_seed(repeated: Path) -> None:
    trained, cells = records(repeated), picked(repeated)
    assert len(trained) == 3 + 3 + 1, "three trials, three whole, one of them on a second seed"
    for cell in cells:
        (grid,) = cell.grids()
        assert [one["sets"] for one in grid["play_off"]] == [one["sets"] for one in grid["tried"]]
        for part, steps in (("tried", 1), ("play_off", 2)):
            for one in grid[part]:
                (key,) = one["keys"].values()
                assert trained[key]["config"]["trainer"]["steps"] == steps
                assert (trained[key]["config"]["seed"], trained[key]["config"]["evaluation"]["rows"]) == (0, 8)
        best = min(grid["play_off"], key=lambda one: one["nll"])
        assert best["sets"] == [f"mle:optim.lr={trained[cell.path.name]['config']['trainer']['lr']}"]
        assert best["keys"] == {"0": cells[0].path.name}, "its whole training is the cell of the first seed"


def test_the_trainings_at_full_length_decide(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best trial is the worst whole training."""
    from bench.cells.search import run

    def loss(cells: list[Any]) -> float:
        trainer = cells[0].config.trainer
        return float(trainer.lr if trainer.steps == 1 else -trainer.lr)

    monkeypatch.setattr(ties, "TIE", ALL_ALIKE)
    monkeypatch.setattr(run, "validation_nll", loss)
    assert bench(*SEARCH, "--results", str(tmp_path)).code == 0
    cells = picked(tmp_path)
    assert len(cells) == 2
    for cell in cells:
        (grid,) = cell.grids()
        rates = [float(one["sets"][0].rpartition("=")[2]) for one in grid["tried"]]
        assert records(tmp_path)[cell.path.name]["config"]["trainer"]["lr"] == max(rates)


@pytest.mark.parametrize(("tie", "share"), [(ALL_ALIKE, "1"), (0.0, "1/2")])
def test_there_is_none_where_trials_are_whole_or_one_is_best(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tie: float, share: str
) -> None:
    monkeypatch.setattr(ties, "TIE", tie)
    ended = bench(*TINY, "--trials", "2", f"steps={share}", "--results", str(tmp_path))
    assert ended.code == 0, ended.err
    (cell,) = picked(tmp_path)
    assert all("play_off" not in grid for grid in cell.grids())


def test_a_stored_tie_break_is_not_repeated(bench: Bench, repeated: Path, tmp_path: Path) -> None:
    export(repeated, tmp_path / "kept")
    assert not join(tmp_path / "kept", tmp_path / "again").conflicts
    ended = bench(*SEARCH, "--results", str(tmp_path / "again"), "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["ok"] == []
    assert [cell.grids() for cell in picked(tmp_path / "again")] == [cell.grids() for cell in picked(repeated)]


def test_a_board_that_was_kept_without_one_goes_on_with_its_pick(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The setting that was picked is a whole training already, without validation rows and without weights."""
    monkeypatch.setattr(ties, "TIE", 0.0)
    assert bench(*SEARCH, "--results", str(tmp_path / "a")).code == 0
    export(tmp_path / "a", tmp_path / "kept")
    join(tmp_path / "kept", tmp_path / "b")
    before = [cell.grids() for cell in picked(tmp_path / "b")]
    monkeypatch.setattr(ties, "TIE", ALL_ALIKE)
    ended = bench(*SEARCH, "--results", str(tmp_path / "b"), "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (0, [])
    assert "needs weights that runs of a snapshot do not have; the best trial is picked" in ended.err
    assert [cell.grids() for cell in picked(tmp_path / "b")] == before


def test_a_method_whose_parent_lacks_weights_goes_on_with_its_pick(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own trials are no merged runs; what they are trained from is one."""
    at = SEARCH.index("mle")
    both = (*SEARCH[:at], "mle,mle.continued", *SEARCH[at + 1 :])
    monkeypatch.setattr(ties, "TIE", 0.0)
    assert bench(*both, "--results", str(tmp_path / "a")).code == 0
    export(tmp_path / "a", tmp_path / "kept")
    join(tmp_path / "kept", tmp_path / "b")
    children = [cell for cell in picked(tmp_path / "b") if "mle.continued" in str(cell.path)]
    before = {cell.path.name: cell.grids() for cell in children}
    monkeypatch.setattr(ties, "TIE", ALL_ALIKE)
    ended = bench(*both, "--results", str(tmp_path / "b"), "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (0, [])
    assert (
        "mle.continued: its best trials tie, and repeating them at full length needs weights that runs of a snapshot"
        in ended.err
    )
    assert len(before) == 2
    assert {
        cell.path.name: cell.grids() for cell in picked(tmp_path / "b") if "mle.continued" in str(cell.path)
    } == before


def test_after_a_failed_repetition_the_best_trial_is_picked(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.cells.search import run

    def loss(cells: list[Any]) -> float | None:
        trainer = cells[0].config.trainer
        if trainer.steps == 1:
            return float(trainer.lr)
        return None if trainer.lr == min(rates) else 1.0

    rates = [0.000978, 0.00131, 0.00283]
    monkeypatch.setattr(ties, "TIE", ALL_ALIKE)
    monkeypatch.setattr(run, "validation_nll", loss)
    ended = bench(*SEARCH, "--results", str(tmp_path))
    assert "a training of its tie break has failed; the best trial is picked" in ended.err
    cells = picked(tmp_path)
    assert len(cells) == 2
    for cell in cells:
        (grid,) = cell.grids()
        assert "play_off" not in grid
        assert records(tmp_path)[cell.path.name]["config"]["trainer"]["lr"] == min(rates)
