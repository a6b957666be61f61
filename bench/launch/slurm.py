"""Slurm: `bench run --slurm KEY=VALUE` submits its runs by submitit, as at most two job arrays, and waits for them.

An element of an array is the same command again, for the runs of one task and one method alone (`BENCH_GROUP`). The
first array has the groups that other groups start from; the second one begins when the first has ended, in whatever
way. What is still missing then is trained by the element that needs it.

An element that is told to end, because its time is over or a more urgent job wants its place, saves the state of its
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
from dataclasses import dataclass, replace
from pathlib import Path

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, execute, lacks_something
from bench.config.arguments import RunArguments
from bench.errors import BenchError, MissingError, UsageError
from bench.launch.signals import TOGETHER
from bench.store.snapshot import files_at

__all__ = ["Element", "SlurmOptions", "group_of_element", "groups_of", "run_on_slurm", "runs_of"]

Group = tuple[str, str]
"""The names of a task and of a method."""

GROUP = "BENCH_GROUP"
"""Environment variable with the group whose runs an element executes, as a JSON list."""

KEY = re.compile(r"[a-z][a-z0-9-]*")
OURS = ("array", "chdir", "error", "job-name", "ntasks", "ntasks-per-node", "open-mode", "output", "requeue", "signal")
"""Options of sbatch that are set here."""
REQUEUES = 1000
"""Times that an element goes back into the queue: one that never gets anywhere should not do so for ever."""
PORT, PORTS = 10000, 20000
"""The processes on several nodes meet at one of so many ports from the first on, by the number of their job."""
SHORTEST_S, LONGEST_S = 0.5, 15.0
"""Seconds between two questions to Slurm: more while nothing changes."""
TRIES, TRY_S = 20, 3.0
"""Questions to a controller that does not answer, and the seconds between them."""


@dataclass(frozen=True)
class SlurmOptions:
    """What an element has, and how many there are at once.

    Args:
        nodes: that share a run.
        notice: seconds before the time limit at which an element is told to end.
        at_once: elements of an array that run at once.
        more: other options of sbatch, without `--`; True for one that has no value.
    """

    nodes: int
    notice: int
    at_once: int
    more: Mapping[str, str | bool]

    @staticmethod
    def of(words: Sequence[str]) -> SlurmOptions:
        """Read the words after `--slurm`: `KEY=VALUE`, or `KEY` for an option without a value.

        Raises:
            UsageError: a word is no such option, or is set here; or a number is none.
        """
        values: dict[str, str | bool] = {}
        for word in words:
            key, equals, value = word.partition("=")
            key = key.removeprefix("--").replace("_", "-")
            if not KEY.fullmatch(key):
                raise UsageError(f"--slurm takes KEY=VALUE, a long option of sbatch, e.g. mem=32G, not '{word}'")
            if key in OURS:
                raise UsageError(f"--slurm does not take '{key}', which bench run sets itself (docs/cluster.md)")
            values[key] = value if equals else True
        whole = {"nodes": 1, "notice": 120, "array-parallelism": 256}
        for key, default in whole.items():
            text = str(values.pop(key, default))
            if not text.isdecimal() or int(text) < 1:
                raise UsageError(f"{key} of --slurm is a whole number of at least 1, not '{text}'")
            whole[key] = int(text)
        return SlurmOptions(whole["nodes"], whole["notice"], whole["array-parallelism"], values)


# Groups ------------------------------------------------------------------------------------------------------------


def groups_of(cells: Sequence[Cell]) -> tuple[list[Group], list[Group]]:
    """Return the groups of some runs: those that others start from or read, and the rest.

    Args:
        cells: those that lack something, in the order of their plan.
    """
    groups = dict.fromkeys(map(group_of, cells))
    trained_by: dict[Path, Group] = {}
    for cell in cells:
        trained_by.setdefault(cell.folder.path, group_of(cell))
    wanted = set()
    for cell in cells:
        for read in (cell, *cell.needed):
            owner = trained_by.get(read.folder.path, group_of(cell))
            if owner != group_of(cell):
                wanted.add(owner)
    return [group for group in groups if group in wanted], [group for group in groups if group not in wanted]


def group_of(cell: Cell) -> Group:
    """Return the group of a run."""
    return cell.config.task, cell.method.name


def group_of_element() -> Group | None:
    """Return the group whose runs this process executes, or None where it is no element of an array."""
    if GROUP not in os.environ:
        return None
    task, method = json.loads(os.environ[GROUP])
    return task, method


def runs_of(plan: Plan, group: Group) -> Plan:
    """Return the runs of a group, each behind those that it needs."""
    found = Plan(plan.preset, data=plan.data)

    def add(cell: Cell) -> None:
        for needed in cell.needed:
            add(replace(needed, evaluations={}))
        found.place(cell)

    for cell in plan.cells:
        if group_of(cell) == group:
            add(cell)
    return found


# What a node runs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Element:
    """The function that submitit calls on each node of an element: the command again, in a process of its own.

    Args:
        words: of the command, after `bench`.
        folder: where the command was typed.
        group: whose runs it executes.
        nodes: that share a run.
        devices: processes that share a run on each node.
    """

    words: tuple[str, ...]
    folder: str
    group: Group
    nodes: int
    devices: int

    def __call__(self) -> None:
        """Execute the runs of the group; go back into the queue when Slurm wants an end of what is not done.

        Raises:
            SystemExit: the command failed, or was told to end.
        """
        told: list[int] = []
        for number in (signal.SIGUSR2, signal.SIGTERM):  # in place of submitit's handlers; the command gets them, too
            signal.signal(number, lambda number, frame: told.append(number))
        # Slurm signals every process, and srun some of them again seconds later: these signals are one.
        environment = {**os.environ, GROUP: json.dumps(self.group), TOGETHER: "60"}
        code = subprocess.Popen(self.command(), cwd=self.folder, env=environment).wait()
        if code and told:
            requeue()
        if code:
            sys.exit(code if code > 0 else 128 - code)

    def command(self) -> list[str]:
        """Return the command that is run on this node."""
        command = ["-m", "bench", *self.words]
        if self.nodes > 1:
            from submitit import JobEnvironment

            here = JobEnvironment()
            torchrun = {
                "nnodes": self.nodes,
                "nproc-per-node": self.devices,
                "node-rank": here.node,
                "master-addr": os.environ.get("MASTER_ADDR") or here.hostnames[0],
                "master-port": PORT + int(here.raw_job_id) % PORTS,
                "signals-to-handle": "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR2",
                "shutdown-timeout": 120,
            }
            words = [f"--{key}={value}" for key, value in torchrun.items()]
            command = ["-m", "torch.distributed.run", *words, *command]
        return [sys.executable, *command]


def requeue() -> None:
    """Send this element back into the queue, if Slurm counts it as running: one that is being cancelled is not."""
    from submitit import JobEnvironment

    here = JobEnvironment()
    shown = subprocess.run(["scontrol", "show", "job", here.job_id], capture_output=True, text=True, check=False)
    if "JobState=RUNNING" not in shown.stdout or int(os.environ.get("SLURM_RESTART_COUNT", 0)) >= REQUEUES:
        return
    if here.global_rank == 0:
        subprocess.run(["scontrol", "requeue", here.job_id], check=False)
    time.sleep(60)  # until Slurm ends this process


# What the command does ---------------------------------------------------------------------------------------------


def run_on_slurm(
    plan: Plan, arguments: RunArguments, options: SlurmOptions, words: Sequence[str], progress: Progress
) -> Outcome:
    """Submit the runs of a plan that lack something, or find those that were submitted; wait until they have ended.

    Args:
        plan: of the command.
        arguments: of the command.
        options: what an element has.
        words: of the command, after `bench`.
        progress: told what happens.

    Raises:
        MissingError: there is no submitit, or no Slurm.
        BenchError: Slurm refuses.
        KeyboardInterrupt: the person leaves. The jobs go on.
    """
    files_at(arguments.results_folder).check_writable()
    lacking = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    name = name_of(plan, arguments)
    logs = arguments.results_folder.absolute() / ".slurm" / name
    if tasks_of(name):
        progress.say(f"these runs were submitted earlier, as {name}; logs are in {logs}")
    elif lacking:
        shutil.rmtree(logs, ignore_errors=True)  # of an earlier submission, whose failures are known
        submit(lacking, arguments, options, words, name, logs)
        progress.say(f"submitted {name} for {len(lacking)} runs; logs are in {logs}")
    follow(name, progress)
    return outcome_of(plan, lacking, arguments, logs, progress)


def name_of(plan: Plan, arguments: RunArguments) -> str:
    """Return the name of a command's jobs: the same for the same runs in the same store, so that they are found."""
    runs = sorted([cell.key, cell.method.name, *sorted(cell.evaluations)] for cell in plan.cells)
    return f"bench-{key_of({'results': str(arguments.results_folder.absolute()), 'runs': runs})[:12]}"


