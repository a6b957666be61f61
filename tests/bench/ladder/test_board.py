"""`bench ladder --keep`: what was begun goes on from the kept board alone, without weights and rows of its store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.base.signals import Stopped
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.errors import UsageError
from bench.ladder import decision, forecasts, kept, run_rung, timing
from bench.ladder.asked import Asked
from bench.ladder.reading import stored_ladder, values_of
from bench.ladder.sizes import size_near
from bench.ladder.stored_cells import StoredCells
from bench.leaderboards.row import TableRow, Value
from bench.store.store import Store
from tests.bench.ladder.tiny_ladder import SETS, SIZES, write_text
from tests.conftest import Ended, call, forget_data

METHODS = "mle,mle.decoupled,trime,tailr.power"
"""One that reads the weights of the first, and one that goes on from them."""
SIGUSR1 = 10
WAVES = 5
"""Of plans on a rung: trials of mle, of tailr.power, what was picked of both; trials of trime, what was picked."""
SLOW = pytest.mark.slow


def words(folder: Path) -> tuple[str, ...]:
    """The command of a ladder whose store and board lie in a folder."""
    sizes = ",".join(f"{size}M" for size in SIZES)
    where = ("--results", str(folder / "results"), "--keep", str(folder / "kept.jsonl"))
    what = ("ladder", "--task", "text", "--methods", METHODS, "--sizes", sizes, "--seeds", "2")
    return (*what, "--epochs", "0.5,0.34", *where, "--set", f"task.path={folder.parent / 'text'}", *SETS)


class Executed:
    """Run plans until so many were run, then fail.

    Args:
        plans: that are run.
        failure: what comes in place of the next one.
    """

    def __init__(self, plans: int, failure: BaseException | Outcome) -> None:
        self.left, self.failure, self.real = plans, failure, run_rung.executed

    def __call__(self, *given: Any) -> Outcome:
        self.left -= 1
        if self.left >= 0:
            return self.real(*given)
        if isinstance(self.failure, Outcome):
            return self.failure
        raise self.failure


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A text, a whole ladder in `whole`, and one whose first rung alone was run in `lower`."""
    found = tmp_path_factory.mktemp("board")
    write_text(found / "text")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, found / "no-cache")
        patch.setattr(timing, "STEPS", 2)
        patch.setattr(run_rung, "executed", Executed(WAVES, Stopped(SIGUSR1)))
        stopped = call(*words(found / "lower"))
        assert stopped.code == 75, stopped.err
        patch.undo()
        forget_data(patch, found / "no-cache")
        patch.setattr(decision, "timed", None)  # what was decided is not measured again
        shutil.copytree(found / "lower", found / "whole")
        ended = call(*words(found / "whole"))
        assert ended.code == 0, ended.err
        yield found


def report(folder: Path) -> str:
    """What the board of a folder says."""
    ended = call("ladder", "--task", "text", "--report", "--results", str(folder / "kept.jsonl"))
    assert ended.code == 0, ended.err
    return ended.out


def again(folder: Path, lower: Path, plans: int, failure: BaseException | Outcome) -> Ended:
    """Run the second rung until so many of its plans were run, in a folder of its own."""
    shutil.copytree(lower, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_rung, "executed", Executed(WAVES + plans, failure))
        return call(*words(folder))


@pytest.mark.parametrize(
    ("plans", "gone"),
    [
        pytest.param(0, 0, id="before-it", marks=SLOW),
        pytest.param(1, 1, id="trials", marks=SLOW),
        pytest.param(2, 2, id="trials-of-a-child"),
        pytest.param(3, 0, id="between-batches", marks=SLOW),
        pytest.param(4, 1, id="trials-of-the-last", marks=SLOW),
    ],
)
def test_it_goes_on_from_the_board_alone(folder: Path, plans: int, gone: int) -> None:
    """Made anew are only trials that were picked and had not been scored on the test split."""
    mine = folder / f"stopped-{plans}"
    assert again(mine, folder / "lower", plans, Stopped(SIGUSR1)).code == 75
    shutil.rmtree(mine / "results")
    ended = call(*words(mine))
    assert ended.code == 0, ended.err
    assert ended.err.count("is of a kept board; its weights are needed, so it is trained anew") == gone
    assert report(mine) == report(folder / "whole")
    forecasts = [next(place.glob("kept.*.forecast-*")).read_bytes() for place in (mine, folder / "whole")]
    assert forecasts[0] == forecasts[1]


def test_what_was_run_before_a_failure_is_kept_and_nothing_is_picked_without_all_trials(folder: Path) -> None:
    mine = folder / "failed"
    ended = again(mine, folder / "lower", 3, Outcome(failed={"text · trime": "no memory"}))
    assert ended.code == 1
    assert "bench: failed: text · trime: no memory" in ended.err
    cells = list(Store(mine / "kept.jsonl").cells())
    assert len(cells) == (3 + 3 + 3) + (3 + 3), "both of mle and tailr.power are kept; trime is on the first rung alone"
    assert call(*words(mine)).code == 0
    assert report(mine) == report(folder / "whole")


