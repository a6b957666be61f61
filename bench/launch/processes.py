"""Processes: the processes that work on a run. They print into logs, and end with the process that started them.

A run of one process is a copy of a fork server, which has imported what runs need. Several processes, the ranks, are
fresh interpreters that torchrun's elastic agent starts: when one fails, it ends the others. In the scratch folder of
the run there are `work.json` (what they call), and for each rank `process.<rank>` (its id), `log.<rank>`, and
`end.<rank>` (how it ended, unless it was killed).
"""

import json
import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from bench.base.machine import end_with_parent, is_alive
from bench.base.registry import load
from bench.errors import BenchError
from bench.launch.signals import EXIT_CODES, Stopped, forget, handled

WORK = "work.json"
PRELOAD = "bench.launch.preload"
"""The module that the fork server imports."""
SERVER_LOST = 255
"""The exit code that `multiprocessing` gives a child whose fork server is gone; such a child is gone too."""
LOOK_S, END_S = 0.1, 5.0
"""Seconds between two looks at the ranks, and that the others may go on when one has failed."""
TAIL = 12
"""How many of the last lines of a log a message repeats."""

_STARTING = threading.Lock()


@dataclass(frozen=True)
class Rank:
    """One of the processes of a run.

    Args:
        number: of this process, from 0.
        world: number of processes.
        scratch: folder that all of them share.
    """

    number: int
    world: int
    scratch: Path


def run_processes(
    target: str,
    content: Mapping[str, Any],
    world: int,
    scratch: Path,
    threads: int,
    environment: Mapping[str, str],
) -> dict[str, Any] | None:
    """Call a function in one or several processes and wait until all have ended; none is left behind.

    Args:
        target: `module:function`, called with `content` and a `Rank` in each process.
        content: plain content for JSON.
        world: number of processes.
        scratch: folder of logs and notes, which exists.
        threads: CPU threads of a process; 0 for what the environment says.
        environment: variables of the processes, in addition to those of this one.

    Returns:
        None when all have ended well. Else `status`: `stopped` (by a signal, with the exit `code`), `killed` or
        `failed` (both with the `error`).
    """
    work = {
        "target": target,
        "content": content,
        "threads": threads,
        "environment": dict(environment),
        "parent": os.getpid(),
        "path": [path or os.getcwd() for path in sys.path],
    }
    (scratch / WORK).write_text(json.dumps(work))
    codes = run_alone(scratch) if world == 1 else run_ranks(world, scratch)
    return end_of(codes, world, scratch)


def end_of(codes: Mapping[int, int], world: int, scratch: Path) -> dict[str, Any] | None:
    """Return how a run ended, as `run_processes` does.

    Args:
        codes: exit codes of the processes that had ended when the first one had ended badly; the agent has then told
            the others to end.
        world: number of processes.
        scratch: folder of their notes: one that was killed has left none.
    """
    if not any(codes.values()):
        return None
    notes, begun = read_of_ranks(scratch, "end"), read_of_ranks(scratch, "process")
    silent = [str(rank) for rank in sorted(begun) if rank not in notes and rank not in codes]
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


# One process --------------------------------------------------------------------------------------------------------


def run_alone(scratch: Path) -> dict[int, int]:
    """Run the only process of a run to its end, as a copy of the fork server; return its exit code."""
    with _STARTING, starting():
        process = fork_server().Process(target=be_child, args=(str(scratch / WORK), dict(os.environ)), daemon=False)
        process.start()
    process.join()
    assert process.exitcode is not None
    return {0: -signal.SIGKILL if process.exitcode == SERVER_LOST else process.exitcode}


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


def be_child(work_file: str, environment: Mapping[str, str]) -> None:
    """Be the copy of the fork server: a group of its own, the environment of the starter, and no signal handlers."""
    os.setsid()
    end_with_parent(os.getppid())  # the fork server, which outlives the starter while it has children
    threading.Thread(target=end_with_starter, daemon=True, name="starter").start()
    forget()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_CODES)
    os.environ.clear()
    os.environ.update(environment)
    be_process(work_file, 0, 1)


def end_with_starter() -> None:
    """Wait for the end of the process that started this one; then kill this one, and what it has started."""
    starter = multiprocessing.parent_process()
    assert starter is not None, "a child of multiprocessing has a parent"
    starter.join()
    end_group(os.getpid())


# Several processes --------------------------------------------------------------------------------------------------


def run_ranks(world: int, scratch: Path) -> dict[int, int]:
    """Run ranks by torchrun's elastic agent; return the exit codes of those that ended badly, none for a good end."""
    with ThreadPoolExecutor(1, "elastic-agent") as pool:  # in a thread it leaves the handlers of signals as they are
        agent, failed = pool.submit(launch_ranks, world, scratch), math.inf
        try:
            while not agent.done():
                time.sleep(LOOK_S)
                if has_failed(scratch):
                    failed = min(failed, time.monotonic())
                if time.monotonic() - failed > END_S:  # others are stopped or hang
                    end_processes(scratch)
            return agent.result()
        finally:
            while not agent.done():  # a signal came
                end_processes(scratch)
                time.sleep(LOOK_S)


def has_failed(scratch: Path) -> bool:
    """Return whether a process of a run has ended with an error, or was killed."""
    notes, begun = read_of_ranks(scratch, "end"), read_of_ranks(scratch, "process")
    killed = [rank for rank, process in begun.items() if rank not in notes and not is_alive(process)]
    return bool(killed) or any(note["error"] for note in notes.values())


def launch_ranks(world: int, scratch: Path) -> dict[int, int]:
    """Call the elastic agent."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logger = logging.getLogger("torch.distributed.elastic")  # we say how ranks have ended
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=world,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        monitor_interval=LOOK_S,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "bench.launch.processes", str(scratch / WORK))
    except ChildFailedError as error:
        first = min(failure.timestamp for failure in error.failures.values())  # in whole seconds
        return {rank: end.exitcode for rank, end in error.failures.items() if end.timestamp <= first + 1}
    return {}


# In a process -------------------------------------------------------------------------------------------------------


def be_process(work_file: str, rank: int, world: int) -> NoReturn:
    """Be a process of a run: do its work, note how that ended, and exit."""
    scratch = Path(work_file).parent
    (scratch / f"process.{rank}").write_text(str(os.getpid()))
    print_to(scratch / f"log.{rank}")
    code, why = 0, ""
    try:
        with handled():
            work = json.loads(Path(work_file).read_bytes())
            os.environ.update(work["environment"])
            sys.path += [path for path in work["path"] if path not in sys.path]
            if world > 1:
                end_with_parent(work["parent"])
            use_threads(work["threads"])
            load(work["target"])(work["content"], Rank(rank, world, scratch))
    except KeyboardInterrupt as stopped:
        code = stopped.exit_code if isinstance(stopped, Stopped) else EXIT_CODES[signal.SIGINT]
    except BaseException as error:  # also SystemExit: its code 0 would say that the work is done
        code, why = 1, str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        traceback.print_exc()
    with suppress(OSError):
        (scratch / f"end.{rank}").write_text(json.dumps({"at": time.time_ns(), "code": code, "error": why}))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of a process group that has lost a rank may never end


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
        name: `process` for their ids, `end` for when (`at`, in nanoseconds), with which `code` and `error` they ended.
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


if __name__ == "__main__":
    be_process(sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
