"""`bench run --slurm` on a real Slurm of two nodes: time limit, scancel, a lost node, a cell on two nodes."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

import bench.engines.follow
import bench.engines.run
from bench.queue.protocol.timing import Timing
from tests.e2e import children, stores
from tests.e2e.queue.slurm_cluster import SlurmCluster, missing
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.slurm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(missing() != "", reason=missing() or "it is"),
]

Start = Callable[..., BaseProcess]
PACED = "tests.e2e.methods:Paced"
STEPS = 200
"""Of a cell that takes its time: more than a worker can do before it is told to end."""


class Quick:
    """Let workers miss each other soon, and the command not wait for those that are lost."""

    def arm(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        bench.engines.run.SHARED = Timing(beat_s=0.3, ttl_s=6.0, reread_s=0.2, poll_s=0.3)  # type: ignore[misc]
        bench.engines.follow.END_S = 4.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with tempfile.TemporaryDirectory() as folder:
        found = SlurmCluster(Path(folder))
        try:
            found.start()
            yield found
        finally:
            found.stop()


@pytest.fixture
def engine(cluster: SlurmCluster, start: Start, tmp_path: Path) -> Callable[..., BaseProcess]:
    """Start `bench run --slurm` in a child."""

    def begin(methods: str, *more: str, **environment: str) -> BaseProcess:
        asked = stores.arguments(
            tmp_path / "results", "--slurm", *more,
            task="ambiguous_template", method=methods, sets=(f"trainer.steps={STEPS}",),
        )  # fmt: skip
        asked.remove("--quiet")
        return start(asked, Quick(), BED=str(tmp_path), **cluster.environment, **environment)

    return begin


def ended(command: BaseProcess, log: Path, seconds: float = 240) -> int:
    """The exit code of a command that ends in time."""
    assert children.ended(command, seconds), children.read(log)
    assert command.exitcode is not None
    return command.exitcode


def first_steps(folder: Path) -> list[int]:
    """The first step of each process that has trained the cell that takes its time."""
    found: dict[str, int] = {}
    for line in children.read(folder / "steps").splitlines():
        process, step = line.split()
        found.setdefault(process, int(step))
    return list(found.values())


def wait_for(holds: Callable[[], bool], log: Path, cluster: SlurmCluster, seconds: float = 240) -> None:
    assert wait_until(holds, seconds), f"{children.read(log)}\n{cluster.logs()}"


def test_a_time_limit_sends_a_worker_back_into_the_queue(
    cluster: SlurmCluster, engine: Callable[..., BaseProcess], log: Path, tmp_path: Path
) -> None:
    """Its cell is not done in a minute, and goes on at its last step."""
    command = engine(PACED, "time=1", "notice=20")
    wait_for(lambda: len(first_steps(tmp_path)) == 1, log, cluster)
    wait_for(lambda: "PENDING" in cluster.states(), log, cluster)
    assert not list(tmp_path.rglob("trained.json"))
    cluster.ask("scontrol", "update", f"JobId={cluster.ask('squeue', '-h', '--array', '-o', '%i')}", "TimeLimit=10")
    (tmp_path / "go").touch()
    assert ended(command, log) == 0, children.read(log)
    assert len(list(tmp_path.rglob("trained.json"))) == 1
    first, *again = first_steps(tmp_path)
    assert first == 1
    assert again
    assert min(again) > 1
    assert cluster.states() == []


def test_two_nodes_share_a_cell(
    cluster: SlurmCluster, engine: Callable[..., BaseProcess], log: Path, tmp_path: Path
) -> None:
    """Also where Slurm tells them to end meanwhile. Names of virtual nodes cannot be looked up."""
    here = {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
    command = engine(PACED, "nodes=2", "time=10", **here)
    wait_for(lambda: len(first_steps(tmp_path)) == 2, log, cluster)
    cluster.ask("scancel", "--signal=USR2", "--user", "root")
    wait_for(lambda: "PENDING" in cluster.states(), log, cluster)
    (tmp_path / "go").touch()
    assert ended(command, log) == 0, children.read(log)
    (record,) = tmp_path.rglob("trained.json")
    assert json.loads(record.read_text())["provenance"]["world"] == 2
    one, other, *again = first_steps(tmp_path)
    assert (one, other) == (1, 1)
    assert len(set(again)) == 1
    assert again[0] > 1


def test_what_is_cancelled_stays_away_and_a_lost_node_is_replaced(
    cluster: SlurmCluster, engine: Callable[..., BaseProcess], log: Path, tmp_path: Path
) -> None:
    """Two workers, a node each; four cells, two of which take their time."""
    asked = (f"{PACED},mle", "max-workers=2", "cpus=2", "time=10", "--seeds", "0,1")
    command = engine(*asked)
    wait_for(lambda: len(first_steps(tmp_path)) == 2, log, cluster)
    assert command.pid is not None
    os.kill(command.pid, signal.SIGINT)
    assert ended(command, log) == 130, children.read(log)
    assert cluster.states() == ["RUNNING", "RUNNING"]
    cluster.ask("scancel", "--user", "root")
    wait_for(lambda: not cluster.states() and not cluster.has_workers(), log, cluster)  # nobody is left to send it back
    assert cluster.states("CANCELLED") == ["CANCELLED", "CANCELLED"]
    command = engine(*asked)
    wait_for(lambda: len(first_steps(tmp_path)) == 4, log, cluster)
    assert min(first_steps(tmp_path)[2:]) > 1, "cancelled workers have kept what they had"
    cluster.lose("n2")
    (tmp_path / "go").touch()
    assert ended(command, log) == 0, children.read(log)
    assert "cells were done: submits what is missing" in children.read(log)
    assert len(list(tmp_path.rglob("trained.json"))) == 4
    assert len(first_steps(tmp_path)) == 5, "the worker of the other node has done both"
