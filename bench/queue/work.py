"""Work: workers in one process, from a plan file to an exit code. Each has the child of its cell beside it."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.base.own_code import make_current_folder_importable
from bench.base.signals import EXIT_CODES, told_to
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from bench.processes.member import membership, world_of
from bench.queue.helpers import GroupRunner, help_worker, leading
from bench.queue.outcome import last_outcome
from bench.queue.plan_file import PlanFile, open_queue, read_plan
from bench.queue.process_runner import ProcessRunner
from bench.queue.protocol.beat import BeatThread
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.view import State
from bench.queue.protocol.worker import Worker

__all__ = ["drive", "is_trained", "work", "worker_of"]

SLICE_S = 0.1
"""The longest sleep, so that a signal is answered soon: its handler only sets a flag."""


LOGGED = "logged"
"""The file in a queue's folder that says that a worker logs the board of the plan."""


def work(file: Path, log_board: Callable[[PlanFile], None] | None = None) -> int:
    """Claim and run cells of a plan until none is left; return the exit code.

    As one of several processes that srun or torchrun has started, this one is the worker or helps it.

    0 when all cells of the plan are done, 1 when some failed or this worker cannot run them, 75 after SIGTERM, SIGUSR1
    or SIGUSR2, 130 after SIGINT: then the cell it had was told to end and is returned for others.

    Args:
        file: the plan file.
        log_board: called by one of the workers of a plan with loggers, once all of its cells are settled; None where
            whoever started the workers logs the board.

    Raises:
        UsageError: the file is no plan, the folder it was made in is not here, or its cells are to be shared and there
            is one process.
        StoreError: the queue cannot be made.
    """
    plan = read_plan(file)
    arguments = RunArguments.from_dict(plan.arguments)
    arguments.check_world(world_of(arguments.devices))
    if not Path(plan.folder).is_dir():
        raise UsageError(f"the plan was made in '{plan.folder}', which is not here: its relative paths start there")
    os.chdir(plan.folder)
    make_current_folder_importable()
    open_queue(plan)
    member = membership()
    if member is not None and member.rank:
        return help_worker(plan, member)
    if member is None:
        worker = worker_of(plan, ProcessRunner(plan))
        drive([worker])
        code = exit_code(worker, plan)
    else:
        runner = GroupRunner(plan, member)
        worker = worker_of(plan, runner)
        with leading(runner) as end:
            drive([worker])
            code = end.code = exit_code(worker, plan)
    if log_board is not None and has_board(worker, plan, arguments) and is_first_to_log(plan):
        log_board(plan)
    return code


def has_board(worker: Worker, plan: PlanFile, arguments: RunArguments) -> bool:
    """Return whether a plan has cells and loggers, and nothing is left to do."""
    return bool(plan.jobs and arguments.loggers) and worker.order.is_settled()


def is_first_to_log(plan: PlanFile) -> bool:
    """Return whether no other worker has begun to log the board of a plan, and note that this one does."""
    try:
        (plan.queue / LOGGED).touch(exist_ok=False)
    except OSError:  # another has, or the disk refuses: the cells are done all the same
        return False
    return True


def worker_of(plan: PlanFile, runner: ProcessRunner) -> Worker:
    """Return a worker of a plan, whose queue is there."""
    return Worker(plan.jobs, DiskFiles(plan.queue), runner, plan.timing, is_trained, time.monotonic)


def drive(workers: Sequence[Worker], on_look: Callable[[], None] = lambda: None, grace_s: float = math.inf) -> None:
    """Let workers work until all have ended; a signal tells them to end. No child is left behind.

    Args:
        workers: of one plan, in turn.
        on_look: called every moment while they work.
        grace_s: seconds that children may take to end after a signal; then they are ended.
    """
    due = dict.fromkeys(workers, 0.0)  # when each is to do its next step
    told: list[float] = []  # when signals came

    def tell(number: int) -> None:
        for worker in workers:
            worker.stop(number)
        told.append(time.monotonic())

    with ExitStack() as stack:
        stack.enter_context(told_to(tell))
        for worker in workers:
            stack.enter_context(BeatThread(worker.beat))
            stack.callback(end_child, worker)
        answered = 0
        while due:
            if told and time.monotonic() - told[0] > grace_s:
                for worker in due:
                    worker.in_haste = True
            at_once, answered = len(told) > answered, len(told)
            for worker, at in list(due.items()):
                if at_once or at <= time.monotonic():
                    pause = worker.tick()
                    due[worker] = time.monotonic() + (pause or 0.0)
                    if pause is None:
                        del due[worker]
            on_look()
            left = min(due.values(), default=0.0) - time.monotonic()
            time.sleep(max(0.0, min(left, SLICE_S)))


def end_child(worker: Worker) -> None:
    """End the child of a worker that has not ended, as when it raises."""
    if worker.child is not None:
        worker.child.kill()


def exit_code(worker: Worker, plan: PlanFile) -> int:
    """Return the exit code of a worker that has ended."""
    if worker.stop_signal == signal.SIGINT:
        return EXIT_CODES[signal.SIGINT]
    if worker.stop_signal is not None:  # also SIGTERM: an engine that takes a worker away should start it again
        return EXIT_CODES[signal.SIGUSR2]
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
