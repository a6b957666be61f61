"""tools/kept_grid.py: slices, what is kept of them, and how long all takes; tiny cells in place of the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.store.store import Store
from tools import kept_grid
from tools.kept_grid import Estimate, Part
from tools.paper_rows import TRY_AGAIN

SMALL = ("--limit", "12", "--set", "trainer.steps=3", "backbone.width=16", "backbone.layers=1", "evaluation.rows=4")
TINY = Part("ambiguous_template", SMALL, ("--set", "trime:trainer.lr=0.001"), "trime")
"""MLE's cell has no rate of its own, and TRIME is beside the methods that every task has."""


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sample_data: None) -> Path:
    """One task of tiny cells of two methods, kept below a temporary folder."""
    monkeypatch.setattr(kept_grid, "PARTS", (TINY,))
    monkeypatch.setattr(kept_grid, "KEPT", tmp_path / "grid")
    monkeypatch.setattr(kept_grid, "SEEDS", ("--seeds", "0"))
    monkeypatch.setattr(kept_grid, "METHODS", "mle")
    monkeypatch.setattr(kept_grid, "TUNING", ("--trials", "2", "steps=1/3"))
    return tmp_path


def test_built_in_rows_are_refused(tiny: Path) -> None:
    with pytest.raises(SystemExit, match="expected published rows of ambiguous_template"):
        kept_grid.main(["--results", str(tiny / "results")])


def test_seconds_are_those_of_steps_and_evaluations() -> None:
    assert Estimate(300.0, 60.0, 300, (300, 300, 100)).hours == pytest.approx((700 + 180) / 3600)


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
    assert sum(bool(cell.grids()) for cell in kept) >= 2
    assert kept_grid.main([*store, "--estimate"]) == 0
    assert "cells, about 0.0 hours of one core" in capsys.readouterr().out
