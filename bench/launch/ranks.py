"""Ranks: several processes that do one job, started and ended by torchrun's elastic agent.

Each rank is a fresh interpreter, `python -m bench.launch.ranks JOB`, in a group of its own; it prints into the log of
its number, and ends when the process that wanted it is gone.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.own_code import load
from bench.base.parents import is_alive
from bench.base.redaction import guard_process
from bench.errors import BenchError
from bench.launch.endings import ExitReason
from bench.launch.member import use_threads
from bench.launch.processes import end_processes, end_with, note_process, print_to, processes_in
from bench.launch.signals import handled

__all__ = ["Rank", "run_ranks"]

LOOK_S, END_S = 0.1, 5.0
"""Seconds between two looks at the ranks, and that the others may go on when one has ended."""

JOB = "ranks.json"


@dataclass(frozen=True)
class Rank:
    """One of several processes.

    Args:
        number: of this process, from 0.
        world: number of processes.
        scratch: folder that all of them share.
    """

    number: int
    world: int
    scratch: Path


def run_ranks(
    target: str,
    content: Mapping[str, Any],
    world: int,
    scratch: Path,
    *,
    threads: int = 0,
    environment: Mapping[str, str] | None = None,
    seconds: float = math.inf,
) -> dict[int, int]:
    """Run a function in several processes and wait for them; the first that ends badly ends all, and none is left.

    Args:
        target: `module:function`, called with `content` and a `Rank` in each process; it may return an exit code.
        content: plain content for JSON.
        world: number of processes.
        scratch: folder of job and logs, which exists.
        threads: CPU threads of a process; 0 for what the environment says.
        environment: variables that are set in the ranks.
        seconds: that all of it may take.

    Returns:
        The exit codes of the ranks that ended badly, negative for signals, those that ended first in front.

    Raises:
        BenchError: they could not be started, or took too long.
    """
    job = {
        "target": target,
        "content": content,
        "threads": threads,
        "environment": dict(environment or {}),
        "parent": os.getpid(),
        "path": [path or os.getcwd() for path in sys.path],
    }
    (scratch / JOB).write_text(json.dumps(job))
    agent, began, first_end = Agent(world, scratch / JOB), time.monotonic(), math.inf
    ended: list[int] = []
    try:
        agent.start()
        while agent.is_alive():
            agent.join(LOOK_S)
            now = time.monotonic()
            if not ended and (ended := [rank for rank, pid in processes_in(scratch).items() if not is_alive(pid)]):
                first_end = now
            if now - first_end > END_S:  # one that is stopped or hangs; the agent would wait for half a minute
                end_processes(scratch)
            if now - began > seconds:
                raise BenchError(f"{world} processes were not done after {seconds:.0f} s")
    finally:
        deadline = time.monotonic() + END_S
        end_processes(scratch)
        while agent.is_alive() and time.monotonic() < deadline:
            agent.join(LOOK_S)
            end_processes(scratch)  # also one that has just begun
    if agent.error is not None:
        raise BenchError(
            f"{world} processes could not be started ({type(agent.error).__name__}: {agent.error})"
        ) from agent.error
    return {rank: agent.codes[rank] for rank in dict.fromkeys([*ended, *agent.codes]) if rank in agent.codes}


class Agent(threading.Thread):
    """torchrun's elastic agent, in a thread: so it leaves the handlers of signals as they are.

    Args:
        world: number of processes.
        job: the file that says what they do.
    """

    def __init__(self, world: int, job: Path) -> None:
        super().__init__(daemon=True, name="elastic-agent")
        self.world, self.job = world, job
        self.codes: dict[int, int] = {}  # of ranks that ended badly
        self.error: BaseException | None = None  # of the agent itself

    def run(self) -> None:
        """Start the ranks and wait until all have ended; when one fails, end the others."""
        from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch

        logger = logging.getLogger("torch.distributed.elastic")  # how ranks end is reason once, by us
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=self.world,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            max_restarts=0,
            monitor_interval=LOOK_S,
        )
        try:
            elastic_launch(config, sys.executable)("-m", "bench.launch.ranks", str(self.job))
        except ChildFailedError as error:
            self.codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        except BaseException as error:
            self.error = error


def main(job_file: str) -> int:
    """Be one rank; return the exit code."""
    guard_process()
    scratch = Path(job_file).parent
    number, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    note_process(scratch, number)
    print_to(scratch / f"log.{number}")
    job = json.loads(Path(job_file).read_text())
    end_with(job["parent"])
    os.environ.update(job["environment"])
    sys.path += [path for path in job["path"] if path not in sys.path]
    try:
        with handled():
            use_threads(job["threads"])
            return int(load(job["target"])(job["content"], Rank(number, world, scratch)) or 0)
    except BaseException as error:  # also SystemExit: its code 0 would say that this rank's share is done
        reason = ExitReason.of(number, error)
        if isinstance(error, BenchError):
            print(error, file=sys.stderr)
        elif reason.kind != "stopped":
            traceback.print_exception(error)
        return reason.code


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of a process group that has lost a rank may never end
