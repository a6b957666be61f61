"""`bench ladder` from end to end: two tiny rungs, two methods, two seeds."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.base.signals import Stopped
from bench.base.space import rounded
from bench.errors import MissingError
from bench.ladder import climb, decision, timing
from bench.ladder.reading import stored_ladder
from bench.ladder.sizes import size_near
from bench.leaderboards.ladder.cells import number
from bench.leaderboards.ladder.forecast_files import read_forecast
from bench.store.store import CellFolder, Store
from bench.tasks.text import Text
from tests.bench.ladder.tiny_ladder import SETS, SIZES, write_text
from tests.conftest import call, forget_data

SIGUSR1 = 10


@dataclass(frozen=True)
class Run:
    """A ladder that was run.

    Args:
        words: of the command, without what it should do.
        results: its store.
        out: what it printed.
    """

    words: tuple[str, ...]
    results: Path
    out: str

    @property
    def store(self) -> Store:
        """The store."""
        return Store(self.results)


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A whole ladder, stopped by a signal before its second rung and gone on with."""
    folder = tmp_path_factory.mktemp("ladder")
    write_text(folder / "text")
    words = ("ladder", "--task", "text", "--methods", "trime", "--sizes", "0.013M,0.05M", "--seeds", "2")
    words += ("--epochs", "0.5,0.34", "--results", str(folder / "results"))
    words += ("--set", f"task.path={folder / 'text'}", *SETS)
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        patch.setattr(timing, "STEPS", 2)
        patch.setattr(climb, "run_rung", stopping(climb.run_rung, size_near(SIZES[1]).name))
        stopped = call(*words, "--keep", str(folder / "kept.jsonl"))
        assert stopped.code == 75, stopped.err
        assert "run the same command again to go on" in stopped.err
        lower = files_of(folder / "results")
        assert len(list(Store(folder / "kept.jsonl").cells())) == 6, "two rates and another seed of two methods"
        patch.undo()
        forget_data(patch, folder / "no-cache")
        patch.setattr(decision, "timed", None)  # what was decided is not measured again
        ended = call(*words, "--keep", str(folder / "kept.jsonl"))
        assert ended.code == 0, ended.err
        now = files_of(folder / "results")
        assert {path: now[path] for path in lower} == lower
        yield Run(words, folder / "results", ended.out)


def stopping(run_rung: Any, name: str) -> Any:
    """Run rungs until one of a name, where a signal comes."""

    def run(asked: Any, rung: Any, *others: Any) -> Any:
        if rung.size.name == name:
            raise Stopped(SIGUSR1)
        return run_rung(asked, rung, *others)

    return run


def files_of(results: Path) -> dict[Path, bytes]:
    """Every file of a store."""
    return {path: path.read_bytes() for path in results.rglob("*") if path.is_file()}


def cells_of(run: Run, millions: float) -> list[tuple[CellFolder, dict[str, Any]]]:
    """The cells of one size with their records."""
    found = []
    for cell in run.store.cells():
        record = cell.trained()
        assert record is not None
        if record["config"]["backbone_options"]["width"] == size_near(millions).width:
            found.append((cell, record))
    return found


def test_every_rung_has_two_rates_of_every_method_and_all_seeds_of_the_better(ladder: Run) -> None:
    for millions in SIZES:
        cells = cells_of(ladder, millions)
        assert len(cells) == 6
        for method in ("mle", "trime"):
            mine = [(cell, record) for cell, record in cells if record["config"]["method"] == method]
            rates = {record["config"]["trainer"]["lr"] for _, record in mine}
            scaled = Text.recipes["small"]["trainer.lr"] * 128 / size_near(millions).width
            assert rates == {rounded(0.5 * scaled), rounded(2 * scaled)}
            picked = [record["config"] for cell, record in mine if cell.grids()]
            assert {config["seed"] for config in picked} == {0, 1}
            assert len({config["trainer"]["lr"] for config in picked}) == 1
            (grid,) = next(cell.grids() for cell, _ in mine if cell.grids())
            best = min(grid["tried"], key=lambda tried: float(tried["nll"]))
            assert best["sets"] == [f"{method}:optim.lr={picked[0]['trainer']['lr']}"]


