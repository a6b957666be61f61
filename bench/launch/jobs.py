"""Jobs: the runs of a plan on several processes of this machine, or through any executor.

Each unfinished run is submitted as `child.execute_in_process`: on this machine to a pool of threads, each of
which has its share of the GPUs; `bench.run(executor=...)` takes the same function elsewhere. Parents come before their
children, a run that another command has locked is tried again later, and one whose process was killed once more.
"""

import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from bench.base.files import scratch_path
from bench.base.machine import cores
from bench.cells.loggers import Logs
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.record import job_of
from bench.cells.run import (
    AGAIN_S,
    Outcome,
    Schedule,
    clean,
    drop_checkpoints,
    execute,
    execute_run,
    fail,
    is_unfinished,
)
from bench.config.arguments import AUTO, RunArguments
from bench.errors import BenchError, UsageError
from bench.launch.child import execute_in_process, progress_in
from bench.launch.group import current_group
from bench.launch.processes import end_processes, read_of_ranks
from bench.launch.signals import EXIT_CODES, Stopped, between_steps, pending_signal
from bench.store.snapshot import files_at

LOOK_S, SHOW_S = 0.05, 1.0
"""Seconds between two checks which runs have ended, and between two updates of the progress."""
GRACE_S = 60.0
"""Seconds that processes may take to end after a signal: they save the state of their trainings."""
TRIES = 2
"""Times that a run is begun whose process is killed."""
LONGEST_S = 60.0
"""Longest pause in seconds before a run that is locked is submitted again to an executor: each time is one job more."""

BYTES_PER_PROCESS = 3 * 2**29
"""Memory of a process, for its libraries, its data and a small model."""
SMALL_WIDTH = 256
"""Width of the largest model that counts as small; with 12 layers its training takes a quarter of a gigabyte."""
CGROUPS = {
    "/sys/fs/cgroup/memory.max": "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "/sys/fs/cgroup/memory/memory.usage_in_bytes",
}
"""Files with the memory limit of a container, and the files with its usage."""


class Submits(Protocol):
    """An object that takes a function with its argument and returns a future, as the executors of Python and Dask."""

    def submit(self, function: Callable[[Mapping[str, Any]], dict[str, Any]], job: Mapping[str, Any], /) -> Any:
        """Return a future, with `done()` and `result()`."""


def launcher_of(plan: Plan, arguments: RunArguments, executor: Submits | None = None) -> Callable[[Progress], Outcome]:
    """Return the call that executes a plan: in this process, in others of this machine, or through an executor."""
    if executor is not None:
        return partial(execute_jobs, plan, arguments, executor=executor)
    jobs = jobs_of(plan, arguments)
    if (jobs != 1 or arguments.devices > 1) and current_group() is None:
        return partial(execute_jobs, plan, arguments, jobs=jobs)
    return partial(execute, plan, arguments)


def execute_jobs(
    plan: Plan, arguments: RunArguments, progress: Progress, executor: Submits | None = None, jobs: int = 1
) -> Outcome:
    """Execute every run of a plan; the stored results are those of `bench.cells.run.execute`, byte for byte.

    Args:
        plan: from `make_plan`.
        arguments: jobs, devices, threads, loggers.
        progress: shows what happens.
        executor: takes the unfinished runs; by default processes of this machine.
        jobs: how many runs are executed at once on this machine.

    Raises:
        UsageError: the store is only read, or there are too few GPUs.
        Stopped: a signal came. All processes of this machine have ended then.
    """
    unfinished = sum(is_unfinished(cell, arguments.metrics) for cell in plan.cells)
    if not unfinished:
        return execute(plan, arguments, progress)
    files_at(arguments.results_folder).check_writable()
    clean(arguments.results_folder)
    if executor is not None:
        outcome = Jobs(plan, arguments, progress, executor, [{}] * unfinished, is_here=False).run()
    else:
        environments = environments_of(min(jobs, unfinished), arguments.devices)
        with ThreadPoolExecutor(len(environments), "run") as pool:
            pool_jobs = Jobs(plan, arguments, progress, pool, environments, is_here=True)
            try:
                outcome = pool_jobs.run()
            finally:
                pool_jobs.end()
    drop_checkpoints(arguments, plan.cells, outcome, progress.say)
    return outcome


@dataclass(frozen=True)
class Running:
    """A run that was submitted: its position in the plan, its scratch folder, and the environment that it has."""

    number: int
    future: Any
    scratch: Path
    environment: Mapping[str, str]


