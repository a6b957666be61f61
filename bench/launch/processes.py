"""Processes: the processes that work on a run. They print into logs, and end with the process that started them.

Each is a copy of a fork server, which has imported what runs need. Several processes of one run, the ranks, find each
other by the variables that torchrun sets; when one fails, the others are ended. In the scratch folder of the run there
are for each rank `process.<rank>` (its id), `log.<rank>`, and `end.<rank>` (how it ended, unless it was killed).
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import connection, resource_tracker
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from bench.base.machine import end_with_parent
from bench.base.redaction import guard_process
from bench.base.registry import load
from bench.errors import BenchError
from bench.launch.signals import EXIT_CODES, Stopped, forget, handled

PRELOAD = "bench.launch.preload"
"""The module that the fork server imports."""
SERVER_LOST = 255
"""The exit code that `multiprocessing` gives a child whose fork server is gone; such a child is gone too."""
LOOK_S, END_S = 0.1, 30.0
"""Seconds between two looks at the processes, and that the others may take to end when one has failed."""
TAIL = 12
"""How many of the last lines of a log a message repeats."""

_STARTING = threading.Lock()


def run_processes(
    target: str,
    content: Mapping[str, Any],
    world: int,
    scratch: Path,
    threads: int,
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """Call a function in one or several processes and wait until all have ended; none is left behind.

    Args:
        target: `module:function`, called with `content` in each process; it returns plain content for JSON.
        content: plain content.
        world: number of processes.
        scratch: folder of logs and notes, which exists.
        threads: CPU threads of a process; 0 for what the environment says.
        environment: variables of the processes, in addition to those of this one.

    Returns:
        `status`: `done` (with the `result` of the first process), `stopped` (by a signal, with the exit `code`),
        `killed` or `failed` (both with the `error`).
    """
    variables = {**os.environ, **environment}
    if world > 1:
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # served until this function returns
        variables |= {
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(store.port),
            "WORLD_SIZE": str(world),
            "LOCAL_WORLD_SIZE": str(world),
            "GROUP_RANK": "0",
            "TORCHELASTIC_RUN_ID": scratch.name,
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
    processes: list[BaseProcess] = []
    try:
        with _STARTING, starting():
            for rank in range(world):
                of_rank = {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)} if world > 1 else variables
                work = (target, content, rank, scratch, threads, of_rank)
                started = fork_server().Process(target=be_process, args=work, daemon=False)
                started.start()
                processes.append(started)
        return end_of(wait_for(processes), world, scratch)
    finally:
        for process in processes:
            if process.pid is not None and process.exitcode is None:
                end_group(process.pid)
                process.kill()  # where it has not made its group yet


def wait_for(processes: Sequence[BaseProcess]) -> dict[int, int]:
    """Wait for the processes of a run; when one has ended badly, the others are asked to end, as torchrun does.

    Returns:
        The exit codes by rank, without those of processes that have not ended in time.
    """
    codes: dict[int, int] = {}
    deadline = math.inf
    while len(codes) < len(processes) and time.monotonic() < deadline:
        rest = [rank for rank in range(len(processes)) if rank not in codes]
        connection.wait([processes[rank].sentinel for rank in rest], LOOK_S)
        for rank in rest:
            code = processes[rank].exitcode
            if code is not None:
                codes[rank] = -signal.SIGKILL if code == SERVER_LOST else code
        if any(codes.values()) and deadline == math.inf:
            deadline = time.monotonic() + END_S
            for process in processes:
                process.terminate()
    return codes


def end_of(codes: Mapping[int, int], world: int, scratch: Path) -> dict[str, Any]:
    """Return how a run ended, as `run_processes` does.

    Args:
        codes: exit codes of the processes that have ended by themselves.
        world: number of processes.
        scratch: folder of their notes: one that was killed has left none.
    """
    notes = read_of_ranks(scratch, "end")
    if not any(codes.values()):
        return {"status": "done", "result": notes[0]["result"]}
    silent = [str(rank) for rank in range(world) if rank not in codes]
    rest = f"; process {', '.join(silent)} did not answer any more and was ended" if silent else ""
    for rank, code in codes.items():
        if rank not in notes and -code not in EXIT_CODES:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            error = "\n".join([f"process {rank} of {world} {how}{rest}", *log_tail(scratch, rank)])
            return {"status": "killed" if code < 0 else "failed", "error": error}
    bad = sorted((note["at"], rank) for rank, note in notes.items() if note["code"])
    if not bad:  # a signal came before it could be handled
        return {"status": "stopped", "code": EXIT_CODES[signal.Signals(-next(iter(codes.values())))]}
    rank = bad[0][1]  # what became of the others is the consequence
    code, error = notes[rank]["code"], notes[rank]["error"]
    if not error:
        return {"status": "stopped", "code": code}
    return {"status": "failed", "error": error if world == 1 else f"process {rank} of {world} failed: {error}{rest}"}


@cache
def fork_server() -> ForkServerContext:
    """Return what starts children from a server that has imported what runs need. The server uses no device."""
    resource_tracker.ensure_running()  # the server starts it otherwise, and has SIGTERM let through again
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD])
    return context


@contextmanager
def starting() -> Iterator[None]:
    """Prepare this process for the start of a child.

    Signals wait, also in the fork server that is started inside: a scheduler signals every process, and the server's
    children, which end with it, keep their state first. The script of this process is hidden, since `multiprocessing`
    would run it in the child. Workers of Dask are daemonic, and `multiprocessing` lets such processes have no children,
    which would outlive them; ours do not.
    """
    main, settings = sys.modules["__main__"], multiprocessing.current_process()._config  # type: ignore[attr-defined]
    is_daemonic = settings.get("daemon", False)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, EXIT_CODES)
    sys.modules["__main__"], settings["daemon"] = ModuleType("__main__"), False
    try:
        yield
    finally:
        sys.modules["__main__"], settings["daemon"] = main, is_daemonic
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In a process -------------------------------------------------------------------------------------------------------


def be_process(
    target: str, content: Mapping[str, Any], rank: int, scratch: Path, threads: int, environment: Mapping[str, str]
) -> NoReturn:
    """Be a process of a run, with a group of its own: do its work, note how that ended, and exit."""
    os.setsid()
    end_with_parent(os.getppid())  # the fork server, which outlives the starter while it has children
    threading.Thread(target=end_with_starter, daemon=True, name="starter").start()
    forget()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_CODES)
    os.environ.clear()
    os.environ.update(environment)
    guard_process()
    (scratch / f"process.{rank}").write_text(str(os.getpid()))
    print_to(scratch / f"log.{rank}")
    note: dict[str, Any] = {"code": 0, "error": "", "result": None}
    try:
        with handled():
            use_threads(threads)
            note["result"] = load(target)(content)
    except KeyboardInterrupt as stopped:
        note["code"] = stopped.exit_code if isinstance(stopped, Stopped) else EXIT_CODES[signal.SIGINT]
    except BaseException as error:  # also SystemExit: its code 0 would say that the work is done
        is_ours = isinstance(error, BenchError)
        note |= {"code": 1, "error": str(error) if is_ours else f"{type(error).__name__}: {error}"}
        traceback.print_exc()
    try:
        (scratch / f"end.{rank}").write_text(json.dumps({"at": time.time_ns(), **note}))
    except OSError:  # the end of the log says why
        note["code"] = 1
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(note["code"])  # threads of a process group that has lost a rank may never end


def end_with_starter() -> None:
    """Wait for the end of the process that started this one; then kill this one, and what it has started."""
    starter = multiprocessing.parent_process()
    assert starter is not None, "a child of multiprocessing has a parent"
    starter.join()
    end_group(os.getpid())


def use_threads(threads: int) -> None:
    """Compute with so many threads; 0 for what the environment says."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch

        torch.set_num_threads(threads)


