"""Slurm: the few calls that submit an array of workers, ask where it is, and cancel it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError, MissingError
from bench.processes.process import ToolEnded, run_tool

__all__ = ["ArrayTask", "array_tasks", "cancel", "submit", "text_of_tasks"]

FORMAT = "%F|%K|%T|%r"
"""What `squeue` says of a task: job of the array, task, state, reason."""


@dataclass(frozen=True)
class ArrayTask:
    """One task of an array, as Slurm has it: one worker.

    Args:
        job: of the array.
        task: its number, from 0 on.
        state: such as `PENDING` or `RUNNING`.
        reason: why it waits, such as `Resources`.
    """

    job: str
    task: str
    state: str
    reason: str


def submit(script: Path) -> str:
    """Submit a script; return the number of the job.

    Raises:
        MissingError: there is no Slurm here.
        BenchError: Slurm refuses, with what it says.
    """
    ended = call("sbatch", "--parsable", str(script))
    if ended.code:
        raise BenchError(f"Slurm has not taken the job: {said(ended)}; --dry-run prints what was submitted")
    return ended.out.strip().partition(";")[0]


def array_tasks(name: str) -> list[ArrayTask]:
    """Return the tasks of a job that Slurm still has, whether they wait, run or end.

    Args:
        name: of the job.

    Raises:
        MissingError: there is no Slurm here.
        BenchError: Slurm gives no answer.
    """
    ended = call("squeue", "--noheader", "--array", "--name", name, "--format", FORMAT)
    if ended.code:
        raise BenchError(f"Slurm does not say where the job '{name}' is: {said(ended)}")
    found = []
    for line in ended.out.splitlines():
        job, task, state, reason = line.split("|", 3)
        found.append(ArrayTask(job, task, state, reason))
    return found


def cancel(name: str, *words: str) -> None:
    """Cancel the tasks of a job, or those that options of scancel leave, such as `--state=PENDING`."""
    call("scancel", *words, "--name", name)


def call(*words: str) -> ToolEnded:
    """Run a program of Slurm.

    Raises:
        MissingError: it is not installed.
    """
    try:
        return run_tool(*words)
    except FileNotFoundError as error:
        raise MissingError(
            f"'{words[0]}' is not here: type this on a login node of a cluster with Slurm, or have --dry-run print "
            f"the script"
        ) from error


def said(ended: ToolEnded) -> str:
    """Return what a program has said of its failure, in one line."""
    return " ".join((ended.err or ended.out).split()) or f"exit code {ended.code}"


def text_of_tasks(tasks: Sequence[ArrayTask]) -> str:
    """Return where the tasks of an array are, for people.

    >>> text_of_tasks([ArrayTask("7", "0", "RUNNING", "None"), ArrayTask("7", "1", "PENDING", "Resources")])
    'Slurm job 7: 1 pending (Resources), 1 running'
    """
    if not tasks:
        return "Slurm has no task of it any more"
    words: Counter[str] = Counter()
    for task in tasks:
        word = task.state.lower()
        if task.state == "PENDING":
            word += f" ({task.reason})"
        words[word] += 1
    counts = ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    return f"Slurm job {tasks[0].job}: {counts}"
