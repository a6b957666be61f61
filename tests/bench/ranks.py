"""Processes of the two-process check forked from one that has imported everything, in place of fresh interpreters."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from bench.launch import processes
from tests.e2e import children


class Forked:
    """What the elastic agent waits for and stops."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = children.start(be_rank, command[-1], dict(environment))
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        if not children.ended(self.process, timeout or 0):
            raise subprocess.TimeoutExpired("rank", timeout or 0)


def be_rank(job: str, environment: dict[str, str]) -> None:
    """Be one of the processes; a forked one has the fork server for its parent."""
    children.enter(environment, os.devnull)
    processes.end_with_parent = lambda parent: None  # type: ignore[attr-defined]
    processes.be_process(job, int(environment["RANK"]), int(environment["WORLD_SIZE"]))
