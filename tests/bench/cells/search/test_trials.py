"""bench/cells/search: every method has as many trials of its own space, and all is on record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from bench.base.options import coerce, options_of
from bench.base.space import LEARNING_RATE, Around, Choices, LogUniform, Uniform, points
from bench.cells.search.trials import Trials, parse_trials
from bench.config.config import TrainerConfig, override
from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models import METHODS
from bench.store.store import CellFolder, Store
from tests.conftest import TINY, Ended

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
    ],
)
def test_what_is_typed_wrongly(text: str, steps: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_trials(text, steps)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Uniform(1, 1),
        lambda: LogUniform(0, 1),
        lambda: Around(1),
        lambda: Choices("a", "a"),
        lambda: Uniform(0, float("inf")),
    ],
)
def test_a_dimension_has_values(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


def test_points_are_a_sequence_of_the_method() -> None:
    few, many = points("mle", 2, 3), points("mle", 2, 9)
    assert many[:3] == few, "a search of more trials begins with those of fewer"
    assert points("face", 2, 3) != few
    assert len({round(point[0], 9) for point in many}) == 9
    for axis in range(2):
        quarters = sorted(int(point[axis] * 8) for point in points("mle", 2, 8))
        assert quarters == list(range(8)), "every eighth of a range is tried once"


@pytest.mark.parametrize("name", TRAINED)
def test_every_space_names_settings_of_its_method(name: str) -> None:
    space = find_method(name).kind.space
    assert "optim.lr" in space
    for setting, dimension in space.items():
        item = override(setting, "")
        annotation = float
        now = TrainerConfig().lr
        if item.section == "method":
            annotation, now = options_of(find_method(name).kind)[item.name]
        for share in (0.0, 0.37, 0.999):
            value = dimension.at(share, now)
            assert coerce(str(value), annotation, setting) == value


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
        assert list(grid["space"]) == list(LEARNING_RATE)
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
    assert "expected best validation loss of 1 to 3 trials" in ended.out
    assert "cells that a search has tried are left out" in ended.out or "valid split" not in ended.out
    before = {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}
    assert bench(*command).code == 0
    assert {path: path.read_bytes() for path in results.rglob("*") if path.is_file()} == before


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
            "--trials takes numbers of trials, then steps=SHARE and rows=N, not 'step=1/3'; did you mean 'steps'?",
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
