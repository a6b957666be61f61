"""Child: runs one cell of a queue in a process of its own, so that a cell that kills its process kills no worker.

Started by `children.py`. It ends with 0 when the outcome of the cell, done or failed, is written; with `REFUSED` when
the cell cannot be run here and nothing was written; with 130, 143 or 75 when it was told to end.
"""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from pathlib import Path
from typing import Any

from bench.base.parents import end_with_parent
from bench.base.signals import EXIT_CODES, Stopped, forget, handled
from bench.config.arguments import RunArguments, threads_of
from bench.queue.outcome import CellOutcome
from bench.queue.progress_file import ProgressFile
from bench.queue.protocol.timing import next_pause

__all__ = ["REFUSED", "main"]

REFUSED = 78
TRIES = 12
"""Times that an outcome is written on a full disk, over half a minute, before the child ends without it."""


def main(job_file: Path) -> int:
    """Run the cell of a job file; return the exit code."""
    job = json.loads(job_file.read_text())
    end_with_parent(os.getppid())  # the fork server, which ends with the worker
    forget()  # the process this one is a copy of has handlers of its own
    try:
        with handled():
            return run_job(job)
    except Stopped as stopped:
        return stopped.exit_code
    except KeyboardInterrupt:
        return EXIT_CODES[signal.SIGINT]


def run_job(job: dict[str, Any]) -> int:
    """Run a cell and write what became of it."""
    from bench.cells.job import cell_of
    from bench.cells.run import Outcome, attempt, wandb_logger

    arguments = RunArguments.from_dict(job["arguments"])
    try:
        cell = cell_of(job["cell"])
    except Exception as error:  # other code, or data that is not here: another worker may be able to
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", flush=True)
        return REFUSED
    if threads := threads_of(cell.config.preset, arguments):
        import torch

        torch.set_num_threads(threads)
    progress = ProgressFile(Path(job["progress"]))
    outcome = Outcome()
    if job["broken"]:
        outcome.broken[cell.folder.path] = job["broken"]
    attempt(cell, arguments, progress, wandb_logger(arguments, progress), outcome)
    return publish(outcome_of(outcome, cell.label, progress), job)


def outcome_of(outcome: Any, label: str, progress: ProgressFile) -> CellOutcome:
    """Return the outcome of a run with one cell."""
    status = "ok"
    if outcome.failed:
        status = "failed"
    elif outcome.diverged:
        status = "diverged"
    elif outcome.stored:
        status = "stored"
    return CellOutcome(
        status=status,
        error=outcome.failed.get(label, ""),
        is_missing=bool(outcome.missing),
        is_blocked=bool(outcome.blocked),
        seconds=round(progress.seconds, 2),
        warnings=tuple(progress.warnings),
    )


def publish(outcome: CellOutcome, job: dict[str, Any]) -> int:
    """Write an outcome, waiting for a full disk; return the exit code."""
    pause_s = 0.0
    for _ in range(TRIES):
        try:
            outcome.write(Path(job["queue"]), job["key"], job["generation"])
        except OSError as error:
            print(error, flush=True)
            pause_s = next_pause(pause_s)
            time.sleep(pause_s)
        else:
            return 0
    return 1
