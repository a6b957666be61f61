"""Local: the runs of a plan on several processes of this machine, or through any executor.

Each run that lacks something is submitted as `child.execute_in_process`. On this machine a pool of threads calls it,
each with its share of the GPUs; `bench.run(executor=...)` takes the same function elsewhere. Parents come before their
children, a run that another command has locked is tried again later, and one whose process was killed once more.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from bench.base.cores import cores
from bench.base.files import scratch_path
from bench.cells.cell import Cell
from bench.cells.job import content_of
from bench.cells.loggers import logs_of
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, attempt, check_needed, execute, fail, lacks_something, prepare
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError, BlockedError, UsageError
from bench.launch.child import execute_in_process, read_news
from bench.launch.processes import end_processes, tell_processes
from bench.launch.schedule import AGAIN_S, Schedule
from bench.launch.signals import EXIT_CODES, Stopped, asked_to_stop, between_steps

__all__ = ["Submits", "execute_jobs"]

LOOK_S, SHOW_S = 0.05, 1.0
"""Seconds between two looks at what has ended, and between two changes of what is shown of running runs."""
GRACE_S = 60.0
"""Seconds that processes may take to end after a signal: they save what they have."""
TRIES = 2
"""Times that a run is begun whose process is killed."""


class Submits(Protocol):
    """Whatever takes a function with an argument and returns a future, as the executors of Python and Dask do."""

    def submit(self, function: Callable[[Mapping[str, Any]], dict[str, Any]], job: Mapping[str, Any], /) -> Any:
        """Return a future, with `done()` and `result()`."""


def execute_jobs(plan: Plan, arguments: RunArguments, progress: Progress, executor: Submits | None = None) -> Outcome:
    """Execute every run of a plan; the stored results are those of `bench.cells.run.execute`, byte for byte.

    Args:
        plan: from `make_plan`.
        arguments: jobs, devices, threads, loggers.
        progress: told what happens.
        executor: takes the runs that lack something; by default as many processes of this machine as `jobs` says.

    Raises:
        UsageError: the store is only read, or there are too few GPUs.
        Stopped: a signal came. All processes of this machine have ended then.
    """
    lacking = sum(lacks_something(cell, arguments.metrics) for cell in plan.cells)
    if not lacking:
        return execute(plan, arguments, progress)
    prepare(arguments.results_folder)
    if executor is not None:
        return Jobs(plan, arguments, progress, executor, lacking, is_here=False).run()
    at_once = min(int(arguments.jobs), lacking)
    slots = Slots(shares_of(at_once, arguments.devices))
    jobs = Jobs(plan, arguments, progress, slots, at_once, is_here=True)
    try:
        return jobs.run()
    finally:
        jobs.end()
        slots.pool.shutdown()


@dataclass
class Running:
    """A run that was submitted.

    Args:
        number: its position in the plan.
        future: of what becomes of it.
        scratch: its folder.
        told: its processes that a signal was passed on to.
    """

    number: int
    future: Any
    scratch: Path
    told: set[int] = field(default_factory=set)


class Jobs:
    """The runs of a plan, from their submission to what became of them.

    Args:
        plan: the plan.
        arguments: of the command.
        progress: told what happens.
        executor: takes the runs that lack something.
        at_once: runs that are submitted before others have ended.
        is_here: whether they are processes of this machine, which signals are passed on to.
    """

    def __init__(
        self,
        plan: Plan,
        arguments: RunArguments,
        progress: Progress,
        executor: Submits,
        at_once: int,
        *,
        is_here: bool,
    ) -> None:
        self.plan, self.arguments, self.progress = plan, arguments, progress
        self.executor, self.at_once, self.is_here = executor, at_once, is_here
        self.logs = logs_of(arguments, progress.warn)
        self.schedule = Schedule(plan.cells)
        self.running: list[Running] = []
        self.begun, self.killed = Counter[int](), Counter[int]()
        self.locked: set[int] = set()  # runs that people know to be locked by others
        self.broken: dict[Path, str] = {}  # which runs have failed, for controls that read the same folder
        self.outcomes: dict[int, Outcome] = {}  # of settled runs, by their position in the plan
        self.stopping = 0  # the signal that came
        self.shown = -math.inf

    def run(self) -> Outcome:
        """Submit runs until all are settled; return what became of them.

        Raises:
            Stopped: a signal came to this process, or to that of a run on this machine.
        """
        deadline = math.inf
        with between_steps():
            while self.running or not (self.schedule.is_done or self.stopping):
                while not self.stopping and len(self.running) < self.at_once and self.begin_next():
                    pass
                for ended in [running for running in self.running if running.future.done()]:
                    self.running.remove(ended)
                    self.take(ended.number, result_of(ended.future))
                self.stopping = asked_to_stop() or self.stopping
                if self.stopping:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
                    for running in self.running:
                        tell_processes(running.scratch, self.stopping, running.told)
                    if not self.is_here or time.monotonic() > deadline:
                        break
                self.show()
                time.sleep(LOOK_S)
        if self.stopping:
            raise Stopped(self.stopping)
        self.progress.cells(len(self.outcomes), len(self.plan.cells), {})
        whole = Outcome()
        for _, outcome in sorted(self.outcomes.items()):
            whole.add(outcome)
        return whole

    def end(self) -> None:
        """End the processes of runs that have not ended, as after an error."""
        while self.running:
            for running in self.running:
                end_processes(running.scratch)
            self.running = [running for running in self.running if not running.future.done()]
            time.sleep(LOOK_S)

    def begin_next(self) -> bool:
        """Submit the next run, or look at it here where it is stored or blocked; return False where none may begin."""
        number = self.schedule.next()
        if number is None:
            return False
        cell = self.plan.cells[number]
        if not lacks_something(cell, self.arguments.metrics) or self.is_blocked(cell):
            self.progress.cell(number + 1, len(self.plan.cells), cell.label)
            outcome = Outcome(broken=dict(self.broken))
            attempt(cell, self.arguments, self.progress, self.logs, outcome)
            outcome.loggers_off |= self.logs.off
            self.settle(number, outcome)
            return True
        self.begun[number] += 1
        name = f"{cell.key}-{number}-{self.begun[number]}"
        scratch = scratch_path(self.arguments.results_folder.absolute(), name)
        self.running.append(Running(number, self.executor.submit(execute_in_process, self.job(cell, scratch)), scratch))
        return True

    def is_blocked(self, cell: Cell) -> bool:
        """Return whether a run that it needs has failed, so that no process is begun for it."""
        try:
            check_needed(cell, Outcome(broken=self.broken))
        except BlockedError:
            return True
        return False

    def job(self, cell: Cell, scratch: Path) -> dict[str, Any]:
        """Return what `execute_in_process` is to do."""
        processes = 1 if cell.method.is_baseline else self.arguments.devices
        threads = threads_of(self.plan.preset, self.arguments)
        if self.is_here:
            threads = threads or max(1, cores() // (self.at_once * processes))
        return {
            "cell": content_of(cell),
            "arguments": self.arguments.as_dict(),
            "processes": processes,
            "threads": threads,
            "environment": {},
            "broken": self.broken.get(cell.folder.path, ""),
            "folder": str(Path.cwd()),
            "path": [path or str(Path.cwd()) for path in sys.path],
            "scratch": str(scratch),
        }

    def take(self, number: int, found: dict[str, Any]) -> None:
        """Take what became of a run: it is settled, or it is tried again."""
        cell, status, error = self.plan.cells[number], found["status"], found.get("error", "")
        if status == "stopped" and self.is_here:
            self.stopping = self.stopping or next(n for n, code in EXIT_CODES.items() if code == found["code"])
        if status == "locked":
            if number not in self.locked:
                self.progress.say(f"{cell.label}: {error}; it is looked at again later")
            self.locked.add(number)
            self.schedule.put_back(number, AGAIN_S)
            return
        if status in ("stopped", "killed"):
            self.killed[number] += not self.stopping
            if self.stopping or self.killed[number] < TRIES:
                self.schedule.put_back(number)
                return
            error = f"its process was killed {TRIES} times: {error}"
        self.progress.cell(number + 1, len(self.plan.cells), cell.label)
        for warning in found.get("warnings", ()):
            self.progress.warn(warning)
        outcome = Outcome()
        if status == "done":
            outcome = Outcome.of(found["outcome"])
            self.tell(outcome, found["seconds"])
        else:  # its process could not note why it failed
            fail(cell, BenchError(error), outcome, self.progress)
        self.settle(number, outcome)

    def tell(self, outcome: Outcome, seconds: float) -> None:
        """Tell people what became of a run."""
        for error in outcome.failed.values():
            self.progress.failed(error)
            return
        how = "diverged" if outcome.diverged else "stored already" if outcome.stored else "done"
        self.progress.done(how, seconds)

    def settle(self, number: int, outcome: Outcome) -> None:
        """Keep what became of a run."""
        cell = self.plan.cells[number]
        if outcome.failed:
            self.broken.setdefault(cell.folder.path, cell.label)
        self.outcomes[number] = outcome
        self.schedule.settle(number)

    def show(self) -> None:
        """Show now and then how far the runs are."""
        if time.monotonic() - self.shown < SHOW_S:
            return
        self.shown = time.monotonic()
        running = {self.plan.cells[each.number].label: read_news(each.scratch) for each in self.running}
        self.progress.cells(len(self.outcomes), len(self.plan.cells), running)


def result_of(future: Any) -> dict[str, Any]:
    """Return what became of a run; one whose executor has lost it counts as killed."""
    try:
        found: dict[str, Any] = future.result()
    except BenchError as error:
        return {"status": "failed", "error": str(error)}
    except Exception as error:
        return {"status": "killed", "error": f"{type(error).__name__}: {error}"}
    return found


class Slots:
    """A pool of threads, each of whose calls has a share of the GPUs.

    Args:
        shares: the variables of each.
    """

    def __init__(self, shares: Sequence[Mapping[str, str]]) -> None:
        self.pool = ThreadPoolExecutor(len(shares), "run")
        self.free: SimpleQueue[Mapping[str, str]] = SimpleQueue()
        for share in shares:
            self.free.put(share)

    def submit(self, function: Callable[[Mapping[str, Any]], dict[str, Any]], job: Mapping[str, Any], /) -> Any:
        """Call a function in a thread, with a share that is free."""

        def call() -> dict[str, Any]:
            share = self.free.get()
            try:
                return function({**job, "environment": share})
            finally:
                self.free.put(share)

        return self.pool.submit(call)


def shares_of(jobs: int, devices: int) -> list[dict[str, str]]:
    """Return the environment of the processes of each slot: its GPUs, where there are any.

    Raises:
        UsageError: there are fewer GPUs than processes.
    """
    gpus = visible_gpus()
    if not gpus:
        return [{} for _ in range(jobs)]
    if jobs * devices > len(gpus):
        raise UsageError(
            f"--jobs {jobs} x --devices {devices} needs {jobs * devices} GPUs, and {len(gpus)} are visible; "
            f"ask for fewer"
        )
    return [{"CUDA_VISIBLE_DEVICES": ",".join(gpus[slot * devices : (slot + 1) * devices])} for slot in range(jobs)]


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that this process sees, as CUDA_VISIBLE_DEVICES has them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] or [str(number) for number in range(count)]
