"""`bench run` as each of several processes that torchrun starts: they share every run, and one of them prints."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler

from bench.launch.processes import launch_ranks
from tests.bench.ranks import Forked
from tests.e2e import children, stores
from tests.e2e.faults.test_signals import asleep, kinds, trained
from tests.waiting import free_port

pytestmark = pytest.mark.ddp

OURS = "tests.e2e.methods"
WORLD = 2
Torchrun = Callable[..., "Future[dict[int, int]]"]


class Member(Forked):
    """`bench` as what torchrun's agent starts, forked in place of a fresh interpreter, for speed."""

    def __init__(self, words: list[str], environment: Mapping[str, str], log: str) -> None:
        self.process = children.start(children.run_bench, words, environment, log)
        self.pid = self.process.pid


@pytest.fixture
def torchrun(tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Torchrun:
    """Start `bench` on two processes by torchrun's agent; the future has the exit codes of those that ended badly."""

    def begin(words: list[str], **more: str) -> Future[dict[int, int]]:
        def member(_: object, command: object, given: Mapping[str, str]) -> Member:
            of_agent = {name: value for name, value in given.items() if value != os.environ.get(name)}
            return Member(words, {**environment, **of_agent, **more}, str(tmp_path / f"log.{given['RANK']}"))

        monkeypatch.setattr(SubprocessHandler, "_popen", member)
        pool = ThreadPoolExecutor(1)
        future = pool.submit(launch_ranks, WORLD, tmp_path)
        pool.shutdown(wait=False)
        return future

    return begin


def arguments(results: Path, *more: str, methods: str = f"{OURS}:Sleeps,mle") -> list[str]:
    """The run of `stores.sleepers`, or of other methods."""
    return stores.arguments(results, *more, task="ambiguous_template", method=methods)


def logs(folder: Path) -> list[str]:
    """What each process has printed."""
    return [children.read(folder / f"log.{rank}") for rank in range(WORLD)]


def test_they_store_what_devices_would(tmp_path: Path, torchrun: Torchrun, of_two: dict[str, bytes]) -> None:
    """Only the first one prints."""
    results = tmp_path / "results"
    assert torchrun(arguments(results)).result(60) == {}, logs(tmp_path)
    assert stores.contents(results) == of_two
    first, second = logs(tmp_path)
    assert len(json.loads(first)["ok"]) == 2
    assert second == ""
    assert not (results / ".work").exists()
    assert torchrun(arguments(results)).result(60) == {}, "all is stored"


def test_a_run_that_fails_ends_the_processes_and_says_why(tmp_path: Path, torchrun: Torchrun) -> None:
    """What was done before stays."""
    results = tmp_path / "results"
    words = arguments(results, methods=f"mle,{OURS}:RaisesOnSecondRank,trime")
    assert set(torchrun(words).result(60)) <= {0, 1}
    assert trained(results) == ["mle"]
    failed = "process 1 of 2: RuntimeError: the second step went wrong\n"
    (line,) = [line for line in logs(tmp_path)[1].splitlines(keepends=True) if line.startswith("bench: failed: ")]
    assert line.endswith(failed), logs(tmp_path)


@pytest.mark.parametrize(
    ("who", "number", "code"),
    [(1, signal.SIGTERM, 143), pytest.param(0, signal.SIGUSR1, 75, marks=pytest.mark.slow)],
)
def test_a_signal_to_one_stops_all(
    tmp_path: Path, torchrun: Torchrun, of_two: dict[str, bytes], who: int, number: signal.Signals, code: int
) -> None:
    results = tmp_path / "results"
    codes = torchrun(arguments(results), SLEEPS="0,1", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "0,1")[who], number)
    (tmp_path / "go").touch()
    assert set(codes.result(60).values()) <= {code, 143}, logs(tmp_path)
    assert kinds(results) == {"step"}
    assert logs(tmp_path)[0].endswith("; run the same command again to go on\n")
    assert torchrun(arguments(results)).result(60) == {}, logs(tmp_path)
    assert stores.contents(results) == of_two


@pytest.mark.parametrize(("more", "code"), [(["--jobs", "2"], 2), (["--method", "mel"], 2)])
def test_what_is_refused_ends_all(tmp_path: Path, torchrun: Torchrun, more: list[str], code: int) -> None:
    assert torchrun(arguments(tmp_path / "results", *more)).result(60)[0] == code, logs(tmp_path)


def test_a_plan_ends_well(tmp_path: Path, torchrun: Torchrun) -> None:
    assert torchrun(arguments(tmp_path / "results", "--dry-run")).result(60) == {}, logs(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("agents", [1, 2])
def test_torchrun(tmp_path: Path, environment: dict[str, str], of_two: dict[str, bytes], agents: int) -> None:
    """One agent with two processes, and two agents, as on two machines, with one each."""
    results = tmp_path / "results"
    place = [f"--nnodes={agents}", f"--nproc-per-node={WORLD // agents}", "--master-addr=127.0.0.1"]
    port = f"--master-port={free_port()}"
    command = [sys.executable, "-m", "torch.distributed.run", *place, port]
    processes = []
    for agent in range(agents):
        with open(tmp_path / f"log.{agent}", "wb") as out:
            ours = [f"--node-rank={agent}", "-m", "bench", *arguments(results)]
            started = subprocess.Popen(
                [*command, *ours], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment}
            )
            processes.append(started)
    assert [process.wait(120) for process in processes] == [0] * agents, logs(tmp_path)
    assert stores.contents(results) == of_two