def submit(
    cells: Sequence[Cell],
    arguments: RunArguments,
    options: SlurmOptions,
    words: Sequence[str],
    name: str,
    logs: Path,
) -> None:
    """Submit the groups of some runs as one array or two.

    Raises:
        MissingError: there is no submitit.
        BenchError: Slurm refuses.
    """
    try:
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError
    except ModuleNotFoundError as error:
        raise MissingError("--slurm needs the package submitit: pip install 'objective-bench[integrations]'") from error
    before: str | None = None
    for groups in filter(None, groups_of(cells)):
        executor = submitit.SlurmExecutor(folder=logs)
        step = ["--kill-on-bad-exit=1"]
        if "cpus-per-task" in options.more:  # since Slurm 22.05 a step does not have it from its job
            step.append(f"--cpus-per-task={options.more['cpus-per-task']}")
        executor.update_parameters(
            job_name=name,
            time=None,  # the cluster's own, or what `more` says
            nodes=options.nodes,
            ntasks_per_node=1,
            signal_delay_s=options.notice,
            array_parallelism=options.at_once,
            stderr_to_stdout=True,
            wckey=None,
            srun_args=step,
            dependency=before,
            additional_parameters={"requeue": True, **options.more},
        )
        folder, devices = str(Path.cwd()), arguments.devices
        elements = [Element(tuple(words), folder, group, options.nodes, devices) for group in groups]
        try:
            jobs = executor.submit_array(elements)
        except (FailedJobError, FailedSubmissionError) as error:
            raise BenchError(f"Slurm has not taken the jobs: {' '.join(str(error).split())}") from error
        before = f"afterany:{jobs[0].job_id.partition('_')[0]}"


