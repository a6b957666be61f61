"""Jobs: `bench run --jobs N`, the cells of a plan shared among N workers in this process, each with a child."""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

from bench.base.signals import Stopped
from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, attempt, clean, wandb_logger
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError
from bench.queue.outcome import CellOutcome, last_outcome
from bench.queue.plan_file import PlanFile, open_queue
from bench.queue.planned import job_key, lacks_something, plan_of
from bench.queue.process_runner import ProcessRunner
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.order import SETTLED, Order
from bench.queue.protocol.timing import LOCAL
from bench.queue.protocol.view import State, View
from bench.queue.shares import shares_of
from bench.queue.work import drive, is_trained, worker_of
from bench.store.kept_board import files_at

__all__ = ["execute_jobs"]

LOOK_S = 0.2
"""Between two looks at what the workers have done."""
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
    lacking = [cell for cell in plan.cells if lacks_something(cell)]
    settled: dict[str, CellOutcome] = {}
    if lacking:
        settled = run_queue(lacking, plan, arguments, progress)
    outcome, logger = Outcome(), wandb_logger(arguments, progress)
    for number, cell in enumerate(plan.cells, start=1):
        found = settled.get(job_key(cell))
        if found is not None:
            add(cell, found, outcome)
            continue
        progress.cell(number, len(plan.cells), cell.label)  # stored, or blocked by one that has failed
        attempt(cell, arguments, progress, logger, outcome)
    return outcome


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
    finally:
        shutil.rmtree(file.queue, ignore_errors=True)
        with suppress(OSError):  # another run may be using the folder, or removing it too
            file.queue.parent.rmdir()
    if number := workers[0].stop_signal:
        raise Stopped(number)
    if not follower.order.is_settled():
        raise BenchError("all workers have ended before their cells were done:\n" + "\n".join(said))
    return follower.settled


class Follower:
    """Reads what workers say and tells people.

    Args:
        file: the plan of the queue.
        plan: of the run, for the numbers of its cells.
        progress: told what happens.
    """

    def __init__(self, file: PlanFile, plan: Plan, progress: Progress) -> None:
        self.file, self.progress = file, progress
        self.numbers = {job_key(cell): number for number, cell in enumerate(plan.cells, start=1)}
        self.of = len(plan.cells)
        self.view = View(DiskFiles(file.queue), Liveness(file.timing, time.monotonic))
        self.order = Order(file.jobs, self.view, is_trained)
        self.settled: dict[str, CellOutcome] = {}
        self.looked = -LOOK_S

    def look(self) -> None:
        """Now and then, read all journals, and tell of each cell that is newly settled."""
        if time.monotonic() - self.looked < LOOK_S:
            return
        self.read()
        self.looked = time.monotonic()

    def read(self) -> None:
        """Read all journals, and tell of each cell that is newly settled."""
        self.view.refresh()
        running = 0
        for job in self.file.jobs:
            state = self.order.state(job.key)
            running += state is State.HELD
            if state in (State.DONE, State.FAILED) and job.key not in self.settled:
                found = last_outcome(self.file.queue, job.key)
                if found is not None:
                    self.settled[job.key] = found
                    self.tell(job.key, job.label, found)
        done = sum(self.order.state(job.key) in SETTLED for job in self.file.jobs)
        self.progress.cells(done, len(self.file.jobs), running)

    def tell(self, key: str, label: str, found: CellOutcome) -> None:
        """Tell people what became of a cell."""
        self.progress.cell(self.numbers[key], self.of, label)
        for warning in found.warnings:
            self.progress.warn(warning)
        if found.status == "failed":
            self.progress.failed(found.error)
            return
        how = {"ok": "done", "stored": "stored already"}.get(found.status, found.status)
        self.progress.done(how, found.seconds)


def add(cell: Cell, found: CellOutcome, outcome: Outcome) -> None:
    """Add what became of a cell to the outcome of the run."""
    if found.status == "failed":
        outcome.failed[cell.label] = found.error
        outcome.broken.setdefault(Path(cell.folder.path), cell.label)
        if found.is_missing:
            outcome.missing.add(cell.label)
        if found.is_blocked:
            outcome.blocked.add(cell.label)
    elif found.status == "diverged":
        outcome.diverged.append(cell.label)
    elif found.status == "stored":
        outcome.stored.append(cell.label)
    else:
        outcome.ok.append(cell.label)