def test_a_board_of_another_store_is_not_written_over(folder: Path) -> None:
    """Neither at once nor when the same is tried again."""
    mine = folder / "other"
    shutil.copytree(folder / "whole", mine)
    shutil.rmtree(mine / "results" / "text" / "trime")
    (plan,) = mine.glob("kept.*.plan.json")
    plan.write_text(plan.read_text(encoding="utf-8") + " ", encoding="utf-8")
    before = (mine / "kept.jsonl").read_bytes()
    for _ in range(2):
        ended = call(*words(mine))
        assert ended.code == 1
        assert "it is another plan or forecast, and neither is ever written over" in ended.err
        assert (mine / "kept.jsonl").read_bytes() == before
        assert not (mine / "results" / "text" / "trime").exists()


def test_a_store_with_other_numbers_than_the_board_is_refused(folder: Path) -> None:
    """Nothing of the board is brought, so that the same command is refused again."""
    mine = folder / "others"
    shutil.copytree(folder / "whole", mine)
    shutil.rmtree(mine / "results" / "ladder")
    cell = next(cell for cell in Store(mine / "results").cells() if cell.grids())
    record = cell.trained()
    assert record is not None
    (cell.path / "trained.json").unlink()
    cell.write_trained({**record, "remarks": ["another"]}, {})
    before = (mine / "kept.jsonl").read_bytes()
    for _ in range(2):
        ended = call(*words(mine))
        assert ended.code == 1
        assert "or none; 1 of its files are others" in ended.err
        assert (mine / "kept.jsonl").read_bytes() == before


def test_no_cell_leaves_the_board(folder: Path) -> None:
    """A store that has fewer, such as one that was kept elsewhere meanwhile."""
    mine = folder / "fewer"
    shutil.copytree(folder / "whole", mine)
    shutil.rmtree(mine / "results" / "text" / "trime")
    before = (mine / "kept.jsonl").read_bytes()
    kept.keep_ladder(asked_in(mine), mine / "kept.jsonl")
    assert (mine / "kept.jsonl").read_bytes() == before
    assert call(*words(mine)).code == 0
    assert (mine / "kept.jsonl").read_bytes() == before


def asked_in(folder: Path) -> Asked:
    """Something that is asked of the store of a folder."""
    sizes = (size_near(SIZES[0]), size_near(SIZES[1]))
    return Asked("text", ("mle",), sizes, (0.5, 0.34), 2, results=str(folder / "results"))


def test_the_perplexity_of_a_control_that_only_decodes_is_no_second_one(folder: Path) -> None:
    ladder = stored_ladder(Store(folder / "whole" / "results"), "text").ladder
    for rung in ladder.rungs:
        assert sorted(rung.of("ppl/token")) == ["mle", "tailr.power", "trime"]
        assert sorted(rung.of("distinct-1")) == ["mle", "mle.decoupled", "tailr.power", "trime"]


@pytest.mark.parametrize(("method", "column", "ranked"), [
    ("entmax", "ppl/token", False), ("entmax", "distinct-1", True), ("mle", "ppl/token", True),
    ("unknown", "ppl/token", True),
])  # fmt: skip
def test_smoothed_likelihoods_are_not_ranked(method: str, column: str, ranked: bool) -> None:
    signature = {"ppl/token": "perplexity|per:token", "distinct-1": "distinct|n:1"}[column]
    value = Value({0: 1.0, 1: 2.0}, False, signature)
    rows = {method: TableRow(method, "small-causal", "", {"method": method}, values={column: value})}
    found = values_of(column, rows, {method: {0, 1}})
    assert found == ({method: {0: 1.0, 1: 2.0}} if ranked else {})


@pytest.mark.parametrize("where", ["below", "above", "nowhere"])
def test_without_a_forecast_an_upper_rung_is_run_only_behind_methods_that_diverged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def nothing(*given: Any) -> str:
        raise UsageError("too few methods")

    monkeypatch.setattr(forecasts, "write", nothing)
    shutil.copytree(folder / "lower", tmp_path / "lower")
    (plan,) = (tmp_path / "lower" / "results" / "ladder").glob("*.plan.json")
    found = decision.read_decision(plan)
    sizes = {"below": found.rungs[0].size, "above": found.rungs[1].size}
    shape = (sizes[where].width, sizes[where].layers) if where in sizes else None
    monkeypatch.setattr(StoredCells, "has_diverged", lambda self, asked, method: (asked, method) == (shape, "trime"))
    with Progress(quiet=True) as progress:
        if where == "below":
            forecasts.forecast_rung(asked_in(tmp_path / "lower"), found, 1, progress)
            return
        with pytest.raises(UsageError, match="too few methods"):
            forecasts.forecast_rung(asked_in(tmp_path / "lower"), found, 1, progress)
