"""Stalls: a process that gives no sign of life ends its cell, named, and stops nobody else."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import children, stores
from tests.e2e.faults.test_signals import asleep, trained
from tests.waiting import wait_until

pytestmark = pytest.mark.ddp

Start = Callable[..., BaseProcess]

SLEEPS = "tests.e2e.methods:Sleeps"
LIMIT = 4
"""Seconds; starting a forked rank takes less than one."""


def arguments(results: Path, *more: str) -> list[str]:
    """A run of two cells; the first one stalls."""
    return stores.arguments(results, *more, task="ambiguous_template", method=f"{SLEEPS},mle")


def stalled(results: Path) -> str:
    """What is noted of the cell that stalled, the only one."""
    (note,) = results.rglob("failed.json")
    content: dict[str, Any] = json.loads(note.read_text())["content"]
    assert (content["status"], note.parts[-3]) == ("failed", "sleeps")
    return str(content["error"])


def test_a_rank_that_hangs(start: Start, log: Path, tmp_path: Path) -> None:
    """The other rank waits for it and is as silent; the one that is behind is named, with its stack."""
    results = tmp_path / "results"
    asked = arguments(results, "--devices", "2", "--stall-timeout", str(LIMIT))
    child = start(asked, children.ForkedWorkers(), SLEEPS="1", BED=str(tmp_path))
    asleep(tmp_path, "1")
    began = time.monotonic()
    assert wait_until(lambda: any(results.rglob("failed.json")), LIMIT + 15)
    assert time.monotonic() - began >= LIMIT - 1
    assert children.ended(child, 60)
    assert child.exitcode == 1, children.read(log)
    said = stalled(results)
    assert said.startswith(f"stalled: rank 1 of 2 was silent for {LIMIT} s, last seen in training, step 2\n")
    assert "methods.py" in said
    assert "in sleep" in said
    assert "failed: stalled: rank 1 of 2" in children.read(log)
    assert trained(results) == ["mle"]
    assert children.users(tmp_path) == []
    assert not (results / ".work").exists()


@pytest.mark.slow
def test_a_rank_that_is_stopped(start: Start, log: Path, tmp_path: Path) -> None:
    """Both are in the same step; the one that the system says is stopped is named."""
    results = tmp_path / "results"
    asked = arguments(results, "--devices", "2", "--stall-timeout", str(LIMIT))
    child = start(asked, children.ForkedWorkers(), SLEEPS="0,1", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "0,1")[1], signal.SIGSTOP)
    assert children.ended(child, LIMIT + 60)
    assert child.exitcode == 1, children.read(log)
    assert "stalled: rank 1 of 2" in stalled(results)
    assert "step 2; its process is stopped" in stalled(results)
    assert trained(results) == ["mle"]
    assert children.users(tmp_path) == []


@pytest.mark.slow
def test_a_rank_that_hangs_in_evaluation(start: Start, log: Path, tmp_path: Path) -> None:
    """The other one ends its share and waits for nobody."""
    results = tmp_path / "results"
    trouble = children.All((children.ForkedWorkers(), children.WaitsIn("bench.cells.work", "evaluate")))
    method = ["sleeps" if word.startswith(SLEEPS) else word for word in arguments(results)]
    asked = [word.replace("sleeps", SLEEPS) for word in method]
    child = start([*asked, "--devices", "2", "--stall-timeout", str(LIMIT)], trouble, WAITS="1", BED=str(tmp_path))
    asleep(tmp_path, "1")
    assert children.ended(child, LIMIT + 60)
    assert child.exitcode == 1, children.read(log)
    assert "stalled: rank 1 of 2" in stalled(results)
    assert trained(results) == ["sleeps"]


@pytest.mark.slow
def test_a_cell_that_takes_too_long(start: Start, log: Path, tmp_path: Path) -> None:
    """One process can be ended only from outside: a cell with a limit has a process of its own."""
    results = tmp_path / "results"
    child = start(
        arguments(results, "--cell-timeout", str(LIMIT)), children.ForkedWorkers(), SLEEPS="0", BED=str(tmp_path)
    )
    asleep(tmp_path, "0")
    assert children.ended(child, LIMIT + 60)
    assert child.exitcode == 1, children.read(log)
    assert stalled(results) == f"stalled: the cell took longer than {LIMIT} s (--cell-timeout)"
    assert trained(results) == ["mle"]
    assert children.users(tmp_path) == []


@pytest.mark.slow
def test_a_rank_that_is_stopped_at_its_very_end(start: Start, log: Path, tmp_path: Path) -> None:
    """It has done its share."""
    results = tmp_path / "results"
    trouble = children.All((children.ForkedWorkers(), children.StopsAtItsEnd()))
    child = start([*arguments(results), "--devices", "2"], trouble)
    assert children.ended(child, 40)
    assert child.exitcode == 0, children.read(log)
    assert trained(results) == ["mle", "sleeps"]
    assert children.users(tmp_path) == []