def follow(name: str, progress: Progress) -> None:
    """Wait until Slurm has none of the jobs any more.

    Raises:
        BenchError: Slurm gave no answer when it was asked first.
        KeyboardInterrupt: the person leaves. The jobs go on.
    """
    shown, pause = "", SHORTEST_S
    try:
        while tasks := tasks_of(name):
            counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(tasks).items()))
            pause = min(2 * pause, LONGEST_S)
            if counts != shown:
                progress.say(f"on Slurm: {counts}")
                shown, pause = counts, SHORTEST_S
            time.sleep(pause)
    except KeyboardInterrupt:
        progress.warn(f"left: the jobs go on. The same command follows them again; scancel --name {name} ends them")
        raise


def tasks_of(name: str) -> list[str]:
    """Return the states of all elements of some jobs that Slurm still has, with the reasons why they wait.

    Raises:
        MissingError: there is no Slurm here.
        BenchError: Slurm gives no answer.
    """
    if shutil.which("squeue") is None:
        raise MissingError("'squeue' is not here: type the command on a login node of a cluster with Slurm")
    command = ["squeue", "--noheader", "--array", "--name", name, "--format", "%T %r"]
    for _ in range(TRIES):
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return [line.lower().removesuffix(" none") for line in ended.stdout.splitlines()]
        time.sleep(TRY_S)  # its controller may be down for a while; the jobs go on
    raise BenchError(f"Slurm does not say where the jobs '{name}' are: {' '.join(ended.stderr.split())}")


def outcome_of(
    plan: Plan, submitted: Sequence[Cell], arguments: RunArguments, logs: Path, progress: Progress
) -> Outcome:
    """Return what became of the runs of a plan whose jobs have ended.

    Args:
        plan: of the command.
        submitted: its runs that lacked something before.
        arguments: of the command.
        logs: the folder of the logs.
        progress: told what happens.
    """
    lacks = [lacks_something(cell, arguments.metrics) for cell in plan.cells]
    there = [cell for cell, is_missing in zip(plan.cells, lacks, strict=True) if not is_missing]
    outcome = execute(replace(plan, cells=there), arguments, progress)
    made = {cell.label for cell in submitted}
    outcome.ok += [label for label in outcome.stored if label in made]
    outcome.stored = [label for label in outcome.stored if label not in made]
    for cell, is_missing in zip(plan.cells, lacks, strict=True):
        if is_missing:
            outcome.failed[cell.label] = reason_in(logs, cell.label)
    return outcome


def reason_in(logs: Path, label: str) -> str:
    """Return why a run failed, as the log of its element says; or where to look."""
    start = f"bench: failed: {label}: "
    for log in logs.glob("*.out"):
        for line in reversed(log.read_text(errors="replace").splitlines()):
            if line.startswith(start):
                return line.removeprefix(start)
    return f"its job ended before it was done: it was cancelled, or could not go on. Logs are in {logs}"
