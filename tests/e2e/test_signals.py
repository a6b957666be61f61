"""SIGTERM and Ctrl-C in training: the exit code of the signal, one line, nothing stored; the same command goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from bench.config.config import TrainerConfig
from bench.models.mle import MLE
from bench.training.training import train
from tests.conftest import Ended
from tests.e2e import children, stores
from tests.e2e.tiny import SHORT, small

Bench = Callable[..., Ended]
Start = Callable[..., BaseProcess]
Run = Callable[..., int]

OURS = "tests.e2e.methods"
AGAIN = "; run the same command again to go on\n"
SIGNALS = pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGTERM, 143, f"bench: stopped by SIGTERM{AGAIN}"),
        (signal.SIGINT, 130, f"bench: stopped by SIGINT{AGAIN}"),
    ],
    ids=["SIGTERM", "SIGINT"],
)


def arguments(results: Path, *more: str) -> list[str]:
    """A run of two cells; the first one is interrupted."""
    return stores.arguments(results, *more, task="ambiguous_template", method=f"{OURS}:Sleeps,mle")


def asleep(folder: Path, ranks: str) -> dict[str, int]:
    """Wait until these ranks are in their second step; return their processes."""
    beds = {rank: folder / f"asleep.{rank}" for rank in ranks.split(",")}
    assert children.wait_until(lambda: all(children.read(bed) for bed in beds.values()), 60)
    return {rank: int(bed.read_text()) for rank, bed in beds.items()}


def files(results: Path) -> list[str]:
    """Names of all files of a store."""
    return [path.name for path in results.rglob("*") if path.is_file()]


def trained(results: Path) -> list[str]:
    """Methods that are stored as trained."""
    return sorted(path.parts[-3] for path in results.rglob("trained.json"))


@SIGNALS
def test_one_process(
    start: Start, run: Run, log: Path, tmp_path: Path, number: signal.Signals, code: int, line: str
) -> None:
    results = tmp_path / "results"
    child = start(arguments(results), children.ControlC(), SLEEPS="0", BED=str(tmp_path))
    asleep(tmp_path, "0")
    assert child.pid is not None
    os.kill(child.pid, number)
    assert children.ended(child, 20)
    assert (child.exitcode, children.read(log)) == (code, line)
    assert files(results) == []
    assert run(arguments(results)) == 0, children.read(log)
    assert trained(results) == ["mle", "sleeps"]


@pytest.mark.ddp
@pytest.mark.parametrize("sleeps", ["0,1", "1"], ids=["all sleep", "one waits for the other"])
@SIGNALS
def test_the_parent_of_two(
    start: Start, run: Run, log: Path, tmp_path: Path, number: signal.Signals, code: int, line: str, sleeps: str
) -> None:
    """It takes its workers along, whatever they are doing."""
    results = tmp_path / "results"
    trouble = children.ControlC(children.ForkedWorkers())
    child = start(arguments(results, "--devices", "2"), trouble, SLEEPS=sleeps, BED=str(tmp_path))
    asleep(tmp_path, sleeps)
    assert child.pid is not None
    os.kill(child.pid, number)
    assert children.ended(child, 20)
    assert (child.exitcode, children.read(log)) == (code, line)
    assert not children.alive(child.pid)
    assert files(results) == []
    assert not (results / ".work").exists()
    assert run(arguments(results, "--devices", "2"), children.ForkedWorkers()) == 0, children.read(log)
    assert trained(results) == ["mle", "sleeps"]


@pytest.mark.ddp
def test_one_worker_of_two(start: Start, log: Path, tmp_path: Path) -> None:
    """Its end fails the cell; the other worker, which waits for it, is ended, and the next cell is run."""
    results = tmp_path / "results"
    child = start(arguments(results, "--devices", "2"), children.ForkedWorkers(), SLEEPS="1", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "1")["1"], signal.SIGTERM)
    assert children.ended(child, 60)
    assert child.exitcode == 1, children.read(log)
    assert "process 1 of 2 ended with code -15" in children.read(log)
    assert trained(results) == ["mle"]
    assert not children.alive(child.pid)  # type: ignore[arg-type]


@pytest.mark.parametrize("devices", ["1", pytest.param("2", marks=pytest.mark.ddp)])
@pytest.mark.parametrize("code", [0, 7])
def test_an_objective_that_exits_fails_its_cell_only(
    run: Run, log: Path, tmp_path: Path, devices: str, code: int
) -> None:
    results = tmp_path / "results"
    asked = stores.arguments(results, "--devices", devices, task="ambiguous_template", method=f"{OURS}:Exits,mle",
                             sets=(f"exits:method.code={code}",))  # fmt: skip
    assert run(asked, children.ForkedWorkers()) == 1, children.read(log)
    assert f"SystemExit: {code}" in children.read(log)
    assert trained(results) == ["mle"]
    assert [path.parts[-3] for path in results.rglob("failed.json")] == ["exits"]


def test_training_leaves_the_handlers_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it trains too: Lightning's own are taken off."""
    seen = []

    def on_step(step: int, steps: int, values: dict[str, Any]) -> None:
        seen.append(handlers())

    objective, task, codec = small(MLE)
    before = handlers()
    train(objective, task, codec, TrainerConfig(steps=2, batch_size=2, **SHORT), 0, on_step=on_step)
    assert seen == [before, before]
    assert handlers() == before


def handlers() -> list[Any]:
    """Handlers of the signals that end a run."""
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
