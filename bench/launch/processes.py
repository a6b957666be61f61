"""Processes: how children are started from a fork server, print into logs, and end with whoever wanted them.

The processes of a run note their ids in its scratch folder: `process.<rank>`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType

from bench.base.parents import end_with_parent
from bench.launch.signals import EXIT_CODES, forget

__all__ = [
    "end_processes",
    "end_with",
    "log_tail",
    "note_process",
    "print_to",
    "processes_in",
    "run_child",
    "tell_processes",
]

PRELOAD = "bench.launch.preload"
"""What the fork server imports."""
SERVER_LOST = 255
"""The exit code that `multiprocessing` gives a child whose fork server is gone; such a child is gone too."""
TAIL = 12
"""Last lines of a log that a message repeats."""

_STARTING = threading.Lock()


def run_child(target: Callable[[str], int], job: Path, variables: Mapping[str, str]) -> int:
    """Run a function in a process of its own to its end; return the exit code, negative for a signal.

    The process is a copy of a fork server, which has imported what runs need. A process that may have no children by
    `multiprocessing`, as the workers of some executors, starts a fresh interpreter in its place.

    Args:
        target: a function of a module that can be run by `python -m`, called with the path of the job file.
        job: the file that says what is done; `log.0` beside it takes what the process prints.
        variables: of its environment, beside those of this process.

    Raises:
        OSError: it could not be started.
    """
    environment = {**os.environ, **variables}
    if multiprocessing.current_process().daemon:
        command = [sys.executable, "-m", target.__module__, str(job), str(os.getpid())]
        return subprocess.run(command, env=environment, start_new_session=True, check=False).returncode
    process = fork_server().Process(target=be_child, args=(target, str(job), environment))
    try:
        with _STARTING, without_main(), signals_wait():
            process.start()
    except EOFError as error:  # the fork server was killed at this moment; the next one is made anew
        raise OSError("the process that starts others is gone") from error
    process.join()
    assert process.exitcode is not None
    return -signal.SIGKILL if process.exitcode == SERVER_LOST else process.exitcode


@cache
def fork_server() -> ForkServerContext:
    """Return what starts children from a server that has imported what runs need. The server uses no device."""
    with signals_wait():
        resource_tracker.ensure_running()  # the server starts it otherwise, and has SIGTERM let through again
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD])
    return context


def be_child(target: Callable[[str], int], job: str, environment: Mapping[str, str]) -> None:
    """Be the child: a group of its own, the environment it was given, no handlers of the process it is a copy of."""
    os.setsid()
    starter = multiprocessing.parent_process()
    assert starter is not None, "a child of multiprocessing has a parent"
    end_with_parent(os.getppid())  # the fork server, which outlives the starter while it has children
    end_group_after(starter.join)
    forget()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_CODES)
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(target(job))


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


def note_process(scratch: Path, rank: int) -> None:
    """Note the id of this process in the scratch folder of its run."""
    (scratch / f"process.{rank}").write_text(str(os.getpid()))


def processes_in(scratch: Path) -> dict[int, int]:
    """Return the processes of a run that have begun, by rank."""
    found = {}
    for path in scratch.glob("process.*"):
        with suppress(OSError, ValueError):  # it is being written, or removed
            found[int(path.suffix[1:])] = int(path.read_text())
    return found


def tell_processes(scratch: Path, number: int, told: set[int]) -> None:
    """Send a signal to the processes of a run that are not among those that were told; add them."""
    for process in set(processes_in(scratch).values()) - told:
        told.add(process)
        with suppress(ProcessLookupError):
            os.kill(process, number)


def end_processes(scratch: Path) -> None:
    """Kill the processes of a run, with what they have started."""
    for process in processes_in(scratch).values():
        end_group(process)


def print_to(log: Path) -> None:
    """Print to a file from now on, and read nothing."""
    null = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, place in ((null, 0), (file, 1), (file, 2)):
        os.dup2(source, place)
    os.close(null)
    os.close(file)


def log_tail(scratch: Path, rank: int) -> list[str]:
    """Return the last lines that a process of a run printed."""
    path = scratch / f"log.{rank}"
    if not path.exists():
        return []
    return path.read_text(errors="replace").strip().splitlines()[-TAIL:]


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
