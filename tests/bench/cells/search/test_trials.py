"""bench/cells/search: every method has as many learning rates, and all of them are on record."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.cells.search.trials import Trials, parse_trials
from bench.cells.search.trials import learning_rates as rates_of
from bench.config.config import TrainerConfig
from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models import METHODS
from bench.store.store import CellFolder, Store
from tests.conftest import TINY, Ended, penalised_method

Bench = Callable[..., Ended]
TRAINED = [name for name, entry in METHODS.items() if not entry.baseline]


@pytest.mark.parametrize("text", ["3", "mle=2", "3,histalign=18,mle=18"])
def test_what_is_typed(text: str) -> None:
    trials = parse_trials(text, "1/3")
    assert trials.steps == Fraction(1, 3)
    asked = dict(trials.of_method)
    if trials.number:
        asked[""] = trials.number
    typed = dict(part.rpartition("=")[::2] for part in text.split(","))
    assert asked == {name: int(number) for name, number in typed.items()}


@pytest.mark.parametrize(
    ("text", "steps", "message"),
    [
        ("0", "1", "--trials takes numbers from 1, e.g. 3 or 3,mle=18, not '0'"),
        ("mle", "1", "--trials takes numbers from 1"),
        ("2,3", "1", "twice how many trials every method has"),
        ("mle=2,mle=3", "1", "twice how many trials mle has"),
        ("mel=2", "1", "mel"),
        ("3", "0", "steps of --trials is a share of a training above 0 and at most 1, e.g. 1/3, not '0'"),
        ("3", "4/3", "not '4/3'"),
        ("3", "1/0", "not '1/0'"),
        ("3", "third", "not 'third'"),
        ("lr=1e-3,fast", "1", "lr of --trials takes different numbers above 0, e.g. lr=1e-5,5e-5, not '1e-3,fast'"),
        ("lr=1e-3,0.001", "1", "lr of --trials takes different numbers"),
        ("lr=-1", "1", "lr of --trials takes different numbers"),
        ("lr=nan", "1", "lr of --trials takes different numbers"),
    ],
)
def test_what_is_typed_wrongly(text: str, steps: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_trials(text, steps)


def test_rates_are_a_sequence_of_the_method() -> None:
    few, many = rates_of("mle", 1e-3, 3), rates_of("mle", 1e-3, 8)
    assert many[:3] == few == [0.000978, 0.00131, 0.00283], "a search of more trials begins with those of fewer"
    assert rates_of("face", 1e-3, 3) != few
    assert rates_of("mle", 1e-2, 3) == pytest.approx([10 * rate for rate in few], rel=1e-2)
    eighths = sorted(int(8 * (math.log(rate / 1e-3, 16) + 0.5)) for rate in many)
    assert eighths == list(range(8)), "every eighth of the range, a quarter to four times the rate, is tried once"


def test_trials_leave_the_options_of_a_method_as_they_are() -> None:
    """A coefficient that trades likelihood for something else would be set to nothing by likelihood."""
    config = SimpleNamespace(trainer=TrainerConfig(steps=9))
    for name in TRAINED:
        for sets in Trials(3).combinations(find_method(name), config):  # type: ignore[arg-type]
            assert [text.partition("=")[0].rpartition(":")[2] for text in sets] == ["optim.lr"]


def test_a_rate_is_picked_by_likelihood_and_not_by_a_loss_with_a_penalty(bench: Bench, tmp_path: Path) -> None:
    """The highest rate has the lowest loss and the lowest likelihood."""
    results, method = tmp_path / "results", penalised_method(tmp_path)
    ended = bench(*TINY, "--method", method, "--trials", "3", "--set", "trainer.steps=6", "--results", str(results))
    assert ended.code == 0, ended.err
    assert "optim.lr picked from 3 combinations by validation NLL: mle, penalised" in ended.out
    cell = with_grid(results)["penalised", 0]
    (grid,), record = cell.grids(), cell.trained()
    assert record is not None
    nlls = {float(one["sets"][0].rpartition("=")[2]): one["nll"] for one in grid["tried"]}
    assert record["config"]["trainer"]["lr"] == min(nlls, key=nlls.__getitem__) == min(nlls)
    assert grid["by"].startswith("negative log-likelihood per target token")
    assert record["config"]["method_options"]["weight"] == 2.0


def learning_rates(results: Path, split: str) -> dict[str, list[float]]:
    """Learning rates of the cells with rows of a split, by method."""
    found: dict[str, list[float]] = {}
    for cell in Store(results).cells():
        record = cell.trained()
        assert record is not None
        if any(rows.content["split"] == split for rows in cell.all_rows()):
            found.setdefault(record["config"]["method"], []).append(record["config"]["trainer"]["lr"])
    return found


def with_grid(results: Path) -> dict[tuple[str, int], CellFolder]:
    """Cells that were picked, by method and seed."""
    found = {}
    for cell in Store(results).cells():
        record = cell.trained()
        if record is not None and cell.grids():
            found[record["config"]["method"], record["config"]["seed"]] = cell
    return found


def test_a_search_of_two_methods_and_a_child(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [*TINY, "--method", "face,mle.continued", "--trials", "2,mle=3", "steps=1/2", "rows=8",
               "--seeds", "0,1", "--results", str(results)]  # fmt: skip
    ended = bench(*command)
    assert ended.code == 0, ended.err
    tried, tested = learning_rates(results, "valid"), learning_rates(results, "test")
    assert {method: len(rates) for method, rates in tried.items()} == {"mle": 3, "face": 2, "mle.continued": 2}
    assert {method: len(rates) for method, rates in tested.items()} == {"mle": 2, "face": 2, "mle.continued": 2}
    picked = with_grid(results)
    assert sorted(picked) == [(method, seed) for method in ("face", "mle", "mle.continued") for seed in (0, 1)]
    for (method, _), cell in picked.items():
        (grid,) = cell.grids()
        record = cell.trained()
        assert record is not None
        assert grid["trials"] == len(grid["tried"]) == len(tried[method])
        assert (grid["steps"], grid["rows"]) == ("1/2", 8)
        assert list(grid["space"]) == ["optim.lr"]
        best = min(grid["tried"], key=lambda one: one["nll"])
        assert best["sets"] == [f"{method}:optim.lr={record['config']['trainer']['lr']}"]
        assert record["config"]["trainer"]["steps"] == 2
        assert grid["picked"] == record["key"]
        for one in grid["tried"]:
            (key,) = one["keys"].values()
            trial = Store(results).cell("ambiguous_template", method, key).trained()
            assert trial is not None
            assert trial["config"]["trainer"]["steps"] == 1
            assert trial["config"]["seed"] == 0
            assert trial["config"]["evaluation"]["rows"] == 8
    parent = picked["mle", 1].trained()
    child = picked["mle.continued", 1].trained()
    assert parent is not None
    assert child is not None
    assert child["start"]["config"]["trainer"]["lr"] == parent["config"]["trainer"]["lr"], "the parent is tuned first"
    assert "expected best validation NLL of 1 to 3 trials" in ended.out
    assert "cells that a search has tried are left out" in ended.out or "valid split" not in ended.out
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert bench(*command).code == 0
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


def test_every_method_tries_the_same_rates_where_these_are_typed(bench: Bench, tmp_path: Path) -> None:
    """With a few random rates each, a difference between methods may be that of the rates they drew."""
    results = tmp_path / "results"
    ended = bench(*TINY, "--method", "mle,trime", "--trials", "lr=1e-3,0.02", "steps=1/2", "--results", str(results))
    assert ended.code == 0, ended.err
    tried = learning_rates(results, "valid")
    assert {method: sorted(rates) for method, rates in tried.items()} == {"mle": [1e-3, 0.02], "trime": [1e-3, 0.02]}
    for cell in with_grid(results).values():
        (grid,) = cell.grids()
        assert (grid["trials"], grid["space"]) == (2, {"optim.lr": [1e-3, 0.02]})


def test_a_control_that_nothing_is_trained_for_reads_the_tuned_cell(bench: Bench, tmp_path: Path) -> None:
    results = tmp_path / "results"
    ended = bench(*TINY, "--method", "mle,mle.penalty", "--trials", "2", "--results", str(results))
    assert ended.code == 0, ended.err
    cells = list(Store(results).cells())
    (control,) = (cell.trained() for cell in cells if cell.path.parts[-2] == "mle.penalty")
    assert control is not None
    (picked,) = (grid["picked"] for cell in cells for grid in cell.grids() if cell.path.parts[-2] == "mle")
    assert control["start"]["key"] == picked


@pytest.mark.slow
def test_jobs_give_the_same_files(bench: Bench, tmp_path: Path) -> None:
    command = [*TINY, "--trials", "2"]
    assert bench(*command, "--results", str(tmp_path / "one")).code == 0
    ended = bench(*command, "--jobs", "2", "--results", str(tmp_path / "two"))
    assert ended.code == 0, ended.err

    def grids(results: str) -> list[str]:
        return [json.dumps(cell.grids()) for cell in with_grid(tmp_path / results).values()]

    assert grids("one") == grids("two")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--trials", "2", "--grid", "optim.lr=1,2"], "--grid and --trials are two ways to search"),
        (["--trials", "2", "rows=few"], "rows of --trials is a number from 1, e.g. 2000, not 'few'"),
        (
            ["--trials", "2", "step=1/3"],
            "--trials takes numbers of trials or lr=RATE,RATE, then steps=SHARE and rows=N, not 'step=1/3'; did you "
            "mean 'steps'?",
        ),
        (["--trials", "2", "--slurm", "time=5"], "--slurm does not go with --trials"),
    ],
)
def test_options_that_do_not_go_together(bench: Bench, tmp_path: Path, more: list[str], message: str) -> None:
    ended = bench(*TINY, *more, "--results", str(tmp_path))
    assert ended.code == 2
    assert message in ended.err


def test_a_dry_run_says_what_would_be_trained(bench: Bench, tmp_path: Path) -> None:
    command = [*TINY, "--method", "mle,mle.continued", "--trials", "2,mle=3", "--seeds", "0,1", "--dry-run"]
    ended = bench(*command, "--results", str(tmp_path / "results"))
    assert ended.code == 0, ended.err
    assert ended.out.count("to train") == (3 + 2) + 2 * 2
    assert not (tmp_path / "results").exists()


def test_zero_shot_weights_are_not_tuned() -> None:
    class Config:
        trainer = TrainerConfig()

    assert Trials(3).combinations(find_method("mle"), Config()) == []  # type: ignore[arg-type]
