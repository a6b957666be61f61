"""`bench run --slurm` on a real Slurm of two nodes: parents first, time limit, preemption, scancel, a lost node."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.e2e import children, stores
from tests.e2e.children import Start
from tests.e2e.slurm_cluster import SlurmCluster, missing
from tests.waiting import wait_until

pytest.importorskip("submitit")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.slurm,
    pytest.mark.timeout(900),
    pytest.mark.skipif(missing() != "", reason=missing() or "it is"),
]

PACED, FROM_PACED = "tests.e2e.methods:Paced", "tests.e2e.methods:FromPaced"
STEPS = 400
"""Of a training that takes its time: more than an element takes before it is told to end."""


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
def submit(cluster: SlurmCluster, start: Start, tmp_path: Path) -> Callable[..., BaseProcess]:
    """Start `bench run --slurm` in a child."""

    def begin(methods: str, *slurm: str) -> BaseProcess:
        asked = stores.arguments(
            tmp_path / "results", "--slurm", *slurm,
            task="ambiguous_template", method=methods, sets=(f"trainer.steps={STEPS}", "execution.state_every=600"),
        )  # fmt: skip
        asked.remove("--quiet")
        return start(asked, children.hear_control_c, BED=str(tmp_path), **cluster.environment)

    return begin


def ended(command: BaseProcess, log: Path, seconds: float = 240) -> int:
    """The exit code of a command that ends in time."""
    assert children.ended(command, seconds), children.read(log)
    assert command.exitcode is not None
    return command.exitcode


def first_steps(folder: Path) -> list[int]:
    """The first step of each process that has trained what takes its time."""
    found: dict[str, int] = {}
    for line in children.read(folder / "steps").splitlines():
        process, step = line.split()
        found.setdefault(process, int(step))
    return list(found.values())


def wait_for(holds: Callable[[], bool], log: Path, folder: Path, cluster: SlurmCluster, seconds: float = 120) -> None:
    logs = "\n".join(children.read(path) for path in folder.rglob("*.out"))
    assert wait_until(holds, seconds), f"{children.read(log)}\n{logs}\n{cluster.logs()}"


def near_its_limit(cluster: SlurmCluster) -> None:
    """Let the only running element have 30 to 90 seconds left."""
    job, minutes, seconds = cluster.ask("squeue", "-h", "-t", "RUNNING", "-o", "%A:%M").split(":")
    limit = (60 * int(minutes) + int(seconds) + 30) // 60 + 1
    cluster.ask("scontrol", "update", f"JobId={job}", f"TimeLimit={limit}")


def running_on(cluster: SlurmCluster) -> str:
    """The node on which the only running element is."""
    return cluster.ask("squeue", "-h", "-t", "RUNNING", "-o", "%N")


def test_parents_first_time_limit_preemption_lost_node_scancel_and_back(
    cluster: SlurmCluster, submit: Callable[..., BaseProcess], log: Path, tmp_path: Path
) -> None:
    def wait(holds: Callable[[], bool]) -> None:
        wait_for(holds, log, tmp_path, cluster)

    def began(times: int) -> Callable[[], bool]:
        return lambda: len(first_steps(tmp_path)) == times

    methods = f"{PACED},mle,{FROM_PACED},mle.continued"
    asked = (methods, "time=10", "notice=90")
    command = submit(*asked)
    wait(began(1))
    wait(lambda: [path.parts[-3] for path in tmp_path.rglob("trained.json")] == ["mle"])
    wait(lambda: cluster.states() == ["PENDING", "PENDING", "RUNNING"])  # children wait for their parents
    near_its_limit(cluster)
    wait(lambda: "RUNNING" not in cluster.states())  # it was told ahead of its time limit
    for job in set(cluster.ask("squeue", "-h", "-o", "%F").split()):
        cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=10")
    wait(began(2))
    node = running_on(cluster)
    cluster.ask("sbatch", "-p", "urgent", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
    wait(began(3))

    children.send(command, signal.SIGINT)
    assert ended(command, log) == 130, children.read(log)
    assert cluster.states() == ["PENDING", "PENDING", "RUNNING"], "a command that is left leaves its jobs"
    command = submit(*asked)
    wait(lambda: "were submitted earlier" in children.read(log))
    cluster.lose(running_on(cluster))
    wait(began(4))
    _, after_limit, after_preemption, after_loss = first_steps(tmp_path)
    assert 1 < after_limit < after_preemption, "it saved its state ahead of its time limit, and when it was preempted"
    assert after_loss == after_preemption, "a lost node has saved nothing"

    cluster.ask("scancel", "--user", "root")
    assert ended(command, log) == 1, children.read(log)
    assert "its job ended before it was done" in children.read(log)
    wait(lambda: not cluster.has_elements())
    assert cluster.states() == [], "nothing comes back by itself"
    command = submit(methods, "time=10")
    wait(began(5))
    assert first_steps(tmp_path)[4] > after_loss
    (tmp_path / "go").touch()
    assert ended(command, log) == 0, children.read(log)
    assert len(list(tmp_path.rglob("trained.json"))) == 4
    assert began(5)(), "no child has trained its parent again"
