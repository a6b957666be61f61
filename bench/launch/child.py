"""Child: the function that executors are given. It executes one run in a process of its own, or in several, and waits.

The scratch folder of the run has the files of `processes.py`, and `outcome.json`: what became of the run.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.files import scratch_folder, write_atomic
from bench.base.keys import canonical
from bench.base.machine import is_alive
from bench.base.registry import importable
from bench.cells.loggers import Logs
from bench.cells.progress import Progress
from bench.cells.record import cell_of
from bench.cells.run import Outcome, execute_run
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from bench.launch.group import GroupError, current_group
from bench.launch.lock import LockedError
from bench.launch.processes import LOOK_S, Rank, log_tail, read_of_ranks, run_processes

OUTCOME = "outcome.json"


def execute_in_process(job: Mapping[str, Any]) -> dict[str, Any]:
    """Execute a run in a process of its own, or in several; return how it ended.

    Args:
        job: plain content: `run` (from `job_of`), its `label`, its `number` (and of how many), `processes` that share
            the run, `threads` of each, `environment` (variables to set), `broken` (the run of the same folder that has
            failed), `folder` and `path` (where relative paths and the user's own modules are looked up), `scratch`.

    Returns:
        `status`: `done` (with the `outcome`, `seconds` and `warnings`), `locked` (by another process), `failed` or
        `killed` (these three with an `error`), or `stopped` (by a signal, with the exit `code`).
    """
    scratch = Path(job["scratch"])
    with scratch_folder(scratch):
        target, processes = "bench.launch.child:be_run", job["processes"]
        bad_end = run_processes(target, job, processes, scratch, job["threads"], job["environment"])
        found: dict[str, Any] = bad_end or json.loads((scratch / OUTCOME).read_bytes())
        return found


def checkpoint(job: Mapping[str, Any]) -> Any:
    """Save the state of a run and end its processes; return the call that submitit puts back into the queue.

    submitit calls it in the process of `execute_in_process` when the time limit of a job is near.
    """
    from submitit.helpers import DelayedSubmission

    processes = read_of_ranks(Path(job["scratch"]), "process").values()
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGUSR2)
    while any(map(is_alive, processes)):
        time.sleep(LOOK_S)
    return DelayedSubmission(execute_in_process, job)


execute_in_process.checkpoint = checkpoint  # type: ignore[attr-defined]  # where submitit looks for it


def be_run(job: dict[str, Any], rank: Rank) -> None:
    """Execute a run as one of its processes; the first one writes how it ended."""
    if os.path.isdir(job["folder"]):
        os.chdir(job["folder"])
    for folder in job["path"]:
        importable(Path(folder))
    group = current_group() if rank.world > 1 else None
    try:
        if group is None:
            execute_job(job, rank.scratch)
        elif rank.number:
            group.follow()
        else:
            with group.led():
                execute_job(job, rank.scratch)
    except GroupError as error:
        raise BenchError(error.reason) from error


def execute_job(job: dict[str, Any], scratch: Path) -> None:
    """Execute a run and write what became of it."""
    arguments, progress = RunArguments(**job["run"]["arguments"]), LogProgress()
    try:
        number, of = job["number"]
        progress.cell(number, of, job["label"])
        cell = cell_of(job["run"], progress.rows)
        outcome, logs = Outcome(), Logs(arguments, progress.warn)
        if job["broken"]:
            outcome.broken[cell.folder.path] = job["broken"]
        execute_run(cell, arguments, progress, logs, outcome)
        content: dict[str, Any] = {"status": "done", "outcome": {**vars(outcome), "broken": {}}}
    except GroupError:
        raise
    except LockedError as error:
        content = {"status": "locked", "error": str(error)}
    except Exception as error:  # the code or the data is not that of the plan
        traceback.print_exc()
        content = {"status": "failed", "error": str(error)}
    content |= {"seconds": time.monotonic() - progress.started, "warnings": progress.warnings}
    write_atomic(scratch / OUTCOME, canonical(content), replace=True)


class LogProgress(Progress):
    """Prints the progress of a run into the log of its process, and keeps its warnings, which the command prints."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Keep a warning."""
        self.warnings.append(text)

    def done(self, how: str, seconds: float | None = None) -> None:
        """Report nothing."""

    def failed(self, why: str) -> None:
        """Report nothing."""


def progress_in(scratch: Path) -> str:
    """Return the last line about the progress of a run; empty where there is none yet."""
    return next((line for line in reversed(log_tail(scratch, 0)) if line.startswith("[")), "")
