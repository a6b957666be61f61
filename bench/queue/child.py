"""Child: runs one cell of a queue in a process of its own, so that a cell that kills its process kills no worker.

Started by `process_runner.py`. It ends with 0 when the outcome of the cell, done or failed, is written; with `REFUSED`
when the cell cannot be run here and nothing was written; with 130, 143 or 75 when it was told to end, and with 75 when
the outcome could not be written. Its worker watches its heartbeat.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.base.signals import EXIT_CODES, Stopped, handled
from bench.config.arguments import RunArguments, threads_of
from bench.processes.heartbeat import Heartbeat
from bench.processes.member import membership
from bench.processes.rank import use_threads
from bench.queue.outcome import CellOutcome
from bench.queue.progress_file import ProgressFile
from bench.queue.protocol.timing import next_pause

__all__ = ["REFUSED", "main"]

STDERR = 2
REFUSED = 78
AGAIN = EXIT_CODES[signal.SIGUSR2]
TRIES = 12
"""Times that an outcome is written on a full disk, over half a minute, before the child ends without it."""


def main(job_file: Path) -> int:
    """Run the cell of a job file; return the exit code."""
    heartbeat = Heartbeat(job_file.with_name("heartbeat.0"))
    heartbeat("starting")
    faulthandler.register(signal.SIGQUIT, file=STDERR, all_threads=True)
    try:
        with handled():
            return run_job(json.loads(job_file.read_text()), heartbeat)
    except Stopped as stopped:
        return stopped.exit_code
    except KeyboardInterrupt:
        return EXIT_CODES[signal.SIGINT]


def run_job(job: dict[str, Any], heartbeat: Heartbeat) -> int:
    """Run a cell and write what became of it."""
    from bench.cells.job import cell_of
    from bench.cells.loggers.logs import logs_of
    from bench.cells.pace.stages import stages_of_all
    from bench.cells.run import Outcome, attempt

    arguments = watched_by_worker(RunArguments.from_dict(job["arguments"]))
    heartbeat("reading the data")
    progress = ProgressFile(Path(job["progress"]), heartbeat)
    try:
        cell = cell_of(job["cell"], progress.rows)
    except Exception as error:  # other code, or data that is not here: another worker may be able to
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", flush=True)
        return REFUSED
    (progress.stages,) = stages_of_all([cell])
    use_threads(threads_of(cell.config.preset, arguments) or int(os.environ.get("OMP_NUM_THREADS") or 0))
    outcome = Outcome()
    if job["broken"]:
        outcome.broken[cell.folder.path] = job["broken"]
    member = membership()
    with ExitStack() as together:
        if member is not None:
            together.enter_context(member.leading())
        attempt(cell, arguments, progress, logs_of(arguments, progress.warn), outcome)
    return publish(outcome_of(outcome, cell.label, progress), job)


def watched_by_worker(arguments: RunArguments) -> RunArguments:
    """Return the arguments of a cell in one process without its limits: the worker keeps to them, and can end it."""
    if arguments.devices > 1:
        return arguments
    return replace(arguments, stall_timeout=0.0, cell_timeout=0.0)


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
    return AGAIN