def test_what_is_run_is_printed_and_never_more_than_four_epochs(ladder: Run) -> None:
    kept = json.loads(next((ladder.results / "ladder").glob("*.plan.json")).read_text(encoding="utf-8"))
    assert kept["methods"] == ["mle", "trime"]
    assert [rung["steps"] for rung in kept["rungs"]] == [3, 2]
    assert all(rung["steps"] * rung["batch_size"] <= 4 * rung["rows"] for rung in kept["rungs"])
    assert "0.013M      12,768     32       1      1      3    0.50" in ladder.out
    assert "methods: mle, trime; seeds 0 to 1" in ladder.out
    assert "hours with --jobs 1" in ladder.out


def test_the_cells_are_those_of_a_bench_run(ladder: Run) -> None:
    cells = cells_of(ladder, SIZES[1])
    picked = [record for cell, record in cells if cell.grids() and record["config"]["method"] == "trime"]
    (printed,) = [line for line in ladder.out.splitlines() if line.startswith("rung 0.05M: --set ")]
    sets = shlex.split(printed.removeprefix("rung 0.05M: --set "))
    before = files_of(ladder.results)
    ended = call(
        "run", "--task", "text", "--method", "trime", "--backbone", "small-causal", "--seeds", "0,1", "--json",
        "--results", str(ladder.results), "--set", *sets, f"optim.lr={picked[0]['config']['trainer']['lr']}",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["stored"]) == 2
    assert {path: content for path, content in files_of(ladder.results).items() if path in before} == before
    assert len(list(ladder.store.cells())) == 12


def test_a_forecast_is_written_before_an_upper_rung_and_kept(ladder: Run) -> None:
    (path,) = (ladder.results / "ladder").glob("*.forecast-*.json")
    assert path.name.endswith(".forecast-0.05M.json")
    made = read_forecast(path)
    assert (made.rung, made.parameters, made.seeds) == ("0.05M", size_near(0.05).parameters, 2)
    assert made.below == ("0.013M",)
    assert {prediction.metric for prediction in made.predictions} >= {"ppl/token", "distinct-1"}
    assert (ladder.results.parent / f"kept.{path.name}").read_bytes() == path.read_bytes()


def test_no_forecast_of_a_rung_that_is_begun(ladder: Run) -> None:
    (path,) = (ladder.results / "ladder").glob("*.forecast-*")
    content = path.read_bytes()
    path.unlink()
    try:
        ended = call(*ladder.words)
        assert ended.code == 0, ended.err
        assert not path.exists()
    finally:
        path.write_bytes(content)
    assert "rung 0.05M: no forecast is written, since cells of this size are trained already" in ended.err


def test_scores_are_read_from_the_store_and_from_the_kept_board(ladder: Run) -> None:
    found = stored_ladder(ladder.store, "text")
    assert [rung.name for rung in found.ladder.rungs] == ["0.013M", "0.05M"]
    assert [rung.parameters for rung in found.ladder.rungs] == [size_near(each).parameters for each in SIZES]
    assert [rung.epochs for rung in found.ladder.rungs] == [0.5, pytest.approx(1 / 3)]
    tokens = [rung.tokens for rung in found.ladder.rungs]
    assert tokens == [cells_of(ladder, each)[0][1]["train"]["tokens"] for each in SIZES]
    assert found.ladder.higher_is_better["ppl/token"] is False
    assert found.ladder.higher_is_better["distinct-1"] is True
    for rung in found.ladder.rungs:
        seeds = {method: set(by_seed) for method, by_seed in rung.of("ppl/token").items()}
        assert seeds == {"mle": {0, 1}, "trime": {0, 1}}
    assert stored_ladder(Store(ladder.results.parent / "kept.jsonl"), "text") == found
    ended = call("ladder", "--task", "text", "--report", "--results", str(ladder.results.parent / "kept.jsonl"))
    assert ended.code == 0, ended.err
    assert "# Ladder of text" in ended.out
    assert "### 0.05M from 0.013M" in ended.out
    rates = ended.out[ended.out.index("## Learning rates that were picked") :]
    for method in ("mle", "trime"):
        lr = [cell_lr(ladder, millions, method) for millions in SIZES]
        assert f"| {method} | {number(lr[0])} | {number(lr[1])} |" in rates
    assert ended.out in ladder.out


