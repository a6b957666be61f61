"""Process: how every process of ours is started, told to stop, ended and waited for.

A child runs one function in a group of its own. It is a copy of a fork server, which has imported what children need
once: a child starts in milliseconds where a fresh interpreter takes seconds. Ranks are started by torchrun's agent
(`group.py`); they are ended, and end with their parent, by the functions here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import TextIO

from bench.base.outward import guard_process
from bench.base.parents import end_with_parent
from bench.base.signals import EXIT_CODES, forget

__all__ = ["Child", "ToolEnded", "end_group", "end_with", "print_to", "run_program", "run_tool", "start_child"]

SERVER_LOST = 255
"""The exit code that `multiprocessing` gives a child whose fork server is gone; such a child is gone too."""

REAP_S = 10.0
"""How long to wait for a child that was killed: one that waits for a disk may take longer, and is left alone."""


class Child:
    """A process that runs one function, in a group of its own with whatever it starts.

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
        code = self.process.exitcode
        if code == SERVER_LOST:
            return -signal.SIGKILL
        return code

    def stop(self, number: int) -> None:
        """Send it a signal; what it has started is its own affair."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End its whole group at once, and wait for it."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)  # it may have no group of its own yet
            end_group(self.pid)
        self.process.join(REAP_S)


@cache
def fork_server(preload: str) -> ForkServerContext:
    """Return what starts children from a server that has imported a module."""
    with signals_wait():
        resource_tracker.ensure_running()  # the server starts it otherwise, and has SIGTERM let through again
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


def start_child(
    target: Callable[..., int], arguments: Sequence[object], log: Path, environment: Mapping[str, str], preload: str
) -> Child:
    """Start a process that runs a function and ends with the code that it returns; it ends when this process does.

    Args:
        target: a function of a module.
        arguments: of the function; plain values.
        log: takes what it prints.
        environment: all its variables. The fork server has those of its first child.
        preload: the module that the fork server has imported; the same one for all children of this process.

    Raises:
        OSError: it could not be started.
    """
    process = fork_server(preload).Process(target=be_child, args=(target, arguments, log, dict(environment)))
    try:
        with environment_of(environment), without_main(), signals_wait():
            process.start()
    except EOFError as error:  # the fork server was killed at this moment; the next one is made anew
        raise OSError("the process that starts others is gone") from error
    return Child(process)


def be_child(
    target: Callable[..., int], arguments: Sequence[object], log: Path, environment: Mapping[str, str]
) -> None:
    """Be the child: a group of its own, prints in the log, the environment it was given."""
    os.setsid()
    end_with_starter()
    forget()  # the process this one is a copy of has handlers of its own
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_CODES)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    print_to(log)
    os.environ.clear()
    os.environ.update(environment)
    guard_process()
    sys.exit(target(*arguments))


def end_with_starter() -> None:
    """End, with all processes of this one's group, when the process that wanted this one is gone.

    That is not the parent: the fork server is, and it stays as long as it has children.
    """
    starter = multiprocessing.parent_process()
    assert starter is not None, "a child of multiprocessing has a parent"
    end_with_parent(os.getppid())
    end_group_after(starter.join)


def end_with(parent: int) -> None:
    """End, with all processes of this one's group, when the parent is gone: nobody would collect what they make."""
    end_with_parent(parent)  # also when this process is stopped

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)

    end_group_after(wait)


def end_group_after(wait: Callable[[], object]) -> None:
    """End this process and its group when a function returns, which is called in a thread."""

    def watch() -> None:
        wait()
        end_group(os.getpid())
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()


def end_group(process: int) -> None:
    """Kill the leader of a group and what it has started, such as the processes that prepare its batches."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def print_to(log: Path) -> None:
    """Print to a file from now on."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def run_program(*words: str, output: TextIO | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a module of ours in a fresh interpreter to its end, such as `bench run`.

    Args:
        words: `-m module` is put before them.
        output: where its stdout goes; None to have stdout and stderr returned.
        variables: of its environment, beside those of this process.
    """
    command, environment = [sys.executable, "-m", *words], {**os.environ, **variables}
    if output is None:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return subprocess.run(command, stdout=output, text=True, env=environment, check=False)


@dataclass(frozen=True)
class ToolEnded:
    """How a program of the system has ended.

    Args:
        code: its exit code.
        out: what it has printed.
        err: what it has printed on stderr.
    """

    code: int
    out: str
    err: str


def run_tool(*words: str) -> ToolEnded:
    """Run a program of the system to its end, such as `sbatch`. Ctrl-C is not for it.

    Raises:
        FileNotFoundError: it is not installed.
    """
    ended = subprocess.run(words, capture_output=True, text=True, errors="replace", start_new_session=True, check=False)
    return ToolEnded(ended.returncode, ended.stdout, ended.stderr)


@contextmanager
def environment_of(variables: Mapping[str, str]) -> Iterator[None]:
    """Have other environment variables for a while: what is started inside inherits them."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Have the signals of the program wait for a while. What is started inside has them wait until it says otherwise.

    So a fork server outlives a signal that a scheduler sends to every process: its children, which end with it, keep
    their state first.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, EXIT_CODES)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_main() -> Iterator[None]:
    """Hide the script that this process runs, for a while.

    `multiprocessing` runs it in every child, for what may be defined in it. A child of ours needs nothing of it, and
    one that does not ask for its `__name__`, such as a user's that calls `bench`, would begin all over again.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
