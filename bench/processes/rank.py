"""Rank: one process of a group. Started as `python -m bench.processes.rank JOB` by the group's agent, not by people."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.base.outward import guard_process
from bench.base.own_code import load
from bench.base.signals import EXIT_CODES, Stopped, handled
from bench.errors import BenchError
from bench.processes.endings import ending_of, leave
from bench.processes.heartbeat import Heartbeat
from bench.processes.process import end_with, print_to


@dataclass(frozen=True)
class Rank:
    """One process of a group.

    Args:
        number: of this process, from 0.
        world: number of processes.
        scratch: folder that all of them share.
        heartbeat: told that this process goes on.
    """

    number: int
    world: int
    scratch: Path
    heartbeat: Heartbeat


def main(job_file: str) -> int:
    """Do this rank's share of a job; return the exit code."""
    guard_process()
    scratch = Path(job_file).parent
    number, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    heartbeat = Heartbeat(scratch / f"heartbeat.{number}")
    heartbeat("starting")
    print_to(scratch / f"log.{number}")
    faulthandler.register(signal.SIGQUIT, file=sys.stderr, all_threads=True)
    job = json.loads(Path(job_file).read_text())
    end_with(job["parent"])
    os.environ.update(job["environment"])
    sys.path += [path for path in job["path"] if path not in sys.path]
    error: BaseException | None = None
    try:
        with handled(), exits_fail():
            use_threads(job["threads"])
            load(job["target"])(job["content"], Rank(number, world, scratch, heartbeat))
    except BaseException as raised:
        error = raised
    for signal_number in EXIT_CODES:  # it ends anyway, and says how
        signal.signal(signal_number, signal.SIG_IGN)
    if isinstance(error, BenchError):
        print(error, file=sys.stderr)
    elif error is not None and not isinstance(error, Stopped):
        traceback.print_exception(error)
    ending = ending_of(number, error)
    leave(scratch, ending)
    heartbeat("ending")
    return ending.code


def use_threads(threads: int) -> None:
    """Compute with so many threads; 0 for what the environment says."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch

        torch.set_num_threads(threads)


@contextmanager
def exits_fail() -> Iterator[None]:
    """Fail where an objective raises SystemExit: even its code 0 would say that this rank's share is done.

    Raises:
        RuntimeError: in its place.
    """
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"SystemExit: {error}") from error


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of a process group that has lost a rank may never end
