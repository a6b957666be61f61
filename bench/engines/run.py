"""Run on Slurm: submit what is missing as one array of workers, or find the array that is at it already; follow it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from bench.base.files import remove_scratch
from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.config.arguments import RunArguments, threads_of
from bench.engines.follow import follow
from bench.engines.slurm import array_tasks, submit
from bench.engines.slurm_script import SlurmOptions, script_text
from bench.engines.submission import Submission, find_submission, prepare, request_of
from bench.queue.follower import outcome_of
from bench.queue.overview import overview_of
from bench.queue.plan_file import COPY, PlanFile
from bench.queue.planned import lacks_something, plan_of
from bench.queue.protocol.order import SETTLED
from bench.queue.protocol.timing import SHARED
from bench.store.snapshot import files_at

__all__ = ["run_on_slurm", "script_of"]


def run_on_slurm(plan: Plan, arguments: RunArguments, options: SlurmOptions, progress: Progress) -> Outcome:
    """Run every cell of a plan on the workers of one array.

    Args:
        plan: from `make_plan`.
        arguments: of the run.
        options: what each worker has.
        progress: told what happens.

    Raises:
        UsageError: a cell does not fit a worker, or the store is only read.
        MissingError: there is no Slurm here.
        BenchError: Slurm refuses, or the array ended before its cells were done.
        KeyboardInterrupt: the person leaves. The workers go on.
    """
    options.check(arguments.devices, threads_of(plan.preset, arguments))
    files_at(arguments.results_folder).check_writable()
    request = request_of(plan.cells, arguments)
    found = found_again(arguments.results_folder, request, progress)
    lacking = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    if found is None and lacking:
        found = submitted(lacking, arguments, options, request, progress)
    if found is None:
        return outcome_of(plan, {}, arguments, progress)
    settled = follow(found, plan, progress)
    forget(found)
    return outcome_of(plan, settled, arguments, progress)


def script_of(plan: Plan, arguments: RunArguments, options: SlurmOptions) -> str:
    """Return the script that would be submitted; the name of the queue is left open.

    Raises:
        UsageError: a cell does not fit a worker.
    """
    options.check(arguments.devices, threads_of(plan.preset, arguments))
    cells = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    return script_for(replace(plan_of(cells, arguments, SHARED), nonce="NONCE"), arguments, options)


def script_for(file: PlanFile, arguments: RunArguments, options: SlurmOptions) -> str:
    """Return the script of the workers of a plan, one for each cell at the most."""
    options = replace(options, max_workers=max(1, min(options.max_workers, len(file.jobs))))
    command = [sys.executable, "-m", "bench", "work", str(file.queue / COPY), "--no-board"]
    return script_text(options, Submission(file).name, Path(file.folder), file.queue, command, arguments.devices)


def submitted(
    cells: list[Cell], arguments: RunArguments, options: SlurmOptions, request: str, progress: Progress
) -> Submission:
    """Submit the cells that lack something.

    Raises:
        MissingError: there is no Slurm here.
        BenchError: Slurm refuses.
    """
    file = plan_of(cells, arguments, SHARED)
    found = prepare(file, script_for(file, arguments, options), request)
    try:
        job = submit(found.script)
    except BaseException:
        if not is_known(found):
            forget(found)
        raise
    progress.say(f"submitted Slurm job {job} for {len(cells)} cells: {found.script}")
    return found


def found_again(results: Path, request: str, progress: Progress) -> Submission | None:
    """Return what was submitted earlier for the same request, if it is at work or has an outcome to report."""
    found = find_submission(results, request)
    if found is None:
        return None
    if array_tasks(found.name):
        progress.say(f"was submitted earlier and is at work: follows it ({found.script})")
        return found
    counts = overview_of(found.plan.queue, found.plan).counts
    settled = {state.value for state in SETTLED}
    left = sum(count for state, count in counts.items() if state not in settled)
    if not left:
        return found
    progress.say(f"an earlier array has ended before {left} of its cells were done: submits what is missing")
    forget(found)
    return None


def is_known(submission: Submission) -> bool:
    """Return whether Slurm has the job, though the call that submitted it was cut short."""
    try:
        return bool(array_tasks(submission.name))
    except Exception:
        return False


def forget(submission: Submission) -> None:
    """Remove the folder of a queue that nobody needs any more."""
    remove_scratch(submission.plan.queue)
