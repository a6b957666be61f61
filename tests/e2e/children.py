"""Processes of their own for what would end the test run: kills, limits, ranks.

A fork server imports everything once, so that a child costs milliseconds where a fresh interpreter costs seconds.
"""

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
import transformers.models.bart.modeling_bart
import transformers.models.gpt2.modeling_gpt2  # noqa: F401
from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler

import bench.cells.run
import bench.cells.work
import bench.commands.report
import bench.commands.run
import bench.generation.generation
import bench.launch.child
import bench.launch.group
import bench.launch.jobs
import bench.launch.processes
import bench.metrics.overlap.table_bleu
import bench.training.training
from bench.cli import main
from bench.launch import processes, signals
from bench.store.provenance import code_state
from bench.store.store import CellFolder
from tests.disk import wait_for_no_disk
from tests.e2e.methods import sleep
from tests.e2e.tiny import Training
from tests.one_core import have_one_core

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

code_state()  # of the checkout, by git; children have it from here
wait_for_no_disk()
have_one_core()

CRASHED = 66
Run, Start = Callable[..., int], Callable[..., BaseProcess]
"""The types of the fixtures `run` and `start`."""


# Troubles: what a child does to itself before it begins ---------------------------------------------------------------

Trouble = Callable[[], None]


def together(*troubles: Trouble) -> Trouble:
    """Return several troubles as one."""
    return partial(_all, troubles)


def _all(troubles: Sequence[Trouble]) -> None:
    for trouble in troubles:
        trouble()


def crash(function: str, call: int, after: bool) -> None:
    """End the process, as a power cut would, around the n-th call of a function of `os`."""
    real, seen = getattr(os, function), 0

    def counted(*arguments: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == call and not after:
            os._exit(CRASHED)
        found = real(*arguments)
        if seen == call:
            os._exit(CRASHED)
        return found

    setattr(os, function, counted)


def have_a_rival() -> None:
    """Train other weights, and find when storing them that another run has stored the cell meanwhile."""
    real, build, seen = CellFolder.trained, bench.cells.work.build, []

    def later(folder: CellFolder) -> Any:
        seen.append(folder)
        return real(folder) if len(seen) > 2 else None  # the plan of the run and the start of the work

    def other(cell: Any) -> Any:
        objective, codec = build(cell)
        for parameter in objective.parameters():
            parameter.data += 0.01
        return objective, codec

    CellFolder.trained = later  # type: ignore[method-assign]
    bench.cells.work.build = other


class Forked:
    """A rank of a group, forked from its parent in place of a fresh interpreter, for speed."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = fork().Process(target=self.work, args=(command[-1], environment))
        self.process.start()
        self.pid = self.process.pid

    @staticmethod
    def work(job: str, environment: Mapping[str, str]) -> None:
        os.setsid()
        signals.forget()
        os.environ |= environment
        bench.launch.group.current_group.cache_clear()
        processes.be_process(job, int(environment["RANK"]), int(environment["WORLD_SIZE"]))

    def poll(self) -> int | None:
        code: int | None = self.process.exitcode
        return code

    def wait(self, timeout: float | None = None) -> None:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("rank", timeout or 0)


def fork_workers() -> None:
    """Let `--devices` fork its workers."""
    SubprocessHandler._popen = lambda _, command, environment: Forked(command, environment)  # type: ignore


def fork_jobs() -> None:
    """Let `--jobs` fork the processes of its runs, in place of a fork server that has to import first, for speed."""
    bench.launch.processes.fork_server = fork  # type: ignore[assignment]
    bench.launch.jobs.ThreadPoolExecutor = ForkingPool  # type: ignore[misc]


class ForkingPool(ThreadPoolExecutor):
    """A pool whose user waits while a thread forks: a lock that is held in that moment stays locked in the copy."""

    def submit(self, function: Any, job: Any, /) -> Any:  # type: ignore[override]
        future = super().submit(function, job)
        while not future.done() and not Path(job["scratch"], "process.0").exists():
            time.sleep(0.01)
        return future


def fork() -> Any:
    """Return what forks a child from the process that wants it."""
    return multiprocessing.get_context("fork")


def wait_in(module: str, function: str) -> None:
    """Let a function of a module wait, as `tests.e2e.methods:sleep` does, where the ranks `WAITS` call it."""
    real = getattr(importlib.import_module(module), function)

    def waiting(*given: Any, **named: Any) -> Any:
        sleep(os.environ.get("WAITS", ""))
        return real(*given, **named)

    setattr(importlib.import_module(module), function, waiting)


def hurry(seconds: int = 1, timeout: float = 1800.0) -> None:
    """Let those that wait for a process that has failed or hangs wait for some seconds only.

    Args:
        seconds: from a failure, or a signal, to the end of processes that do not end by themselves.
        timeout: of a process group.
    """
    bench.launch.jobs.GRACE_S = bench.launch.processes.END_S = seconds
    bench.training.training.GROUP_TIMEOUT_S = timeout


def hear_control_c() -> None:
    """Let SIGINT interrupt the child, also where the tests run in the background and ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def fail_to_train() -> None:
    """Let every training fail."""

    def fails(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("the training went wrong")

    bench.cells.work.train = fails


# Children -------------------------------------------------------------------------------------------------------------


def run_bench(
    arguments: Sequence[str], environment: Mapping[str, str], log: str, trouble: Trouble | None = None
) -> None:
    """Run `bench` as a session of its own, its output in a file."""
    enter(environment, log)
    if trouble is not None:
        trouble()
    sys.exit(main(arguments))


def run_rank(training: Training, rank: int, port: int, environment: Mapping[str, str], out: str) -> None:
    """Be one of several processes of a training."""
    enter(environment, f"{out}.log.{rank}")
    training.as_rank(rank, port, Path(out))


def enter(environment: Mapping[str, str], log: str) -> None:
    """Begin a child: own process group, clean environment, output to a file, one thread.

    The fork server is one for the whole process. Where a run with `--jobs` of an earlier test has started it, it and
    its children hold signals back, as the program's children know.
    """
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.EXIT_CODES)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.environ.pop("BENCH_DATA", None)
    os.environ.update(environment)
    torch.set_num_threads(1)


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a function of a module in a child."""
    child = CONTEXT.Process(target=target, args=arguments)
    child.start()
    return child


def kill(child: BaseProcess) -> None:
    """Kill a child with all it has started: no handler runs, nothing is flushed."""
    assert child.pid is not None
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to make its own group, or it has ended
        child.kill()
    child.join()


def ended(child: BaseProcess, seconds: float) -> bool:
    """Wait for a child; return whether it has ended."""
    child.join(max(0.0, seconds))
    return child.exitcode is not None


def send(child: BaseProcess, number: int) -> None:
    """Send a signal to a child alone."""
    assert child.pid is not None
    os.kill(child.pid, number)


def users(folder: Path) -> list[int]:
    """Processes that have a file of a folder open: whoever runs there prints into one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            files = [os.readlink(file) for file in (process / "fd").iterdir()]
        except OSError:  # it has ended, or belongs to somebody else
            continue
        if any(file.startswith(f"{folder}/") for file in files):
            found.append(int(process.name))
    return found


def read(path: Path) -> str:
    """The text of a log, for a message."""
    return path.read_text(errors="replace") if path.exists() else ""