def test_the_page_and_its_picture_are_written(ladder: Run, tmp_path: Path) -> None:
    page = tmp_path / "ladder.md"
    ended = call("ladder", "--task", "text", "--report", "--results", str(ladder.results), "--output", str(page))
    assert ended.code == 0, ended.err
    assert ended.out == f"wrote {page} and {tmp_path / 'ladder.svg'}\n"
    picture = "![scores by parameters, a panel for each metric](ladder.svg)\n\n"
    assert page.read_text(encoding="utf-8").replace(picture, "", 1) in ladder.out
    assert picture in page.read_text(encoding="utf-8")
    assert (tmp_path / "ladder.svg").read_text(encoding="utf-8").startswith("<svg")


def picked_cell(run: Run, millions: float, method: str, seed: int) -> CellFolder:
    """The picked cell of a method and seed on one rung."""
    for cell, record in cells_of(run, millions):
        config = record["config"]
        if cell.grids() and (config["method"], config["seed"]) == (method, seed):
            return cell
    raise AssertionError("there is none")


def test_a_rung_that_is_not_whole_is_left_out(ladder: Run, tmp_path: Path) -> None:
    results = Path(shutil.copytree(ladder.results, tmp_path / "results"))
    lost = picked_cell(ladder, SIZES[1], "trime", 1).path.relative_to(ladder.results)
    shutil.rmtree(results / lost)
    found = stored_ladder(Store(results), "text")
    assert [rung.name for rung in found.ladder.rungs] == ["0.013M"]
    assert found.notes == ["rung 0.05M is left out: it is not whole, seeds are missing of trime"]


def cell_lr(run: Run, millions: float, method: str) -> float:
    """The learning rate that was picked for a method on one rung."""
    record = picked_cell(run, millions, method, 0).trained()
    assert record is not None
    return float(record["config"]["trainer"]["lr"])


@pytest.mark.parametrize("with_plan", [True, False])
def test_cells_that_no_ladder_picked_change_nothing(ladder: Run, tmp_path: Path, with_plan: bool) -> None:
    results = Path(shutil.copytree(ladder.results, tmp_path / "results"))
    before = stored_ladder(Store(results), "text")
    if not with_plan:
        shutil.rmtree(results / "ladder")
    record = picked_cell(ladder, SIZES[1], "trime", 1).trained()
    assert record is not None
    sets = [*ladder.words[ladder.words.index("--set") + 1 :], *size_near(SIZES[1]).sets, "trainer.steps=2"]
    sets.append(f"optim.lr={record['config']['trainer']['lr']}")
    for method, seed in (("trime", "2"), ("face", "0")):
        ended = call(
            "run", "--task", "text", "--method", method, "--backbone", "small-causal", "--seeds", seed, "--json",
            "--results", str(results), "--set", *sets,
        )  # fmt: skip
        assert ended.code == 0, ended.err
    tuned = [cell for cell in Store(results).cells() if "face" in cell.path.parts]
    tuned[0].write_grid("0", {"trials": 2, "picked": tuned[0].path.name, "tried": [{"nll": 1.0}, {"nll": 2.0}]}, {})
    assert stored_ladder(Store(results), "text") == before


def test_a_method_that_diverged_is_left_out_where_it_did(ladder: Run, tmp_path: Path) -> None:
    results = Path(shutil.copytree(ladder.results, tmp_path / "results"))
    place = picked_cell(ladder, SIZES[1], "trime", 1).path.relative_to(ladder.results)
    cell = Store(results).cell(*place.parts)
    record = cell.trained()
    assert record is not None
    shutil.rmtree(results / place)
    cell.write_trained({**record, "status": "diverged"}, {})
    found = stored_ladder(Store(results), "text")
    assert [sorted(rung.of("ppl/token")) for rung in found.ladder.rungs] == [["mle", "trime"], ["mle"]]
    assert found.notes == ["trime is left out of rung 0.05M: it diverged there"]


