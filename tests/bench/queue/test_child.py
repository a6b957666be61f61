"""The child of one cell: what it leaves, and what its exit code says."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bench.config.arguments import RunArguments
from bench.queue import child
from bench.queue.outcome import CellOutcome, last_outcome
from bench.queue.plan_file import PlanFile
from bench.queue.process_runner import ChildHandle, ProcessRunner
from bench.queue.protocol.job import Job
from bench.queue.protocol.runner import Ending
from bench.queue.protocol.timing import LOCAL

JOB = Job("0123456789abcdef", "a cell")


class Gone:
    """A child that has ended with some code."""

    def __init__(self, code: int) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code


def runner_in(folder: Path, **asked: Any) -> ProcessRunner:
    arguments = RunArguments(("text",), ("mle",), **asked).as_dict()
    return ProcessRunner(PlanFile("0", str(folder), str(folder), arguments, LOCAL, (JOB,)), tell=lambda text: None)


def handle(runner: ProcessRunner, code: int) -> ChildHandle:
    scratch = runner.queue / "w"
    scratch.mkdir(parents=True, exist_ok=True)
    return ChildHandle(runner, JOB, 1, Gone(code), scratch)  # type: ignore[arg-type]


def test_an_outcome_that_cannot_be_written_is_no_failure_of_the_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full for too long; what the cell has stored is found by whoever begins it again."""
    monkeypatch.setattr(child, "TRIES", 1)
    monkeypatch.setattr(child, "next_pause", lambda pause: 0.0)
    (tmp_path / "queue").write_text("no folder can be made here")
    job = {"queue": str(tmp_path / "queue"), "key": JOB.key, "generation": 1}
    code = child.publish(CellOutcome("ok"), job)
    assert handle(runner_in(tmp_path / "other"), code).poll() is Ending.KILLED


class Sleeping:
    """A child that runs until it is killed."""

    code: int | None = None

    def poll(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = -signal.SIGKILL


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [100.0], []
    monkeypatch.setattr("bench.processes.watch.time.monotonic", lambda: now[0])
    runner = runner_in(tmp_path, cell_timeout=10.0)
    monkeypatch.setattr(runner, "fail", lambda job, generation, why: said.append(why))
    sleeping = Sleeping()
    found = ChildHandle(runner, JOB, 1, sleeping, tmp_path)  # type: ignore[arg-type]
    for _ in range(10):
        now[0] += 1
        assert found.poll() is None
    now[0] += 1
    assert (found.poll(), sleeping.code) == (Ending.FAILED, -signal.SIGKILL)
    assert said == ["stalled: the cell took longer than 10 s (--cell-timeout)"]


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        (child.REFUSED, Ending.REFUSED),
        (-signal.SIGKILL, Ending.KILLED),
        (143, Ending.KILLED),
        (75, Ending.KILLED),
    ],
)
def test_codes(tmp_path: Path, code: int, ending: Ending) -> None:
    found = handle(runner_in(tmp_path), code)
    assert found.poll() is ending
    if ending is Ending.KILLED:
        found.was_told = True
        assert found.poll() is Ending.STOPPED


def test_an_outcome_counts_whatever_the_code(tmp_path: Path) -> None:
    runner = runner_in(tmp_path)
    CellOutcome("ok").write(runner.queue, JOB.key, 1)
    assert handle(runner, -signal.SIGKILL).poll() is Ending.DONE
    assert last_outcome(runner.queue, JOB.key) == CellOutcome("ok")


def test_a_stage_that_is_one_call_is_not_watched(tmp_path: Path) -> None:
    """A metric may take longer than any step."""
    found = handle(runner_in(tmp_path), 0)
    beat = child.Heartbeat(found.scratch / "heartbeat.0")
    for stage, ranks in (("training", ()), ("scoring", (0,)), ("writing", (0,)), ("likelihood", ())):
        beat(stage)
        assert found.watch.look((0,)) is None
        assert (stage, found.unwatched()) == (stage, ranks)
    assert os.getpid() == found.watch.processes[0]


def test_limits_are_the_workers_unless_the_child_has_ranks_to_watch() -> None:
    limited = RunArguments(("text",), ("mle",), stall_timeout=5.0, cell_timeout=7.0)
    alone = child.watched_by_worker(limited)
    assert (alone.stall_timeout, alone.cell_timeout) == (0, 0)
    shared = RunArguments(("text",), ("mle",), stall_timeout=5.0, cell_timeout=7.0, devices=2)
    assert child.watched_by_worker(shared) == shared
