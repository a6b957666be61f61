"""Slurm: `bench run --slurm KEY=VALUE` submits its runs by submitit, as at most two job arrays, and waits for them.

An element of an array is the same command again, for one part of the runs (`BENCH_PART`): those of a task and a method.
The first array has the parts that others start from; the second one begins when the first has ended, in whatever way.
What is still missing then is trained by the element that needs it.

An element that gets a signal, because its time is over or a more urgent job takes its place, saves the state of its
training and goes back into the queue. One that is cancelled does not come back by itself.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, drop_checkpoints, execute, is_unfinished
from bench.config.arguments import RunArguments
from bench.errors import BenchError, MissingError, UsageError
from bench.launch.signals import TOGETHER
from bench.store.snapshot import files_at

PART = "BENCH_PART"
"""Environment variable with the part of the runs that an element executes, as a JSON list."""
KEY = re.compile(r"[a-z][a-z0-9-]*")
FIXED = (
    "array", "chdir", "error", "job-name", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "requeue",
    "signal",
)  # fmt: skip
"""Options of sbatch that are set here."""
NUMBERS = {"notice": 120, "array-parallelism": 256}
"""Options that are whole numbers, and their defaults."""
REQUEUES = 1000
"""Times that an element goes back into the queue: one that makes no progress should not return for ever."""
SHORTEST_S, LONGEST_S = 0.5, 15.0
"""Seconds between two requests to Slurm: more while nothing changes."""
TRIES, TRY_S = 20, 3.0
"""Requests to a controller that does not answer, and the seconds between them."""


@dataclass(frozen=True)
class SlurmOptions:
    """The resources of an element, and how many elements run at once.

    Args:
        notice: seconds before the time limit at which an element gets a signal to end.
        at_once: elements of an array that run at once.
        others: other options of sbatch, without `--`; True for one that has no value.
    """

    notice: int
    at_once: int
    others: Mapping[str, str | bool]

    @staticmethod
    def of(words: Sequence[str]) -> SlurmOptions:
        """Read the words after `--slurm`: `KEY=VALUE`, or `KEY` for an option without a value.

        Raises:
            UsageError: a word is no such option, an option is set by `bench run`, or a value is no number.
        """
        values: dict[str, str | bool] = dict.fromkeys(NUMBERS, "")
        for word in words:
            key, equals, value = word.partition("=")
            key = key.removeprefix("--").replace("_", "-")
            if not KEY.fullmatch(key):
                raise UsageError(f"--slurm takes KEY=VALUE, a long option of sbatch, e.g. mem=32G, not '{word}'")
            if key in FIXED:
                raise UsageError(f"--slurm does not take '{key}', which bench run sets itself (docs/cluster.md)")
            if key in NUMBERS and not (value.isdecimal() and int(value)):
                raise UsageError(f"{key} of --slurm is a whole number of at least 1, not '{value or True}'")
            values[key] = value if equals else True
        notice, at_once = (int(values.pop(key) or default) for key, default in NUMBERS.items())
        return SlurmOptions(notice, at_once, values)


# Parts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The runs of a plan that an element executes: those of a task and a method, by their names."""

    task: str
    method: str

    @staticmethod
    def of(cell: Cell) -> Part:
        """Return the part of a run."""
        return Part(cell.config.task, cell.method.name)


def parts_of(cells: Sequence[Cell]) -> tuple[list[Part], list[Part]]:
    """Return the parts of some runs of a plan: those that other parts start from or read, and the rest."""
    parts = dict.fromkeys(map(Part.of, cells))
    trained_by: dict[Path, Part] = {}
    for cell in cells:
        trained_by.setdefault(cell.folder.path, Part.of(cell))
    first = set()
    for cell in cells:
        owners = {trained_by.get(read.folder.path) for read in (cell, *cell.needed)}
        first |= owners - {None, Part.of(cell)}
    return [part for part in parts if part in first], [part for part in parts if part not in first]


def part_of_element() -> Part | None:
    """Return the part that this process executes, or None where it is no element of an array."""
    return Part(*json.loads(os.environ[PART])) if PART in os.environ else None


def runs_of(plan: Plan, part: Part) -> Plan:
    """Return the runs of a part, each behind those that it needs."""
    found = Plan(plan.preset, data=plan.data)

    def add(cell: Cell) -> None:
        for needed in cell.needed:
            add(replace(needed, evaluations={}))
        found.place(cell)

    for cell in plan.cells:
        if Part.of(cell) == part:
            add(cell)
    return found


# On a node ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Element:
    """The function that submitit calls for an element: the same words after `bench` again, in a process of its own."""

    words: tuple[str, ...]
    part: Part

    def __call__(self) -> None:
        """Execute the runs of the part; go back into the queue when Slurm ends what is not done.

        Raises:
            SystemExit: the command failed, or got a signal to end.
        """
        received: list[int] = []
        for number in (signal.SIGUSR2, signal.SIGTERM):  # in place of submitit's handlers; the command gets them, too
            signal.signal(number, lambda number, frame: received.append(number))
        # Slurm signals every process, and srun some of them again seconds later: these signals are one.
        environment = {**os.environ, PART: json.dumps(astuple(self.part)), TOGETHER: "60"}
        code = subprocess.Popen([sys.executable, "-m", "bench", *self.words], env=environment).wait()
        if code and received:
            requeue()
        if code:
            sys.exit(code if code > 0 else 128 - code)


