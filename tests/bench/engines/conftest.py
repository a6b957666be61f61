"""A cluster of processes: the programs of Slurm and the worker are stand-ins, the rest is what `bench run` does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import bench.engines.follow
import bench.engines.run
import bench.queue.follower
from bench.queue.protocol.timing import Timing
from tests.bench.engines import fake_slurm
from tests.conftest import Ended, call
from tests.waiting import wait_until

QUICK = Timing(beat_s=0.2, ttl_s=5.0, reread_s=0.02, poll_s=0.05)


@dataclass(frozen=True)
class Cluster:
    """A stand-in for a cluster.

    Args:
        folder: of its state.
        call: runs `bench` in this process.
        results: of its runs.
    """

    folder: Path
    call: Callable[..., Ended]
    results: Path

    def run(self, *more: str, seeds: str = "0,1,2,3") -> Ended:
        """Run four cells on two workers."""
        return self.call(
            *("run", "--task", "ambiguous_template", "--method", "mle", "--seeds", seeds, "--preset", "small"),
            *("--limit", "4", "--results", str(self.results), "--json", "--slurm", "max-workers=2"),
            *more,
        )

    @property
    def submitted(self) -> list[str]:
        """The scripts that were submitted."""
        return text_of(self.folder / "submitted").splitlines()

    @property
    def name(self) -> str:
        """Of the last job."""
        return "bench-" + Path(self.submitted[-1]).parent.name.removeprefix("queue-")

    def states(self) -> list[str]:
        """Those of the tasks of the last job."""
        return [task["state"] for task in fake_slurm.tasks(name=self.name).values()] if self.submitted else []

    def restarts(self) -> list[int]:
        """How often each task of the last job was started again."""
        return [task["restarts"] for task in fake_slurm.tasks(name=self.name).values()]

    @property
    def hold(self) -> Path:
        """While it is there, no cell ends."""
        return self.folder / "hold"

    def at_work(self) -> bool:
        """Whether both workers of the last job are in a cell."""
        logs = [Path(self.submitted[-1]).with_name(f"slurm-{task}.log") for task in range(2)]
        return all("runs " in text_of(log) for log in logs)

    def wait_for_end(self) -> None:
        """Wait until no task is left."""
        assert wait_until(lambda: not self.states(), 10)


def text_of(path: Path) -> str:
    """The text of a file, none where it is not there."""
    return path.read_text() if path.exists() else ""


def outcome(ended: Ended) -> dict[str, object]:
    """What a run says of its cells."""
    found: dict[str, object] = json.loads(ended.out)
    return found


@pytest.fixture
def cluster(sample_data: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    folder = tmp_path / "slurm's $HOME"
    for name, value in fake_slurm.install(folder, os.environ["PATH"]).items():
        monkeypatch.setenv(name, value)
    worker = folder / "worker"
    stand_in = Path(__file__).with_name("stand_in.py")
    worker.write_text(f'#!/bin/sh\nexec {sys.executable} {stand_in} "$@"\n')
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    monkeypatch.setattr(bench.engines.run, "SHARED", QUICK)
    monkeypatch.setattr(bench.queue.follower, "LOOK_S", 0.02)
    for name, seconds in (("TICK_S", 0.01), ("SHORTEST_S", 0.05), ("LONGEST_S", 0.1)):
        monkeypatch.setattr(bench.engines.follow, name, seconds)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    yield Cluster(folder, call, tmp_path / "results %a 'odd' \"folder\" $x")
    signal.signal(signal.SIGINT, before)
    for path in folder.glob("*_*.json"):
        task = json.loads(path.read_text())
        path.unlink()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(task["shell"], signal.SIGKILL)
