"""Children: the one place where a worker starts a process for a cell.

A fork server has imported what cells need, once; a child is a copy of it and starts in milliseconds where a fresh
interpreter takes seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

__all__ = ["Child", "run_child"]

PRELOAD = "bench.queue.preload"
"""What the fork server imports."""


class Child:
    """A process that runs one cell, in a group of its own with whatever it starts.

    Args:
        process: as it was started.
    """

    def __init__(self, process: BaseProcess) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        """Its number."""
        assert self.process.pid is not None
        return self.process.pid

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal, or None while it runs."""
        return self.process.exitcode

    def send(self, number: int) -> None:
        """Send it a signal; what it has started is its own affair."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End its whole group at once."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with suppress(ProcessLookupError, PermissionError):  # no group of its own yet, or none left
                os.killpg(self.pid, signal.SIGKILL)
        self.process.join()


@cache
def fork_server() -> ForkServerContext:
    """Return what starts children from a server that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD])
    return context


def run_child(job_file: Path, log_file: Path, env: Mapping[str, str]) -> Child:
    """Start a process for one cell.

    Args:
        job_file: what it does (`child.py`).
        log_file: takes what it prints.
        env: its environment; that of the fork server is what this process had when it started its first child.

    Raises:
        OSError: it could not be started.
    """
    process = fork_server().Process(target=be_child, args=(job_file, log_file, dict(env)), daemon=False)
    process.start()
    return Child(process)


def be_child(job_file: Path, log_file: Path, env: Mapping[str, str]) -> None:
    """Be the child: a group of its own, prints in the log, the environment it was given."""
    os.setsid()
    log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    null = os.open(os.devnull, os.O_RDONLY)
    for number, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(number, target)
    os.environ.clear()
    os.environ.update(env)
    from bench.base.outward import guard_process
    from bench.queue.child import main

    guard_process()
    sys.exit(main(job_file))
