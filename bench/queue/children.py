"""Children: the one place where a worker starts a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["Child", "run_child"]


class Child:
    """A process that runs one cell, in a group of its own with whatever it starts.

    Args:
        process: as it was started.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal, or None while it runs."""
        return self.process.poll()

    def send(self, number: int) -> None:
        """Send it a signal; what it has started is its own affair."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """End its whole group at once."""
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run_child(job_file: Path, log_file: Path, env: Mapping[str, str]) -> Child:
    """Start a process for one cell.

    Args:
        job_file: what it does (`child.py`).
        log_file: takes what it prints.
        env: its environment.

    Raises:
        OSError: it could not be started.
    """
    command = [sys.executable, "-m", "bench.queue.child", str(job_file)]
    with open(log_file, "ab") as log:
        process = subprocess.Popen(
            command, env=dict(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    return Child(process)
