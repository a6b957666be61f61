"""Work: one worker process, from its plan file to its exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bench.base.own_code import make_current_folder_importable
from bench.errors import UsageError
from bench.queue.outcome import last_outcome
from bench.queue.plan_file import PlanFile, open_queue, read_plan
from bench.queue.process_runner import ProcessRunner
from bench.queue.protocol.beat import BeatThread
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.view import State
from bench.queue.protocol.worker import Worker

__all__ = ["is_trained", "work"]

AGAIN, INTERRUPTED = 75, 130
"""Exit codes: told to end by SIGTERM or SIGUSR2 (try again), and by SIGINT."""
SLICE_S = 0.1
"""A sleep is cut into slices, so that a signal is answered soon: its handler only sets a flag."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2)


def work(file: Path) -> int:
    """Claim and run cells of a plan until none is left; return the exit code.

    0 when all cells of the plan are done, 1 when some failed or this worker cannot run them, 75 after SIGTERM or
    SIGUSR2, 130 after SIGINT: then the cell it had was told to end and is returned for others.

    Raises:
        UsageError: the file is no plan, or the folder it was made in is not here.
        StoreError: the queue cannot be made.
    """
    plan = read_plan(file)
    if not Path(plan.folder).is_dir():
        raise UsageError(f"the plan was made in '{plan.folder}', which is not here: its relative paths start there")
    os.chdir(plan.folder)
    make_current_folder_importable()
    queue = open_queue(plan)
    worker = Worker(plan.jobs, DiskFiles(queue), ProcessRunner(plan), plan.timing, is_trained, time.monotonic)
    with stopped_by_signals(worker), BeatThread(worker.beat):
        try:
            while (pause := worker.tick()) is not None:
                sleep(pause, worker)
        finally:
            if worker.child is not None:
                worker.child.kill()
    return exit_code(worker, plan)


def sleep(seconds: float, worker: Worker) -> None:
    """Sleep, and wake up soon after a signal."""
    deadline = time.monotonic() + seconds
    was_told = worker.stop_signal is not None
    while (left := deadline - time.monotonic()) > 0 and (was_told or worker.stop_signal is None):
        time.sleep(min(left, SLICE_S))


def exit_code(worker: Worker, plan: PlanFile) -> int:
    """Return the exit code of a worker that has ended."""
    if worker.stop_signal == signal.SIGINT:
        return INTERRUPTED
    if worker.stop_signal is not None:
        return AGAIN
    if worker.has_refused:
        print("bench: this worker's code or data are not those of the plan; make a new plan here", file=sys.stderr)
        return 1
    for job in plan.jobs:
        if worker.order.state(job.key) is not State.DONE:
            return 1
        outcome = last_outcome(plan.queue, job.key)
        if outcome is not None and outcome.status == "diverged":
            return 1
    return 0


def is_trained(job: Job) -> bool:
    """Return whether the cell of a job is trained in the store."""
    return (Path(job.folder) / "trained.json").exists()


@contextmanager
def stopped_by_signals(worker: Worker) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGUSR2 tell a worker to end; afterwards the handlers are as they were."""

    def tell(number: int, frame: FrameType | None) -> None:
        worker.stop(number)  # plain assignments: a lock in a handler can wait for ever

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, tell)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
