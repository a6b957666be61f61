"""Processes of the two-process check forked from one that has imported everything, in place of fresh interpreters."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench.testing import ranks
from tests.e2e import children


class Forked:
    """What `bench.testing.ranks` waits for and stops."""

    def __init__(self, environment: dict[str, str], scratch: Path, log: Path) -> None:
        self.process = children.start(be_rank, environment, str(scratch), str(log))

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, timeout: float | None = None) -> None:
        if not children.ended(self.process, timeout or 0):
            raise subprocess.TimeoutExpired("rank", timeout or 0)

    def terminate(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()


def be_rank(environment: dict[str, str], scratch: str, log: str) -> None:
    """Be one of the processes; a forked one has the fork server for its parent."""
    children.enter(environment, log)
    ranks.end_with = lambda parent: None  # type: ignore[attr-defined]
    ranks.main(scratch)
    os._exit(0)
