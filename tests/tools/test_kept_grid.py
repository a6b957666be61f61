"""tools/kept_grid.py: slices and what is kept of them; tiny cells in place of the real ones."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from bench.store.store import Store
from tools import kept_grid
from tools.kept_grid import Part
from tools.paper_rows import TRY_AGAIN

SMALL = ("--limit", "12", "--set", "trainer.steps=3", "backbone.width=16", "backbone.layers=1", "evaluation.rows=4")
TINY = Part("ambiguous_template", SMALL, ("--set", "trime:trainer.lr=0.001"), "trime")
"""MLE's cell has no rate of its own, and TRIME is beside the methods that every task has."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sample_data: None) -> Path:
    """One task of tiny cells of two methods, kept below a temporary folder."""
    monkeypatch.setattr(kept_grid, "BOARDS", {"grid": (TINY,)})
    monkeypatch.setattr(kept_grid, "RUNS", tmp_path)
    monkeypatch.setattr(kept_grid, "SEEDS", ("--seeds", "0"))
    monkeypatch.setattr(kept_grid, "METHODS", "mle")
    monkeypatch.setattr(kept_grid, "TUNING", ("--trials", "2", "steps=1/3"))
    return tmp_path


@pytest.mark.slow
def test_slices_go_on_and_are_kept(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kept_grid, "refuse_samples", lambda parts: None)
    store = ["--results", str(tiny / "results"), "--jobs", "1"]
    assert kept_grid.main([*store, "--minutes", "0"]) == TRY_AGAIN
    assert "the same command goes on" in capsys.readouterr().out
    assert kept_grid.main(store) == 0
    kept = list(Store(tiny / "grid").cells())
    assert {cell.path.parent.name for cell in kept} == {"mle", "trime"}
    assert sum(bool(cell.contents("grid-*.json")) for cell in kept) >= 2


def test_the_board_of_pretrained_models_picks_rates_before_it_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rate for all variants of a method; each seed is a command of its own, so that few checkpoints lie there."""
    monkeypatch.setattr(kept_grid, "picked_rates", lambda part, results: {"mle": 1e-5, "histalign": 5e-5})
    part, *_ = kept_grid.BOARDS["mid"]
    trials, first, second, third = kept_grid.commands("mid", part, Namespace(results="store", jobs=2))
    assert trials[trials.index("--method") + 1] == "mle,trime.released,histalign.released"
    assert "optim.lr=1e-5,2e-5,5e-5" in trials
    assert "rows=1000" in trials
    for words, seed in zip((first, second, third), "012", strict=True):
        assert words[words.index("--seeds") + 1] == seed
        assert words[-5:] == ["mle:optim.lr=1e-05", "histalign:optim.lr=5e-05", *kept_grid.MEMORIES]
        assert words[words.index("--keep-checkpoints") + 1] == "none"


def test_picked_rates_are_read_from_the_store(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = str(tiny / "store")
    grid = ["--method", "mle", "--seeds", "0", "--no-controls", "--quiet", "--trials", "optim.lr=0.001,0.01"]
    assert kept_grid.bench(kept_grid.command(TINY, results, "small", *grid)) == 0
    part = replace(TINY, rates={"mle": "mle", "trime": "trime.released"})
    found = kept_grid.picked_rates(part, results)
    assert list(found) == ["mle"]
    assert found["mle"] in (0.001, 0.01)
