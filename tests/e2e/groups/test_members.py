"""`bench run` as each of several processes that torchrun starts: they share every cell, and one of them prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.e2e import children, stores
from tests.e2e.faults.test_signals import asleep, kinds, trained
from tests.waiting import free_port

pytestmark = pytest.mark.ddp

OURS = "tests.e2e.methods"
WORLD = 2


def arguments(results: Path, *more: str, methods: str = f"{OURS}:Sleeps,mle") -> list[str]:
    """The run of `stores.sleepers`, or of other cells."""
    return stores.arguments(results, *more, task="ambiguous_template", method=methods)


def members(folder: Path, asked: list[str], environment: dict[str, str], **more: str) -> list[BaseProcess]:
    """Start `bench` as each process of a group; the first one has the store that the agent has otherwise."""
    group = {
        **environment,
        "TORCHELASTIC_RUN_ID": "test",
        "WORLD_SIZE": str(WORLD),
        "LOCAL_WORLD_SIZE": str(WORLD),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        **more,
    }
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(WORLD)]
    return [
        children.start(children.run_bench, asked, {**group, **rank}, str(folder / f"log.{number}"))
        for number, rank in enumerate(ranks)
    ]


def codes(processes: list[BaseProcess]) -> list[int | None]:
    """The exit codes of processes that end in time."""
    try:
        assert all(children.ended(process, 60) for process in processes)
    finally:
        for process in processes:
            children.kill(process)
    return [process.exitcode for process in processes]


def logs(folder: Path) -> list[str]:
    """What each process has printed."""
    return [children.read(folder / f"log.{rank}") for rank in range(WORLD)]


def test_they_store_what_devices_would(tmp_path: Path, environment: dict[str, str], of_two: dict[str, bytes]) -> None:
    """Only the first one prints."""
    results = tmp_path / "results"
    assert codes(members(tmp_path, arguments(results), environment)) == [0, 0], logs(tmp_path)
    assert stores.contents(results) == of_two
    first, second = logs(tmp_path)
    assert len(json.loads(first)["ok"]) == 2
    assert second == ""
    assert not (results / ".work").exists()
    assert codes(members(tmp_path, arguments(results), environment)) == [0, 0], "all is stored"


def test_a_cell_that_fails_in_one_of_them_stops_nobody(tmp_path: Path, environment: dict[str, str]) -> None:
    results = tmp_path / "results"
    asked = arguments(results, methods=f"mle,{OURS}:RaisesOnSecondRank,trime")
    assert codes(members(tmp_path, asked, environment)) == [1, 1], logs(tmp_path)
    assert trained(results) == ["mle", "trime"]
    (note,) = results.rglob("failed.json")
    said = json.loads(note.read_text())["content"]["error"]
    assert said == "process 1 of 2 failed: RuntimeError: the second step went wrong"
    assert "the second step went wrong" in logs(tmp_path)[1]


@pytest.mark.parametrize(
    ("who", "number", "code"),
    [(1, signal.SIGTERM, 143), pytest.param(0, signal.SIGUSR1, 75, marks=pytest.mark.slow)],
)
def test_a_signal_to_one_stops_all(
    tmp_path: Path,
    environment: dict[str, str],
    of_two: dict[str, bytes],
    who: int,
    number: signal.Signals,
    code: int,
) -> None:
    results = tmp_path / "results"
    processes = members(tmp_path, arguments(results), environment, SLEEPS="0,1", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "0,1")[who], number)
    (tmp_path / "go").touch()
    assert codes(processes) == [code, code], logs(tmp_path)
    assert kinds(results) == {"step"}
    assert logs(tmp_path)[0].endswith(f"bench: stopped by {number.name}; run the same command again to go on\n")
    assert codes(members(tmp_path, arguments(results), environment)) == [0, 0], logs(tmp_path)
    assert stores.contents(results) == of_two


@pytest.mark.slow
def test_little_memory(tmp_path: Path, environment: dict[str, str]) -> None:
    results = tmp_path / "results"
    asked = arguments(results, methods=f"{OURS}:Large")
    assert codes(members(tmp_path, asked, environment, FITS="1")) == [0, 0], logs(tmp_path)
    (record,) = results.rglob("trained.json")
    provenance = json.loads(record.read_text())["provenance"]
    assert (provenance["world"], provenance["accumulate"], provenance["out_of_memory"]) == (2, 2, True)


@pytest.mark.parametrize(("more", "code"), [(["--jobs", "2"], 2), (["--dry-run"], 0), (["--method", "mel"], 2)])
def test_all_end_as_the_first(tmp_path: Path, environment: dict[str, str], more: list[str], code: int) -> None:
    asked = arguments(tmp_path / "results", *more)
    assert codes(members(tmp_path, asked, environment)) == [code, code], logs(tmp_path)


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