def requeue() -> None:
    """Send this element back into the queue, if Slurm counts it as running: one that is being cancelled is not."""
    from submitit import JobEnvironment

    job = JobEnvironment()
    shown = subprocess.run(["scontrol", "show", "job", job.job_id], capture_output=True, text=True, check=False)
    if "JobState=RUNNING" not in shown.stdout or int(os.environ.get("SLURM_RESTART_COUNT", 0)) >= REQUEUES:
        return
    subprocess.run(["scontrol", "requeue", job.job_id], check=False)


# In the command ----------------------------------------------------------------------------------------------------


def run_on_slurm(
    plan: Plan, arguments: RunArguments, options: SlurmOptions, words: Sequence[str], progress: Progress
) -> Outcome:
    """Submit the unfinished runs of a plan, or find those that were submitted; wait until they have ended.

    Raises:
        MissingError: there is no submitit, or no Slurm.
        BenchError: Slurm refuses.
        KeyboardInterrupt: the command is interrupted. The jobs continue.
    """
    files_at(arguments.results_folder).check_writable()
    results = arguments.results_folder.absolute()
    unfinished = [cell for cell in plan.cells if is_unfinished(cell, arguments.metrics)]
    # The name is the same for the same runs in the same store, so that they are found again.
    runs = sorted([cell.key, cell.method.name, *sorted(cell.evaluations)] for cell in plan.cells)
    name = f"bench-{key_of({'results': str(results), 'runs': runs})[:12]}"
    logs = results / ".slurm" / name
    if states_of(name):
        progress.say(f"these runs were submitted earlier, as {name}; logs are in {logs}")
    elif unfinished:
        shutil.rmtree(logs, ignore_errors=True)  # of an earlier submission, whose failures are known
        submit(unfinished, options, words, name, logs)
        progress.say(f"submitted {name} for {len(unfinished)} runs; logs are in {logs}")
    follow(name, progress)
    missing = [cell.label for cell in plan.cells if is_unfinished(cell, arguments.metrics)]
    finished = [cell for cell in plan.cells if cell.label not in missing]
    outcome = execute(replace(plan, cells=finished), replace(arguments, keep_checkpoints="all"), progress)
    new = {cell.label for cell in unfinished}
    outcome.ok = [label for label in outcome.stored if label in new]
    outcome.stored = [label for label in outcome.stored if label not in new]
    outcome.failed |= {label: reason_in(logs, label) for label in missing}
    drop_checkpoints(arguments, plan.cells, outcome, progress.say)
    return outcome


def submit(cells: Sequence[Cell], options: SlurmOptions, words: Sequence[str], name: str, logs: Path) -> None:
    """Submit some runs as one array or two."""
    try:
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError
    except ModuleNotFoundError as error:
        raise MissingError("--slurm needs the package submitit: pip install 'objective-bench[integrations]'") from error
    step = ["--kill-on-bad-exit=1"]
    if "cpus-per-task" in options.others:  # since Slurm 22.05 a step does not have it from its job
        step.append(f"--cpus-per-task={options.others['cpus-per-task']}")
    before: str | None = None
    for parts in filter(None, parts_of(cells)):
        executor = submitit.SlurmExecutor(folder=logs)
        executor.update_parameters(
            job_name=name,
            time=None,  # the cluster's own, or `others` has it
            nodes=1,
            ntasks_per_node=1,
            signal_delay_s=options.notice,
            array_parallelism=options.at_once,
            stderr_to_stdout=True,
            wckey=None,
            srun_args=step,
            dependency=before,
            additional_parameters={"requeue": True, **options.others},
        )
        try:
            jobs = executor.submit_array([Element(tuple(words), part) for part in parts])
        except (FailedJobError, FailedSubmissionError) as error:
            raise BenchError(f"Slurm has not taken the jobs: {' '.join(str(error).split())}") from error
        before = f"afterany:{jobs[0].job_id.partition('_')[0]}"


def follow(name: str, progress: Progress) -> None:
    """Wait until Slurm has none of the jobs any more."""
    shown, pause = "", SHORTEST_S
    try:
        while states := states_of(name):
            counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(states).items()))
            pause = min(2 * pause, LONGEST_S)
            if counts != shown:
                progress.say(f"on Slurm: {counts}")
                shown, pause = counts, SHORTEST_S
            time.sleep(pause)
    except KeyboardInterrupt:
        progress.warn(f"the jobs continue. The same command waits for them again; scancel --name {name} ends them")
        raise


def states_of(name: str) -> list[str]:
    """Return the states of all elements of some jobs that Slurm still has, with the reasons why they wait."""
    if shutil.which("squeue") is None:
        raise MissingError("'squeue' is not here: type the command on a login node of a cluster with Slurm")
    command = ["squeue", "--noheader", "--array", "--name", name, "--format", "%T %r"]
    for _ in range(TRIES):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return [line.lower().removesuffix(" none") for line in ended.stdout.splitlines()]
        time.sleep(TRY_S)  # its controller may be down for a while; the jobs continue
    raise BenchError(f"Slurm does not say where the jobs '{name}' are: {' '.join(ended.stderr.split())}")


def reason_in(logs: Path, label: str) -> str:
    """Return the reason for a failed run that is in the log of its element, or where the logs are."""
    start = f"bench: failed: {label}: "
    lines = [line for log in logs.glob("*.out") for line in log.read_text(errors="replace").splitlines()]
    reasons = [line.removeprefix(start) for line in lines if line.startswith(start)]
    unknown = f"its job ended before it was done: it was cancelled, or could not go on. Logs are in {logs}"
    return reasons[-1] if reasons else unknown
