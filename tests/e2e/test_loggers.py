"""Loggers are views: what they show is what is stored, and whatever they do no result feels it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.cells.loggers import Logs
from bench.config.arguments import RunArguments
from tests.conftest import Bench, Ended
from tests.e2e import children, own_loggers, stores
from tests.e2e.own_loggers import Kept

OWN = "tests.e2e.own_loggers"
CSV = "lightning.pytorch.loggers:CSVLogger"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, where loggers write by default."""
    monkeypatch.chdir(tmp_path)
    Kept.made.clear()
    return tmp_path


def arguments(results: Path, logger: str, *more: str, task: str = "logicnlg", **how: Any) -> list[str]:
    """The command line of one cell."""
    return stores.arguments(results, "--logger", logger, *more, task=task, method="trime", **how)


def expected(matrix: Path, task: str) -> dict[str, bytes]:
    """What the same cell holds without a logger."""
    return {name: content for name, content in stores.contents(matrix).items() if name.startswith(f"{task}/trime/")}


def warnings(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if line.startswith("warning:")]


def stored(results: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of the only cell, and its record."""
    (path,) = results.glob("*/*/*/trained.json")
    return path.parent, json.loads(path.read_text())["content"]


def points(rows: list[dict[str, str]], name: str) -> list[tuple[int, float]]:
    """Step and value of each point of a curve in a table."""
    return [(int(row["step"]), float(row[name])) for row in rows if row[name]]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


VALIDATED = ("trainer.validate=1", "trainer.steps=4")


def test_csv_files_hold_curves_and_scores(bench: Bench, folder: Path) -> None:
    results = folder / "results"
    ended = bench(*arguments(results, CSV, sets=VALIDATED))
    assert (ended.code, warnings(ended)) == (0, [])
    cell, record = stored(results)
    logged = folder / "logs" / "CSVLogger" / "logicnlg" / "trime" / cell.name / "version_0"
    metrics = read(logged / "metrics.csv")
    assert points(metrics, "train/loss") == [
        (step, pytest.approx(loss, abs=5e-7)) for step, loss in record["train"]["curve"]
    ]
    steps = [int(row["step"]) for row in metrics]
    assert steps == sorted(steps)  # a validation is logged when it happens
    validated = record["train"]["validation"]
    assert len(validated) >= 2
    for name in ("nll", "ppl", "loss"):
        assert points(metrics, f"validation/{name}") == [(step, columns[name]) for step, columns in validated]
    scores = {}
    for path in cell.glob("scores-*"):
        content = json.loads(path.read_text())["content"]
        for value in content["values"]:
            if content["of"]["decoding"] and value["value"] is not None:
                scores[f"test/{value['name']}/greedy"] = value["value"]
    assert len(scores) > 3
    assert {name: points(metrics, name) for name in scores} == {name: [(4, value)] for name, value in scores.items()}
    assert yaml.safe_load((logged / "hparams.yaml").read_text()) == record["config"]


@pytest.mark.ddp
def test_the_first_of_several_processes_logs(run: Callable[..., int], log: Path, folder: Path) -> None:
    results = folder / "results"
    sets = (*VALIDATED, f"execution.log_dir={folder / 'logs'}")
    asked = arguments(results, CSV, "--devices", "2", task="ambiguous_template", sets=sets)
    assert run(asked, children.fork_workers) == 0, children.read(log)
    _, record = stored(results)
    (logged,) = (folder / "logs").rglob("metrics.csv")
    metrics = read(logged)
    assert [step for step, _ in points(metrics, "train/loss")] == [step for step, _ in record["train"]["curve"]]
    assert points(metrics, "validation/nll") == [(step, of["nll"]) for step, of in record["train"]["validation"]]


def test_a_cell_that_is_evaluated_again_has_another_version(bench: Bench, folder: Path) -> None:
    """What was logged before stays; a run that has nothing to do logs nothing."""
    results = folder / "results"
    for more in ([], ["--decode", "topk=3"], []):
        assert bench(*arguments(results, CSV, *more)).code == 0
    cell, _ = stored(results)
    runs = folder / "logs" / "CSVLogger" / "logicnlg" / "trime" / cell.name
    assert sorted(path.name for path in runs.iterdir()) == ["version_0", "version_1"]
    assert "train/loss" in read(runs / "version_0" / "metrics.csv")[0]
    assert "train/loss" not in read(runs / "version_1" / "metrics.csv")[0]


FAILURES = [("Raises", "__init__"), ("Raises", "log_metrics"), ("Exits", "log_table"), ("Raises", "finalize")]


@pytest.mark.parametrize(("kind", "where"), FAILURES)
def test_a_logger_that_fails_loses_nothing(
    bench: Bench, folder: Path, matrix: Path, monkeypatch: pytest.MonkeyPatch, kind: str, where: str
) -> None:
    """One warning, the same results, and the other logger has all."""
    monkeypatch.setenv("FAILS_IN", where)
    ended = bench(*arguments(folder / "results", f"{OWN}:{kind},{OWN}:Kept"))
    assert ended.code == 0
    why = {"Raises": "RuntimeError: the disk is gone", "Exits": "SystemExit: no key"}[kind]
    assert warnings(ended) == [f"warning: logger '{OWN}:{kind}' is off for this run ({why}); results are not touched"]
    assert stores.contents(folder / "results") == expected(matrix, "logicnlg")
    whole = [logger for logger in Kept.made if type(logger) is Kept]
    assert [logger.status for logger in whole] == ["success"]
    broken = [logger.status for logger in Kept.made if type(logger) is not Kept]
    assert set(broken) <= {"failed", ""}
    assert broken == ["failed"] or where in ("__init__", "finalize")  # it ends, though nothing more is sent to it


def test_a_logger_that_draws_random_numbers_changes_none_of_ours(bench: Bench, folder: Path, matrix: Path) -> None:
    ended = bench(*arguments(folder / "results", f"{OWN}:Draws,{OWN}:Kept"))
    assert (ended.code, warnings(ended)) == (0, [])
    assert stores.contents(folder / "results") == expected(matrix, "logicnlg")
    drawing, kept = Kept.made[:2]
    assert [values for _, values in drawing.metrics] == [values for _, values in kept.metrics]
    cell, record = stored(folder / "results")
    assert (kept.save_to, kept.run) == (str(Path("logs", "Kept")), f"logicnlg/trime/{cell.name}")
    assert kept.config == record["config"]
    ((columns, rows),) = kept.tables.values()
    samples = [dict(zip(columns, row, strict=True)) for row in rows]
    assert list(kept.tables) == ["samples/greedy"]
    assert {row["id"]: row["text"] for row in samples} == stores.texts(cell)
    assert all(row["source"] and row["reference"] for row in samples)


def test_what_makes_no_logger_is_said(bench: Bench, folder: Path) -> None:
    ended = bench(*arguments(folder / "results", f"{OWN}:no_logger", task="ambiguous_template"))
    assert ended.code == 0
    (warning,) = warnings(ended)
    assert f"expected a Lightning Logger, and '{OWN}:no_logger' made str" in warning


def test_a_training_that_begins_again_logs_no_step_twice() -> None:
    """As after too little memory."""
    unused: Any = None
    with Logs(RunArguments(("text",)), pytest.fail).run(unused) as opened:
        kept = opened.loggers["kept"] = Kept("logs", "run")
        for step in (1, 2, 1, 2, 3):
            opened.step(step, 3, {"loss": float(step)})
            opened.validation(step, {"loss": float(step)})
    for name in ("train/loss", "validation/loss"):
        assert [values[name] for _, values in kept.metrics if name in values] == [1.0, 2.0, 3.0]
    assert kept.status == "success"


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("wand", 2, "no logger 'wand'; --logger takes wandb, or a class as module:Name"),
        (f"{OWN}:Kep", 2, "has no 'Kep'; did you mean 'Kept'"),
        ("nowhere.at.all:Kept", 3, "cannot import 'nowhere.at.all'"),
    ],
)
def test_names_are_refused_before_anything_is_run(bench: Bench, folder: Path, name: str, code: int, says: str) -> None:
    ended = bench(*arguments(folder / "results", name))
    assert (ended.code, says in ended.err) == (code, True), ended.err
    assert not (folder / "results").exists()


def test_a_failed_cell_is_told_to_its_loggers(bench: Bench, folder: Path) -> None:
    asked = stores.arguments(
        folder / "results", "--logger", f"{OWN}:Kept", task="ambiguous_template", method="tests.e2e.methods:Raises"
    )
    assert bench(*asked).code == 1
    assert [logger.status for logger in own_loggers.Kept.made] == ["failed"]
