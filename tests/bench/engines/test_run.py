"""`bench run --engine slurm` with stand-ins for Slurm's programs: submit, follow, leave, come back, requeue, cancel."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench.engines import fake_slurm
from tests.bench.engines.conftest import Cluster, outcome
from tests.waiting import wait_until


def during(cluster: Cluster, *acts: Callable[[], object]) -> threading.Thread:
    """Do something while the next command follows and both workers are in a cell, which ends only then."""
    cluster.hold.touch()
    count = len(cluster.submitted)

    def wait_and_act() -> None:
        assert wait_until(lambda: len(cluster.submitted) > count and cluster.at_work(), 20)
        for act in acts:
            act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def leave() -> None:
    """Press Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def test_cells_are_submitted_and_followed_to_their_end(cluster: Cluster) -> None:
    ended = cluster.run()
    assert ended.code == 0, ended.err
    assert len(outcome(ended)["ok"]) == 4
    assert "submitted Slurm job 100 for 4 cells" in ended.err
    assert "Slurm job 100: 2 running" in ended.err
    assert len(cluster.submitted) == 1
    assert not Path(cluster.submitted[0]).parent.exists(), "nobody needs the queue any more"
    assert cluster.states() == []


def test_checkpoints_go_when_the_cells_are_finished(cluster: Cluster) -> None:
    """As in a run here: the workers keep all, and who follows them removes what the policy does not keep."""
    plan = json.loads(cluster.run("--dry-run").out)
    files = [Path(cell["folder"]) / "model-0123.safetensors" for cell in plan["cells"]]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"weights")
    ended = cluster.run("--keep-checkpoints", "none")
    assert ended.code == 0, ended.err
    assert "--keep-checkpoints none: removed 28 B in 4 checkpoints" in ended.err
    assert not any(file.exists() for file in files)


def test_who_leaves_finds_it_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = during(cluster, leave)
    left = cluster.run()
    thread.join()
    assert left.code == 130
    assert f"scancel --name {cluster.name} ends them" in left.err
    assert cluster.states() == ["RUNNING", "RUNNING"]
    threading.Timer(0.3, cluster.hold.unlink).start()
    back = cluster.run()
    assert back.code == 0, back.err
    assert "is at work: follows it" in back.err
    assert len(outcome(back)["ok"]) == 4
    assert len(cluster.submitted) == 1


@pytest.mark.slow
def test_what_ended_meanwhile_is_reported_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "2")
    thread = during(cluster, leave, cluster.hold.unlink)
    assert cluster.run().code == 130
    thread.join()
    cluster.wait_for_end()
    back = cluster.run()
    assert back.code == 1
    assert list(outcome(back)["failed"].values()) == ["went wrong"]
    assert len(cluster.submitted) == 1
    monkeypatch.delenv("FAILS")
    assert cluster.run().code == 0, "the same command tries again what has failed"
    assert len(cluster.submitted) == 2


@pytest.mark.parametrize("number", [signal.SIGUSR2, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_worker_that_is_told_comes_back_and_its_cell_goes_on(cluster: Cluster, number: signal.Signals) -> None:
    """The number of the last task stands for the whole array, and the other one stays where it is."""
    restarts: list[int] = []

    def tell() -> None:
        fake_slurm.signal_step(cluster.name, 1, number)
        assert wait_until(lambda: sum(cluster.restarts()) > 0, 10)
        restarts.extend(cluster.restarts())

    thread = during(cluster, tell, cluster.hold.unlink)
    ended = cluster.run()
    thread.join()
    assert ended.code == 0, ended.err
    assert len(outcome(ended)["ok"]) == 4
    assert restarts == [0, 1]
    steps = [line for line in ended.err.splitlines() if "from step" in line]
    assert len([line for line in steps if line != "warning: from step 0"]) == 1, ended.err


@pytest.mark.slow
def test_what_is_cancelled_stays_away(cluster: Cluster) -> None:
    thread = during(cluster, lambda: fake_slurm.scancel(["--name", cluster.name]))
    ended = cluster.run()
    thread.join()
    assert ended.code == 1
    assert "the array has ended before its cells were done (2 new, 2 returned)" in ended.err
    assert "slurm-0.log: runs" in ended.err
    assert cluster.states() == []
    cluster.hold.unlink()
    again = cluster.run()
    assert again.code == 0
    assert "an earlier array has ended before 4 of its cells were done" in again.err
    assert len(cluster.submitted) == 2


@pytest.mark.slow
def test_slurm_that_refuses_leaves_nothing(cluster: Cluster) -> None:
    (cluster.folder / "refuses").touch()
    ended = cluster.run()
    assert ended.code == 1
    assert ended.complaints == [
        "bench: Slurm has not taken the job: sbatch: error: Batch job submission failed: Invalid partition name "
        "specified; --dry-run prints what was submitted"
    ]
    assert not (cluster.results / ".work").exists()


def test_without_slurm_it_says_so(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ended = cluster.run()
    assert ended.code == 3
    assert "'sbatch' is not here: type this on a login node" in ended.err
    assert not (cluster.results / ".work").exists()


@pytest.mark.slow
def test_a_controller_that_is_down_for_a_while_is_waited_for(cluster: Cluster) -> None:
    down = cluster.folder / "down"
    thread = during(cluster, down.touch, lambda: time.sleep(1), down.unlink, cluster.hold.unlink)
    ended = cluster.run()
    thread.join()
    assert ended.code == 0, ended.err
    assert "Unable to contact slurm controller" in ended.err
