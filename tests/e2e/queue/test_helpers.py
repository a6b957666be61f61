"""`bench work` as each of several processes: the first one is the worker, and the others help it with every cell."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from bench.queue.protocol.timing import Timing
from tests.conftest import call
from tests.e2e import stores
from tests.e2e.groups.test_members import OURS, codes, logs, members
from tests.waiting import wait_until

pytestmark = [pytest.mark.ddp, pytest.mark.slow]

QUICK = Timing(beat_s=0.2, ttl_s=5.0, reread_s=0.1, poll_s=0.1)


def test_they_share_cells_and_a_killed_child_costs_its_cell_some_time(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is begun again by all of them; two cells, of which the first sleeps on the second process."""
    monkeypatch.setattr("bench.queue.protocol.timing.SHARED", QUICK)
    plan = tmp_path / "plan.json"
    asked = stores.arguments(tmp_path / "results", task="ambiguous_template", method=f"{OURS}:Sleeps,mle")
    asked.remove("--json")
    assert call("plan", str(plan), *asked[1:]).code == 0
    processes = members(tmp_path, ["work", str(plan)], environment, SLEEPS="1", BED=str(tmp_path))
    bed = tmp_path / "asleep.1"
    assert wait_until(lambda: bed.exists() and bed.read_text() != "", 60), logs(tmp_path)
    first = int(bed.read_text())
    (tmp_path / "go").touch()
    os.kill(first, signal.SIGKILL)
    assert codes(processes) == [0, 0], logs(tmp_path)
    assert int(bed.read_text()) != first
    assert "killed: " in logs(tmp_path)[0]
    records = sorted((tmp_path / "results").rglob("trained.json"))
    assert [json.loads(record.read_text())["provenance"]["world"] for record in records] == [2, 2]


def test_a_cell_that_takes_too_long_is_ended_on_all_of_them(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--cell-timeout` of a worker of several processes: the cell fails, and the next one is done by all."""
    monkeypatch.setattr("bench.queue.protocol.timing.SHARED", QUICK)
    plan, results = tmp_path / "plan.json", tmp_path / "results"
    asked = stores.arguments(results, "--cell-timeout", "15", task="ambiguous_template", method=f"{OURS}:Sleeps,mle")
    asked.remove("--json")
    assert call("plan", str(plan), *asked[1:]).code == 0
    processes = members(tmp_path, ["work", str(plan)], environment, SLEEPS="1", BED=str(tmp_path))
    assert codes(processes) == [1, 1], logs(tmp_path)
    (failed,) = results.rglob("failed.json")
    assert "the cell took longer than 15 s (--cell-timeout)" in failed.read_text()
    (record,) = results.rglob("trained.json")
    assert json.loads(record.read_text())["provenance"]["world"] == 2
