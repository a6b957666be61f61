"""`bench.run`: the cells of the command, as a board; failures are raised or kept, and what has no source is refused."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import bench
from bench.cli import main
from bench.errors import RunError, UsageError
from bench.models.mle import MLE
from bench.tasks.logicnlg import LogicNLG
from tests.bench.own import Own
from tests.conftest import forget_data

SETS = {"trainer.steps": 2, "backbone.width": 16, "backbone.layers": 1, "backbone.heads": 2, "backbone.vocabulary": 300}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module", autouse=True)
def sample_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The built-in rows for all tests of this file, which share a store."""
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, tmp_path_factory.mktemp("no-cache"))
        yield


@pytest.fixture(scope="module")
def board(results: Path) -> bench.Board:
    torch.set_num_threads(2)
    try:
        ran = bench.run("logicnlg", [MLE, "lead"], set=SETS, limit=8, results=results)
        assert torch.get_num_threads() == 2  # as the caller had it
    finally:
        torch.set_num_threads(1)
    return ran


def test_a_run_is_the_run_of_the_command(board: bench.Board, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = [f"{name}={value}" for name, value in SETS.items()]
    typed = ["run", "--task", "logicnlg", "--method", "mle,lead", "--limit", "8", "--preset", "small"]
    assert main([*typed, "--set", *sets, "--results", str(results), "--quiet", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("stored, ") == 2  # under the same keys
    assert set(board.methods) == {"mle", "lead"}
    assert "cut by --limit 8" in board.content["tables"][0]["watermark"]


def test_curves(board: bench.Board) -> None:
    curves = board.curves()
    assert set(curves.method) == {"mle"}
    assert list(curves.step) == [1, 2]


FAILING = """
from bench.models.mle import MLE


class Failing(MLE):
    name = "failing"

    def loss(self, states):
        raise RuntimeError("fails on purpose")
"""


def test_failures_are_raised_or_kept(board: bench.Board, results: Path, own: Own) -> None:
    own.write("failing", FAILING)
    options = {"set": {**SETS, "optim.lr": 1e-3}, "limit": 8, "results": results}
    method = "failing:Failing"
    with pytest.raises(
        RunError, match=r"1 of the runs failed, and all others are stored: .*fails on purpose"
    ) as caught:
        bench.run("logicnlg", ["mle", method], **options)  # type: ignore[arg-type]
    assert len(caught.value.failed) == 1
    kept = bench.run("logicnlg", ["mle", method], on_error="keep", **options)  # type: ignore[arg-type]
    assert len(kept.failed) == 1
    assert "fails on purpose" in repr(kept)


def test_a_cell_that_diverged_has_no_number_and_is_said(board: bench.Board, results: Path, tmp_path: Path) -> None:
    diverging = {**SETS, "mle:trainer.lr": 1e30, "trainer.clip": 0, "trainer.steps": 9}
    kept = bench.run("logicnlg", ["mle", "lead"], set=diverging, limit=8, results=results)
    assert list(kept.failed.values()) == ["training diverged"]
    with pytest.raises(RunError, match="training diverged"):
        bench.run("logicnlg", "mle", set=diverging, limit=8, results=tmp_path, on_error="keep")


def test_a_limit_among_the_settings_has_its_table_too(tmp_path: Path) -> None:
    limited = {**SETS, "trainer.limit": 8}
    board = bench.run("logicnlg", "lead", set=limited, results=tmp_path)
    assert list(board.to_pandas().method.unique()) == ["lead"]


CSV = "lightning.pytorch.loggers:CSVLogger"


@pytest.mark.parametrize("logger", [CSV, [CSV, CSV], [f"{CSV},{CSV}"]])
def test_a_run_is_copied_to_its_loggers(tmp_path: Path, logger: str | list[str]) -> None:
    logs = tmp_path / "logs"
    bench.run(
        "logicnlg", "lead", limit=4, results=tmp_path / "results", logger=logger, set={"execution.log_dir": str(logs)}
    )
    (cell,) = (tmp_path / "results").glob("logicnlg/lead/*")
    assert (logs / "CSVLogger" / "logicnlg" / "lead" / cell.name / "version_0" / "metrics.csv").is_file()


@pytest.mark.parametrize("seeds", ["2,10", [10, 2, 2], {2, 10}])
def test_a_run_for_each_seed(tmp_path: Path, seeds: Any) -> None:
    bench.run("logicnlg", "lead", limit=4, results=tmp_path, seeds=seeds)
    records = [json.loads(path.read_bytes())["content"] for path in tmp_path.rglob("trained.json")]
    assert {record["config"]["seed"] for record in records} == {2, 10}


def test_what_is_refused(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
    local = type("Local", (MLE,), {"name": "local", "__module__": "nowhere"})
    in_script = type("InScript", (MLE,), {"name": "in_script", "__module__": "__main__"})
    for options, message in (
        ({"method": local}, r"the class Local has no source file.*%%writefile"),
        ({"method": ["mle", in_script], "jobs": 2}, "the class InScript is in the script that is running"),
        ({"method": "mel"}, "no method 'mel'; did you mean 'mle'"),
        ({"method": 3}, "a method is a name or a class derived from bench.Objective, not 3"),
        ({"method": dict}, "derived from bench.Objective, not <class 'dict'>"),
        ({"method": LogicNLG}, "derived from bench.Objective, not <class 'bench.tasks.logicnlg.LogicNLG'>"),
        ({"method": "mle", "set": ["trainer.lr=1"]}, "set is a dict of options and values"),
        ({"method": "mle", "set": {"trainer.lr": float("nan")}}, "trainer.lr must be a finite number, not 'nan'"),
        ({"method": "mle", "set": {"trainer.lr": 1e300}}, "trainer.lr must be a finite number, not '1e[+]300'"),
        ({"method": "mle", "on_error": "ignore"}, "on_error is 'raise' or 'keep'"),
        ({"method": "mle", "set": {"method.alpha": 1}}, "no method in this run has the option 'alpha'"),
        ({"method": "lead", "logger": "cvs"}, "no logger 'cvs'; --logger takes wandb, or a class"),
        ({"task": MLE, "method": "mle"}, "derived from bench.Task, not <class 'bench.models.mle.MLE'>"),
    ):
        with pytest.raises(UsageError, match=message):
            bench.run(**{"task": "logicnlg", "results": results, **options})  # type: ignore[arg-type]


# Trials -------------------------------------------------------------------------------------------------------------


def searches(results: Path) -> dict[str, Any]:
    """What was tried and picked, by the folder of the cell that was picked."""
    return {str(path.relative_to(results)): json.loads(path.read_text()) for path in results.rglob("grid*.json")}


@pytest.mark.slow
def test_trials_are_those_of_the_command(tmp_path: Path) -> None:
    ours, typed = tmp_path / "ours", tmp_path / "typed"
    board = bench.run("logicnlg", "mle", set=SETS, limit=8, results=ours, trials="2 steps=1/2")
    assert board.methods == ["mle"]
    sets = [f"{name}={value}" for name, value in SETS.items()]
    command = ["run", "--task", "logicnlg", "--method", "mle", "--limit", "8", "--trials", "2", "steps=1/2"]
    assert main([*command, "--set", *sets, "--results", str(typed), "--quiet"]) == 0
    assert {path.parent.name for path in ours.rglob("trained.json")} == {
        path.parent.name for path in typed.rglob("trained.json")
    }
    (picked,) = searches(ours)
    assert list(searches(typed)) == [picked]
