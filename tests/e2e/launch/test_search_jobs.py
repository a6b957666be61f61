"""A search with `--jobs`: its play-off, a method's that starts from another's pick too, is that of one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.store.store import Store
from tests.e2e import children, stores

Run = Callable[..., int]


def search(results: Path, *more: str) -> list[str]:
    """Two trials of one step each for a method and for one that goes on from it."""
    how = ("--trials", "2", "steps=1/3", "rows=4", *more)
    return stores.arguments(results, *how, task="ambiguous_template", method="mle,mle.continued", limit=4)


def test_two_jobs_play_trials_off_as_one(run: Run, log: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(search(one), children.AllTrialsTie()) == 0, children.read(log)
    assert run(search(two, "--jobs", "2"), children.ForkedJobs(other=children.AllTrialsTie())) == 0, children.read(log)
    assert stores.contents(one) == stores.contents(two)
    grids = [grid for cell in Store(two).cells() for grid in cell.grids()]
    assert len(grids) == 2, "one for each method"
    assert all(len(grid["play_off"]) == 2 for grid in grids)