class Jobs:
    """The runs of a plan, from their submission to their outcomes.

    Args:
        plan: the plan.
        arguments: of the command.
        progress: shows what happens.
        executor: takes the unfinished runs.
        environments: those of the runs that are executed at once.
        is_here: whether they are processes of this machine, which signals are passed on to.
    """

    def __init__(
        self,
        plan: Plan,
        arguments: RunArguments,
        progress: Progress,
        executor: Submits,
        environments: Sequence[Mapping[str, str]],
        *,
        is_here: bool,
    ) -> None:
        self.plan, self.arguments, self.progress, self.executor = plan, arguments, progress, executor
        self.free, self.at_once, self.is_here = list(environments), len(environments), is_here
        self.logs = Logs(arguments, progress.warn)
        self.schedule = Schedule(plan.cells)
        self.running: list[Running] = []
        self.killed = Counter[int]()  # how often the process of a run was killed
        self.locked = Counter[int]()  # how often a run was found locked by another process
        self.broken: dict[Path, str] = {}  # which runs have failed, for controls that read the same folder
        self.outcomes: dict[int, Outcome] = {}  # of the runs that are settled, by their position in the plan
        self.stopping = 0  # the signal that came
        self.signalled: set[int] = set()  # processes that it was passed on to
        self.shown = -math.inf  # when the progress was shown last

    def run(self) -> Outcome:
        """Submit runs until all are settled; return their outcome.

        Raises:
            Stopped: a signal came to this process, or to that of a run on this machine.
        """
        deadline = math.inf
        with between_steps():
            while self.running or (self.schedule.waiting and not self.stopping):
                while not self.stopping and self.free and self.begin_next():
                    pass
                for ended in [running for running in self.running if running.future.done()]:
                    self.running.remove(ended)
                    self.free.append(ended.environment)
                    self.note(ended.number, result_of(ended.future))
                self.stopping = pending_signal() or self.stopping
                if self.stopping:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
                    if not self.is_here or time.monotonic() > deadline:
                        break
                    self.pass_on(self.stopping)
                self.show()
                time.sleep(LOOK_S)
        if self.stopping:
            raise Stopped(self.stopping)
        self.progress.cells(len(self.outcomes), len(self.plan.cells), {})
        whole = Outcome()
        for _, outcome in sorted(self.outcomes.items()):
            whole.add(outcome)
        return whole

    def pass_on(self, number: int) -> None:
        """Send a signal to each process of the running runs, once."""
        for running in self.running:
            for process in set(read_of_ranks(running.scratch, "process").values()) - self.signalled:
                self.signalled.add(process)
                with suppress(ProcessLookupError):
                    os.kill(process, number)

    def end(self) -> None:
        """Kill the processes of runs that have not ended, as after an error or a second signal."""
        while any(not running.future.done() for running in self.running):
            for running in self.running:
                end_processes(running.scratch)
            time.sleep(LOOK_S)

    def begin_next(self) -> bool:
        """Submit the next run, or score it here where it is stored; return False where none may begin."""
        number = self.schedule.next()
        if number is None:
            return False
        cell = self.plan.cells[number]
        if not is_unfinished(cell, self.arguments.metrics):
            self.progress.cell(number + 1, len(self.plan.cells), cell.label)
            outcome = Outcome(broken=dict(self.broken))
            execute_run(cell, self.arguments, self.progress, self.logs, outcome)
            self.settle(number, outcome)
            return True
        name = f"{cell.key}-{number}-{self.killed[number]}"
        scratch, environment = scratch_path(self.arguments.results_folder.absolute(), name), self.free.pop()
        future = self.executor.submit(execute_in_process, self.job(number, scratch, environment))
        self.running.append(Running(number, future, scratch, environment))
        return True

    def job(self, number: int, scratch: Path, environment: Mapping[str, str]) -> dict[str, Any]:
        """Return the argument of `execute_in_process`."""
        cell = self.plan.cells[number]
        processes = 1 if cell.method.is_baseline else self.arguments.devices
        threads = self.arguments.threads_of(self.plan.preset)
        if self.is_here:
            threads = threads or max(1, cores() // (self.at_once * processes))
        return {
            "run": job_of(cell, self.arguments),
            "label": cell.label,
            "number": (number + 1, len(self.plan.cells)),
            "processes": processes,
            "threads": threads,
            "environment": dict(environment),
            "broken": self.broken.get(cell.folder.path, ""),
            "folder": str(Path.cwd()),
            "path": [path or str(Path.cwd()) for path in sys.path],
            "scratch": str(scratch),
        }

    def note(self, number: int, found: dict[str, Any]) -> None:
        """Note how a run ended: it is settled, or it is tried again."""
        cell, status, error = self.plan.cells[number], found["status"], found.get("error", "")
        if status == "stopped" and self.is_here:
            self.stopping = self.stopping or next(n for n, code in EXIT_CODES.items() if code == found["code"])
        if status == "locked":
            if not self.locked[number]:
                self.progress.say(f"{cell.label}: {error}; it is looked at again later")
            pause = AGAIN_S if self.is_here else min(LONGEST_S, AGAIN_S * 2 ** self.locked[number])
            self.locked[number] += 1
            return self.schedule.put_back(number, pause)
        if status in ("stopped", "killed"):
            self.killed[number] += not self.stopping
            if self.stopping or self.killed[number] < TRIES:
                return self.schedule.put_back(number)
            error = f"its process was killed {TRIES} times: {error}"
        self.progress.cell(number + 1, len(self.plan.cells), cell.label)
        for warning in found.get("warnings", ()):
            self.progress.warn(warning)
        outcome = Outcome()
        if status == "done":
            outcome = Outcome(**found["outcome"])
            how = "diverged" if outcome.diverged else "stored already" if outcome.stored else "done"
            if outcome.failed:
                self.progress.failed(*outcome.failed.values())
            else:
                self.progress.done(how, found["seconds"])
        else:  # its process could not note why it failed
            fail(cell, BenchError(error), outcome, self.progress)
        return self.settle(number, outcome)

    def settle(self, number: int, outcome: Outcome) -> None:
        """Store the outcome of a run."""
        cell = self.plan.cells[number]
        if outcome.failed:
            self.broken.setdefault(cell.folder.path, cell.label)
        self.outcomes[number] = outcome
        self.schedule.running.remove(number)

    def show(self) -> None:
        """Show now and then how far the runs are."""
        if time.monotonic() - self.shown < SHOW_S:
            return
        self.shown = time.monotonic()
        running = {self.plan.cells[each.number].label: progress_in(each.scratch) for each in self.running}
        self.progress.cells(len(self.outcomes), len(self.plan.cells), running)


def result_of(future: Any) -> dict[str, Any]:
    """Return how a run ended, as `execute_in_process` does; one that its executor has lost counts as killed."""
    try:
        found: dict[str, Any] = future.result()
        return found
    except BenchError as error:
        return {"status": "failed", "error": str(error)}
    except Exception as error:
        return {"status": "killed", "error": f"{type(error).__name__}: {error}"}


# How many at once ---------------------------------------------------------------------------------------------------


def environments_of(jobs: int, devices: int) -> list[dict[str, str]]:
    """Return the environments of the runs that are executed at once: the GPUs of each, where there are any."""
    import torch

    count = torch.cuda.device_count()
    if not count:
        return [{} for _ in range(jobs)]
    if jobs * devices > count:
        raise UsageError(
            f"--jobs {jobs} x --devices {devices} needs {jobs * devices} GPUs, and {count} are visible; ask for fewer"
        )
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    gpus = named[:count] or [str(number) for number in range(count)]
    return [{"CUDA_VISIBLE_DEVICES": ",".join(gpus[slot * devices : (slot + 1) * devices])} for slot in range(jobs)]


def jobs_of(plan: Plan, arguments: RunArguments) -> int:
    """Return how many runs of a plan are executed at once on this machine.

    `auto` is as many small models as its cores and its free memory have room for. It is one for models that are
    pretrained or of a published size, where processes share a run, and where there is a GPU: to use several, give
    their number with --jobs.
    """
    if arguments.jobs != AUTO:
        return int(arguments.jobs)
    if arguments.devices > 1 or current_group() is not None:
        return 1
    threads = arguments.threads_of(plan.preset) or cores()
    unfinished = [cell for cell in plan.cells if is_unfinished(cell, arguments.metrics)]
    jobs = min(cores() // threads, len(unfinished), free_memory() // BYTES_PER_PROCESS)
    widths = [cell.config.backbone_options.get("width", math.inf) for cell in unfinished]  # no option: a given size
    if jobs <= 1 or max(widths) > SMALL_WIDTH:
        return 1
    import torch

    return 1 if torch.cuda.is_available() or torch.backends.mps.is_available() else jobs


def free_memory() -> int:
    """Return how many bytes of memory are free on this machine, or in the container that this process is in."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, AttributeError):  # only Linux says how much of it is in use
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        free = 1024 * int(found.group(1))  # type: ignore[union-attr]
    for limit, used in CGROUPS.items():
        with suppress(OSError, ValueError):  # no such file, or "max"
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
    return max(0, free)
