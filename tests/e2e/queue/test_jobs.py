"""`--jobs`: several workers leave the store that one process would, whatever fails or is killed among them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from bench.queue.plan_file import read_plan, write_plan
from bench.queue.protocol.job import Job
from bench.queue.protocol.timing import Timing
from tests.conftest import Ended
from tests.e2e import children, stores
from tests.waiting import is_gone, wait_until

Bench = Callable[..., Ended]
Start = Callable[..., BaseProcess]
Run = Callable[..., int]

OURS = "tests.e2e.methods"
SLOW = pytest.mark.slow
QUICK = Timing(beat_s=0.2, ttl_s=2.0, reread_s=0.1, poll_s=0.1)


def test_two_jobs_make_the_store_of_one(run: Run, log: Path, matrix: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert run(stores.arguments(results, "--jobs", "2"), children.ForkedJobs()) == 0, children.read(log)
    assert stores.contents(results) == stores.contents(matrix)
    assert not (results / ".work").exists()


def family(results: Path, *more: str) -> list[str]:
    """Parents and children: one pair that works, one whose parent fails, one whose parent diverges."""
    methods = f"mle,ul_seq,{OURS}:Raises,{OURS}:FromRaises,{OURS}:Nan,{OURS}:FromNan"
    return stores.arguments(results, *more, task="ambiguous_template", method=methods, limit=4)


def test_children_come_after_parents_and_failures_stay_their_own(run: Run, log: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(family(one)) == 1
    first = outcome(log)
    assert run(family(two, "--jobs", "3"), children.ForkedJobs()) == 1
    assert stores.contents(one) == stores.contents(two), children.read(log)
    assert outcome(log) == first
    assert len(first["failed"]) == 3
    assert len(first["diverged"]) == 1


@pytest.mark.parametrize("trouble", [None, children.TrainFails()], ids=["done", "failed"])
def test_a_control_waits_for_the_cell_it_reads(run: Run, log: Path, tmp_path: Path, trouble: Any) -> None:
    """Both would train it otherwise. Where it fails, the control says so, and leaves the note of the first."""
    found = []
    for name, *more in (("one",), ("two", "--jobs", "2")):
        results = tmp_path / name
        arguments = stores.arguments(
            results, *more, "--decode", "greedy", task="logicnlg", method="mle,mle.decoupled,trime", limit=4
        )
        code = run(arguments, children.ForkedJobs(other=trouble))
        found.append((code, outcome(log), stores.contents(results)))
    assert found[0] == found[1]
    assert found[0][0] == (0 if trouble is None else 1)
    assert len(found[0][1]["failed"]) == (0 if trouble is None else 3)


def outcome(log: Path) -> dict[str, Any]:
    """What a run says of its cells, with `--json`; the log is removed."""
    text = children.read(log)
    log.unlink()
    return json.loads(text[text.index("{\n") :])


class TestSignals:
    """The run has a cell that sleeps, `sleeps`, and one behind it that does not."""

    @pytest.mark.parametrize(("number", "code"), [pytest.param(signal.SIGTERM, 143, marks=SLOW), (signal.SIGINT, 130)])
    def test_to_the_command(
        self, start: Start, run: Run, log: Path, tmp_path: Path, number: signal.Signals, code: int
    ) -> None:
        """Workers and children have ended when it ends, and the same command goes on."""
        results = tmp_path / "results"
        command = start(sleepy(results, "--jobs", "2"), children.ControlC(children.ForkedJobs()), **asleep(tmp_path))
        child = in_bed(tmp_path)
        os.kill(pid_of(command), number)
        may_wake(tmp_path)
        assert children.ended(command, 20), children.read(log)
        assert command.exitcode == code, children.read(log)
        assert is_gone(child)
        assert not (results / ".work").exists()
        assert not list(results.rglob("*sleeps*/*/trained.json"))
        assert run(sleepy(results, "--jobs", "2"), children.ForkedJobs()) == 0, children.read(log)
        assert len(list(results.rglob("trained.json"))) == 2

    def test_a_killed_command_leaves_no_process(self, start: Start, tmp_path: Path) -> None:
        command = start(sleepy(tmp_path / "results", "--jobs", "2"), children.ForkedJobs(), **asleep(tmp_path))
        child = in_bed(tmp_path)
        os.kill(pid_of(command), signal.SIGKILL)
        assert wait_until(lambda: is_gone(child), 10)

    def test_a_killed_child_costs_its_cell_some_time(self, start: Start, log: Path, tmp_path: Path) -> None:
        """The cell is begun again; a second death fails it, and it alone."""
        results = tmp_path / "results"
        command = start(sleepy(results, "--jobs", "2"), children.ForkedJobs(QUICK), **asleep(tmp_path))
        for _ in range(2):
            child = in_bed(tmp_path)
            (tmp_path / "asleep.0").unlink()
            os.kill(child, signal.SIGKILL)
        assert children.ended(command, 30), children.read(log)
        assert command.exitcode == 1
        assert "killed 2 workers" in children.read(log)
        assert len(list(results.rglob("trained.json"))) == 1
        (failed,) = results.rglob("failed.json")
        assert failed.parts[-3] == "sleeps"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (("--stall-timeout", "2"), "stalled: rank 0 of 1 was silent for "),
        pytest.param(
            ("--cell-timeout", "3"), "stalled: the cell took longer than 3 s (--cell-timeout)", marks=pytest.mark.slow
        ),
    ],
)
def test_a_child_that_stalls_is_ended(
    start: Start, log: Path, tmp_path: Path, limit: tuple[str, str], said: str
) -> None:
    """Its worker watches it as the parent of ranks does; the other cell is done."""
    results = tmp_path / "results"
    command = start(sleepy(results, "--jobs", "2", *limit), children.ForkedJobs(), **asleep(tmp_path))
    child = in_bed(tmp_path)
    assert children.ended(command, 30), children.read(log)
    assert command.exitcode == 1
    assert is_gone(child)
    (note,) = results.rglob("failed.json")
    error = json.loads(note.read_text())["content"]["error"]
    assert error.startswith(said)
    if "--stall-timeout" in limit:
        assert "last seen in training" in error
        assert "step 2" in error
        assert "in sleep" in error
    assert [path.parts[-3] for path in results.rglob("trained.json")] == ["mle"]


class TestPlanAndWork:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Plans whose workers look for work more often than every ten seconds."""
        monkeypatch.setattr("bench.queue.protocol.timing.SHARED", QUICK)

    def test_two_workers_of_a_plan(self, bench: Bench, start: Start, log: Path, matrix: Path, tmp_path: Path) -> None:
        """Started by hand; what they leave is what a run leaves."""
        results, plan = tmp_path / "results", tmp_path / "plan.json"
        assert bench("plan", str(plan), *without_json(stores.arguments(results))).code == 0
        workers = [start(["work", str(plan)], children.ForkedJobs()) for _ in range(2)]
        assert all(children.ended(worker, 120) for worker in workers), children.read(log)
        assert [worker.exitcode for worker in workers] == [0, 0], children.read(log)
        shutil.rmtree(results / ".work")
        assert stores.contents(results) == stores.contents(matrix)

    def test_workers_log_the_board_of_a_plan_once(self, bench: Bench, start: Start, log: Path, tmp_path: Path) -> None:
        """Not where whoever waits for them does, and not while cells are left."""
        for name, options, boards in (("logged", [], 1), ("waited", ["--no-board"], 0)):
            results, plan, logs = (tmp_path / f"{name}-{what}" for what in ("results", "plan", "logs"))
            asked = stores.arguments(
                results, "--logger", "csv", "--set", f"execution.log_dir={logs}", task="logicnlg", method="lead"
            )
            assert bench("plan", str(plan), *without_json(asked)).code == 0
            assert not logs.exists()
            for _ in range(2):
                workers = [start(["work", str(plan), *options], children.ForkedJobs()) for _ in range(2)]
                assert all(children.ended(worker, 60) for worker in workers), children.read(log)
                assert [worker.exitcode for worker in workers] == [0, 0], children.read(log)
            assert len(list(logs.glob("csv/logicnlg/lead/*/version_*"))) == 1, "of the cell"
            assert len(list(logs.glob("csv/board/board-*/version_*/board/logicnlg.*.csv"))) == boards

    @pytest.mark.parametrize(
        "number",
        [signal.SIGTERM, *(pytest.param(n, marks=SLOW) for n in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2))],
    )
    def test_a_told_worker_returns_its_cell(
        self, bench: Bench, start: Start, log: Path, tmp_path: Path, number: signal.Signals
    ) -> None:
        results, plan = tmp_path / "results", tmp_path / "plan.json"
        assert bench("plan", str(plan), *without_json(sleepy(results))).code == 0
        worker = start(["work", str(plan)], children.ControlC(children.ForkedJobs()), **asleep(tmp_path))
        child = in_bed(tmp_path)
        os.kill(pid_of(worker), number)
        may_wake(tmp_path)
        assert children.ended(worker, 20), children.read(log)
        assert worker.exitcode == (130 if number == signal.SIGINT else 75)
        assert is_gone(child)
        (journal,) = (read_plan(plan).queue / "j").iterdir()
        assert [line[:1] for line in journal.read_text().splitlines()[-2:]] == ["r", "e"]
        second = start(["work", str(plan)], children.ForkedJobs())
        assert children.ended(second, 60), children.read(log)
        assert second.exitcode == 0, children.read(log)
        assert len(list(results.rglob("trained.json"))) == 2

    def test_a_plan_that_this_code_would_not_make_is_refused(
        self, bench: Bench, start: Start, log: Path, tmp_path: Path
    ) -> None:
        """The lease is returned for workers that can, and nothing is stored, no failure either."""
        results, plan = tmp_path / "results", tmp_path / "plan.json"
        assert bench("plan", str(plan), *without_json(family(results))).code == 0
        made = read_plan(plan)
        content = [{**job.as_dict(), "cell": {**job.cell, "key": "0" * 16}} for job in made.jobs]
        write_plan(replace(made, jobs=tuple(Job.from_dict(job) for job in content)), plan)
        worker = start(["work", str(plan)], children.ForkedJobs())
        assert children.ended(worker, 60)
        assert worker.exitcode == 1
        assert "code or data" in children.read(log)
        assert [path for path in results.rglob("*") if path.is_file() and ".work" not in path.parts] == []

    def test_a_changed_plan_is_no_plan(self, bench: Bench, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"
        assert bench("plan", str(plan), *without_json(family(tmp_path / "results"))).code == 0
        plan.write_text(plan.read_text().replace('"cost": ', '"cost": 1'))
        found = bench("work", str(plan))
        assert found.code == 2
        assert "not as it was written" in found.err
        assert bench("work", str(tmp_path / "none")).code == 2


@pytest.mark.slow
def test_processes_of_their_own(environment: dict[str, str], tmp_path: Path) -> None:
    """Fresh interpreters for workers and children, as a user has them."""
    stores_of = {}
    for jobs in ("1", "2"):
        results = tmp_path / jobs
        command = [sys.executable, "-m", "bench", *family(results, "--jobs", jobs)]
        assert subprocess.run(command, env={**os.environ, **environment}, check=False).returncode == 1
        stores_of[jobs] = stores.contents(results)
    assert stores_of["1"] == stores_of["2"]


def sleepy(results: Path, *more: str) -> list[str]:
    """A run of a cell that sleeps in the environment `asleep`, and another one."""
    return stores.arguments(results, *more, task="ambiguous_template", method=f"{OURS}:Sleeps,mle", limit=4)


def asleep(folder: Path) -> dict[str, str]:
    """The environment in which it sleeps."""
    return {"SLEEPS": "0", "BED": str(folder)}


def in_bed(folder: Path) -> int:
    """Wait until it sleeps; return its process."""
    bed = folder / "asleep.0"
    assert wait_until(lambda: children.read(bed) != "", 60)
    return int(bed.read_text())


def may_wake(folder: Path) -> None:
    """Let the step in which it sleeps end, a little after the signal before."""
    time.sleep(0.3)
    (folder / "go").touch()


def pid_of(process: BaseProcess) -> int:
    assert process.pid is not None
    return process.pid


def without_json(arguments: list[str]) -> list[str]:
    """A command line of `bench run` for `bench plan`."""
    return [argument for argument in arguments[1:] if argument != "--json"]
