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
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from bench.base.cores import cores
from bench.base.files import scratch_path
from bench.cells.cell import Cell
from bench.cells.job import content_of
from bench.cells.loggers.logs import logs_of
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, attempt, check_needed, fail, lacks_something, prepare
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
    prepare(arguments.results_folder)
    numbers = [number for number, cell in enumerate(plan.cells) if lacks_something(cell, arguments.metrics)]
    if not numbers:
        return collected(plan, {}, arguments, progress)
    if executor is not None:
        jobs = Jobs(plan, numbers, arguments, progress, executor, len(numbers), is_here=False)
        jobs.run()
        return collected(plan, jobs.settled, arguments, progress)
    at_once = min(int(arguments.jobs), len(numbers))
    slots = Slots(shares_of(at_once, arguments.devices))
    jobs = Jobs(plan, numbers, arguments, progress, slots, at_once, is_here=True)
    try:
        jobs.run()
    finally:
        jobs.end()
        slots.pool.shutdown()
    return collected(plan, jobs.settled, arguments, progress)


@dataclass
class Running:
    """A run that was submitted.

    Args:
        index: of the run in the schedule.
        future: of what becomes of it.
        scratch: its folder.
        told: its processes that a signal was passed on to.
    """

    index: int
    future: Any
    scratch: Path
    told: set[int]


class Jobs:
    """The runs of a plan that lack something, from their submission to what became of them.

    Args:
        plan: the plan.
        numbers: positions of these runs in it.
        arguments: of the command.
        progress: told what happens.
        executor: takes them.
        at_once: runs that are submitted before others have ended.
        is_here: whether they are processes of this machine, which signals are passed on to.
    """

    def __init__(
        self,
        plan: Plan,
        numbers: Sequence[int],
        arguments: RunArguments,
        progress: Progress,
        executor: Submits,
        at_once: int,
        *,
        is_here: bool,
    ) -> None:
        self.plan, self.numbers, self.arguments, self.progress = plan, numbers, arguments, progress
        self.executor, self.at_once, self.is_here = executor, at_once, is_here
        self.schedule = Schedule([plan.cells[number] for number in numbers])
        self.running: list[Running] = []
        self.begun, self.killed = Counter[int](), Counter[int]()
        self.locked: set[int] = set()  # runs that people know to be locked by others
        self.outcome = Outcome()  # which runs have failed, for controls that read the same folder
        self.settled: dict[int, dict[str, Any]] = {}  # what became of runs, by their position in the plan
        self.stopping = 0  # the signal that came
        self.shown = -math.inf

    def run(self) -> None:
        """Submit runs until all are settled.

        Raises:
            Stopped: a signal came to this process, or to that of a run on this machine.
        """
        deadline = math.inf
        with between_steps():
            while self.running or not (self.schedule.is_done or self.stopping):
                while not self.stopping and len(self.running) < self.at_once and self.submit_next():
                    pass
                if not self.take_ended():
                    time.sleep(LOOK_S)
                self.stopping = asked_to_stop() or self.stopping
                if self.stopping:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
                    for running in self.running:
                        tell_processes(running.scratch, self.stopping, running.told)
                    if not self.is_here or time.monotonic() > deadline:
                        break
                self.show()
        if self.stopping:
            raise Stopped(self.stopping)
        self.progress.cells(len(self.settled), len(self.numbers), {})

    def end(self) -> None:
        """End the processes of runs that have not ended, as after an error."""
        while self.running:
            for running in self.running:
                end_processes(running.scratch)
            self.running = [running for running in self.running if not running.future.done()]
            time.sleep(LOOK_S)

    def submit_next(self) -> bool:
        """Submit the next run; return False where none may begin now."""
        index = self.schedule.next()
        if index is None:
            return False
        cell = self.plan.cells[self.numbers[index]]
        try:
            check_needed(cell, self.outcome)
        except BlockedError:  # it fails when the outcomes are collected
            self.schedule.settle(index)
            return True
        self.begun[index] += 1
        name = f"{cell.key}-{index}-{self.begun[index]}"
        scratch = scratch_path(self.arguments.results_folder.absolute(), name)
        future = self.executor.submit(execute_in_process, self.job(cell, scratch))
        self.running.append(Running(index, future, scratch, set()))
        return True

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
            "broken": self.outcome.broken.get(cell.folder.path, ""),
            "folder": str(Path.cwd()),
            "path": [path or str(Path.cwd()) for path in sys.path],
            "scratch": str(scratch),
        }

    def take_ended(self) -> bool:
        """Take what became of runs that have ended; return whether there were any."""
        ended = [running for running in self.running if running.future.done()]
        for running in ended:
            self.running.remove(running)
            self.take(running.index, result_of(running.future))
        return bool(ended)

    def take(self, index: int, found: dict[str, Any]) -> None:
        """Take what became of a run: it is settled, or it is tried again."""
        status = found["status"]
        if status == "stopped" and self.is_here:
            signals = [number for number, code in EXIT_CODES.items() if code == found["code"]]
            self.stopping = self.stopping or signals[0]
        if self.stopping and status in ("stopped", "killed"):
            self.schedule.put_back(index)
        elif status == "locked":
            if index not in self.locked:
                self.progress.say(f"{self.plan.cells[self.numbers[index]].label}: {found['error']}; it waits")
            self.locked.add(index)
            self.schedule.put_back(index, AGAIN_S)
        elif status in ("stopped", "killed") and self.killed[index] + 1 < TRIES:
            self.killed[index] += 1
            self.schedule.put_back(index)
        else:
            if status in ("stopped", "killed"):
                found = {"status": "failed", "error": f"its process was killed {TRIES} times: {found.get('error', '')}"}
            self.schedule.settle(index)
            self.settled[self.numbers[index]] = found
            self.tell(self.numbers[index], found)

    def tell(self, number: int, found: Mapping[str, Any]) -> None:
        """Tell people what became of a run, and note a failure that its process could not note."""
        cell = self.plan.cells[number]
        self.progress.cell(number + 1, len(self.plan.cells), cell.label)
        for warning in found.get("warnings", ()):
            self.progress.warn(warning)
        if found["status"] != "failed":
            how = {"ok": "done", "stored": "stored already"}.get(found["status"], found["status"])
            self.progress.done(how, found["seconds"])
        elif found.get("is_noted"):
            self.progress.failed(found["error"])
            self.outcome.broken.setdefault(cell.folder.path, cell.label)
        else:
            fail(cell, BenchError(found["error"]), self.outcome, self.progress)

    def show(self) -> None:
        """Show now and then how far the runs are."""
        if time.monotonic() - self.shown < SHOW_S:
            return
        self.shown = time.monotonic()
        labels = {self.plan.cells[self.numbers[each.index]].label: read_news(each.scratch) for each in self.running}
        self.progress.cells(len(self.settled), len(self.numbers), labels)