def test_a_store_without_a_ladder_says_what_makes_one(tiny_store: Path) -> None:
    with pytest.raises(MissingError, match="has no cell of a ladder of text; bench ladder --task text runs one"):
        stored_ladder(Store(tiny_store), "text")


def test_an_estimate_keeps_nothing_and_a_budget_drops_the_last_method(
    ladder: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = timing.Timing(step_s=360.0, evaluation_s=0.0, step_tokens=1000.0)
    monkeypatch.setattr(decision, "timed", lambda *given: slow)
    place = ladder.words.index("--results") + 1
    words = [*ladder.words[:place], str(tmp_path / "results"), *ladder.words[place + 1 :]]
    ended = call(*words, "--estimate", "--methods", "face", "--budget", "3.5h")
    assert ended.code == 0, ended.err
    assert "methods: mle, trime; seeds 0 to 1" in ended.out
    assert "left out: face is dropped by --budget 3.5h: it adds 0.60 hours" in ended.out
    assert "about 3.00 hours with --jobs 1" in ended.out, "2 methods, 3 cells each, of 3 and of 2 steps"
    assert not (tmp_path / "results").exists()


def test_a_forecast_that_cannot_be_read_costs_its_own_line(ladder: Run, tmp_path: Path) -> None:
    results = Path(shutil.copytree(ladder.results, tmp_path / "results"))
    words = ("ladder", "--task", "text", "--report", "--results", str(results))
    before = call(*words)
    for name, content in {"text-a.forecast-9M.json": "{", "text-b.forecast-9M.json": '{"schema": 1}'}.items():
        (results / "ladder" / name).write_text(content, encoding="utf-8")
    ended = call(*words)
    assert (before.code, ended.code) == (0, 1)
    assert ended.out.startswith(before.out.rstrip("\n"))
    assert "- forecast text-a.forecast-9M.json cannot be read" in ended.out
    assert "- forecast text-b.forecast-9M.json cannot be read" in ended.out
    assert [line.partition(" in '")[0] for line in ended.complaints] == [
        "bench: expected a forecast as JSON",
        "bench: expected the fields of a forecast",
    ]
    page = call(*words, "--output", str(tmp_path / "ladder.md"))
    assert page.code == 1
    assert (tmp_path / "ladder.svg").exists()


def test_many_cells_are_begun_only_with_yes(ladder: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rungs of two methods, each with two rates and another seed: twelve cells; what is stored is not asked for."""
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 11)
    slow = timing.Timing(step_s=1.0, evaluation_s=0.0, step_tokens=1000.0)
    monkeypatch.setattr(decision, "timed", lambda *given: slow)
    place = ladder.words.index("--results") + 1
    words = [*ladder.words[:place], str(tmp_path / "results"), *ladder.words[place + 1 :]]
    ended = call(*words)
    assert ended.code == 2
    assert "12 cells are to be trained or evaluated, and more than 11 are begun only with --yes" in ended.err
    assert not list((tmp_path / "results").rglob("trained.json"))
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 0)
    assert call(*ladder.words).code == 0


def test_another_ladder_on_the_same_rungs_is_counted(
    ladder: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rungs that are whole with the methods of one ladder are not so with another method: two rates, another seed."""
    monkeypatch.setattr("bench.cells.plan_checks.MANY", 5)
    monkeypatch.setattr(decision, "timed", lambda *given: timing.Timing(1.0, 0.0, 1000.0))
    results = Path(shutil.copytree(ladder.results, tmp_path / "results"))
    words = [{"trime": "trime,gem", str(ladder.results): str(results)}.get(word, word) for word in ladder.words]
    before = files_of(results)
    ended = call(*words)
    assert ended.code == 2, ended.err
    assert "6 cells are to be trained or evaluated, and more than 5 are begun only with --yes" in ended.err
    now = files_of(results)
    assert {path: now[path] for path in before} == before


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_minutes_end_a_slice_with_75(ladder: Run) -> None:
    """Six milliseconds end while some file is read; that Python closes it late is no matter then."""
    ended = call(*ladder.words, "--minutes", "0.0001")
    assert ended.code == 75
    assert "run the same command again to go on" in ended.err
