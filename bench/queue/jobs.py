"""Jobs: `bench run --jobs N`, the cells of a plan shared among N workers in this process, each with a child."""

from __future__ import annotations

import os
from collections import deque

from bench.base.files import remove_scratch
from bench.base.signals import Stopped
from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, clean
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError
from bench.queue.follower import Follower, outcome_of
from bench.queue.outcome import CellOutcome
from bench.queue.plan_file import open_queue
from bench.queue.planned import lacks_something, plan_of
from bench.queue.process_runner import ProcessRunner
from bench.queue.protocol.timing import LOCAL
from bench.queue.shares import shares_of
from bench.queue.work import drive, worker_of
from bench.store.snapshot import files_at

__all__ = ["execute_jobs"]

GRACE_S = 60.0
"""How long children may take to end after a signal: they save what they have."""
LAST_WORDS = 6
"""Lines that an error repeats of what the workers have said."""


def execute_jobs(plan: Plan, arguments: RunArguments, progress: Progress) -> Outcome:
    """Run every cell of a plan on several workers; the stored results are those of `execute`, byte for byte.

    Args:
        plan: from `make_plan`.
        arguments: jobs, devices, threads, W&B.
        progress: told what happens.

    Raises:
        UsageError: the store is only read, or there are too few GPUs.
        BenchError: no worker is left, and cells are.
        Stopped: a signal came. All children have ended then.
    """
    files_at(arguments.results_folder).check_writable()
    clean(arguments.results_folder)
    lacking = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    settled: dict[str, CellOutcome] = {}
    if lacking:
        settled = run_queue(lacking, plan, arguments, progress)
    return outcome_of(plan, settled, arguments, progress)


def run_queue(cells: list[Cell], plan: Plan, arguments: RunArguments, progress: Progress) -> dict[str, CellOutcome]:
    """Have workers do what cells lack; return what became of each, by its key in the queue. Blocked ones have none.

    Raises:
        Stopped: a signal came.
        BenchError: no worker could go on, and cells are left.
    """
    file = plan_of(cells, arguments, LOCAL)
    jobs = min(arguments.jobs, len(cells))
    shares = shares_of(jobs, arguments.devices, threads_of(plan.preset, arguments))
    said: deque[str] = deque(maxlen=LAST_WORDS)
    try:
        open_queue(file)
        follower = Follower(file, plan, progress)
        runners = [ProcessRunner(file, {**os.environ, **share}, said.append) for share in shares]
        workers = [worker_of(file, runner) for runner in runners]
        drive(workers, follower.look, GRACE_S)
        follower.read()
        progress.running({})
    finally:
        remove_scratch(file.queue)
    if number := workers[0].stop_signal:
        raise Stopped(number)
    if not follower.order.is_settled():
        raise BenchError("all workers have ended before their cells were done:\n" + "\n".join(said))
    return follower.settled