def result_of(future: Any) -> dict[str, Any]:
    """Return what became of a run; one whose executor has lost it counts as killed."""
    try:
        found: dict[str, Any] = future.result()
    except BenchError as error:
        return {"status": "failed", "error": str(error)}
    except Exception as error:
        return {"status": "killed", "error": f"{type(error).__name__}: {error}"}
    return found


def collected(
    plan: Plan, settled: Mapping[int, dict[str, Any]], arguments: RunArguments, progress: Progress
) -> Outcome:
    """Return the outcome of a plan in its order; runs that were stored or are blocked are looked at here.

    Args:
        plan: the plan.
        settled: what became of runs, by their position.
        arguments: of the command.
        progress: told what happens.
    """
    outcome, logs = Outcome(), logs_of(arguments, progress.warn)
    for number, cell in enumerate(plan.cells):
        if number in settled:
            add(cell, settled[number], outcome)
            continue
        progress.cell(number + 1, len(plan.cells), cell.label)
        attempt(cell, arguments, progress, logs, outcome)
    outcome.loggers_off |= logs.off
    return outcome


def add(cell: Cell, found: Mapping[str, Any], outcome: Outcome) -> None:
    """Add what became of a run to an outcome."""
    lists = {"ok": outcome.ok, "stored": outcome.stored, "diverged": outcome.diverged}
    if found["status"] in lists:
        lists[found["status"]].append(cell.label)
        return
    outcome.failed[cell.label] = found["error"]
    outcome.broken.setdefault(cell.folder.path, cell.label)
    if found.get("is_missing"):
        outcome.missing.add(cell.label)
    if found.get("is_blocked"):
        outcome.blocked.add(cell.label)


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
        """Call a function in a thread."""
        return self.pool.submit(self.call, function, job)

    def call(self, function: Callable[[Mapping[str, Any]], dict[str, Any]], job: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function with a free share."""
        share = self.free.get()
        try:
            return function({**job, "environment": share})
        finally:
            self.free.put(share)


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