def print_to(log: Path) -> None:
    """Print to a file from now on, and read nothing."""
    with open(os.devnull) as nothing, open(log, "ab") as file:
        for source, place in ((nothing, 0), (file, 1), (file, 2)):
            os.dup2(source.fileno(), place)


# What processes have left -------------------------------------------------------------------------------------------


def read_of_ranks(scratch: Path, name: str) -> dict[int, Any]:
    """Return what the processes of a run have left, by rank.

    Args:
        scratch: of the run.
        name: `process` for their ids, `end` for when (`at`, in nanoseconds) and with which `code` they ended, the
            `error` if there was one, and the `result`.
    """
    found = {}
    for path in scratch.glob(f"{name}.*"):
        with suppress(OSError, ValueError):  # it is being written or removed, or the disk is full
            found[int(path.suffix[1:])] = json.loads(path.read_bytes())
    return found


def end_processes(scratch: Path) -> None:
    """Kill the processes of a run, with what they have started."""
    for process in read_of_ranks(scratch, "process").values():
        end_group(process)


def end_group(process: int) -> None:
    """Kill the leader of a group and what it has started, such as the processes that prepare its batches."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def log_tail(scratch: Path, rank: int) -> list[str]:
    """Return the last lines that a process of a run has printed."""
    try:
        text = (scratch / f"log.{rank}").read_text(errors="replace")
    except OSError:  # there is none yet, or the folder was removed in this moment
        return []
    return text.strip().splitlines()[-TAIL:]
