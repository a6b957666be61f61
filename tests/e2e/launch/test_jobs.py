"""`--jobs`: several processes leave the store that one would, whatever fails or is killed among them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import children, stores
from tests.e2e.children import Run, Start
from tests.e2e.faults.test_signals import asleep
from tests.e2e.stores import sleepers
from tests.waiting import is_gone, wait_until

OURS = "tests.e2e.methods"
SLOW = pytest.mark.slow


def test_two_jobs_make_the_store_of_one(run: Run, log: Path, matrix: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert run(stores.arguments(results, "--jobs", "2"), children.fork_jobs) == 0, children.read(log)
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
    assert run(family(two, "--jobs", "3"), children.fork_jobs) == 1
    assert stores.contents(one) == stores.contents(two), children.read(log)
    assert outcome(log) == first
    assert len(first["failed"]) == 3
    assert len(first["diverged"]) == 1


@pytest.mark.parametrize("trouble", [None, children.fail_to_train], ids=["done", "failed"])
def test_a_control_waits_for_the_cell_it_reads(run: Run, log: Path, tmp_path: Path, trouble: Any) -> None:
    """Both would train it otherwise. Where it fails, the control says so, and leaves the note of the first."""
    found = []
    for name, *more in (("one",), ("two", "--jobs", "2")):
        results = tmp_path / name
        arguments = stores.arguments(
            results, *more, "--decode", "greedy", task="logicnlg", method="mle,mle.decoupled,trime", limit=4
        )
        code = run(arguments, children.together(children.fork_jobs, *filter(None, [trouble])))
        found.append((code, outcome(log), stores.contents(results)))
    assert found[0] == found[1]
    assert found[0][0] == (0 if trouble is None else 1)
    assert len(found[0][1]["failed"]) == (0 if trouble is None else 3)


def outcome(log: Path) -> dict[str, Any]:
    """What a run prints of its runs with `--json`, before the lines of those that failed; the log is removed."""
    text = children.read(log)
    log.unlink()
    found: dict[str, Any]
    found, _ = json.JSONDecoder().raw_decode(text, text.index("{\n"))
    return found


class TestSignals:
    """The run has a cell that sleeps, `sleeps`, and one behind it that does not."""

    @pytest.mark.parametrize(("number", "code"), [pytest.param(signal.SIGTERM, 143, marks=SLOW), (signal.SIGINT, 130)])
    def test_to_the_command(
        self, start: Start, run: Run, log: Path, tmp_path: Path, number: signal.Signals, code: int
    ) -> None:
        """Workers and children have ended when it ends, and the same command goes on."""
        results = tmp_path / "results"
        trouble = children.together(children.hear_control_c, children.fork_jobs)
        command = start(sleepers(results, "--jobs", "2"), trouble, SLEEPS="0", BED=str(tmp_path))
        child = asleep(tmp_path, "0")[0]
        children.send(command, number)
        time.sleep(0.3)  # the signal comes before the end of the step
        (tmp_path / "go").touch()
        assert children.ended(command, 20), children.read(log)
        assert command.exitcode == code, children.read(log)
        assert is_gone(child)
        assert not (results / ".work").exists()
        assert not list(results.rglob("*sleeps*/*/trained.json"))
        assert run(sleepers(results, "--jobs", "2"), children.fork_jobs) == 0, children.read(log)
        assert len(list(results.rglob("trained.json"))) == 2

    def test_a_killed_command_leaves_no_process(self, start: Start, tmp_path: Path) -> None:
        command = start(
            sleepers(tmp_path / "results", "--jobs", "2"), children.fork_jobs, SLEEPS="0", BED=str(tmp_path)
        )
        child = asleep(tmp_path, "0")[0]
        children.send(command, signal.SIGKILL)
        assert wait_until(lambda: is_gone(child), 10)

    def test_a_killed_child_costs_its_cell_some_time(self, start: Start, log: Path, tmp_path: Path) -> None:
        """The cell is begun again; a second death fails it, and it alone."""
        results = tmp_path / "results"
        command = start(sleepers(results, "--jobs", "2"), children.fork_jobs, SLEEPS="0", BED=str(tmp_path))
        for _ in range(2):
            child = asleep(tmp_path, "0")[0]
            (tmp_path / "asleep.0").unlink()
            os.kill(child, signal.SIGKILL)
        assert children.ended(command, 30), children.read(log)
        assert command.exitcode == 1
        assert "its process was killed 2 times: process 0 of 1 was killed by SIGKILL" in children.read(log)
        assert len(list(results.rglob("trained.json"))) == 1
        (failed,) = results.rglob("failed.json")
        assert failed.parts[-3] == "sleeps"


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
