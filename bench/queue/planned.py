"""From a plan to a plan file: which cells lack something, and what each of them waits for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.job import content_of
from bench.cells.pace.stages import cost_of
from bench.cells.standing import lacking_evaluations
from bench.config.arguments import RunArguments
from bench.errors import StoreError
from bench.queue.plan_file import PlanFile
from bench.queue.protocol.job import Job
from bench.queue.protocol.timing import Timing

__all__ = ["job_key", "lacks_something", "plan_of"]


def plan_of(cells: Sequence[Cell], arguments: RunArguments, timing: Timing) -> PlanFile:
    """Return the plan file of cells.

    Args:
        cells: those that lack something, each behind the one it is fine-tuned from.
        arguments: of the run.
        timing: of the queue.
    """
    jobs: list[Job] = []
    by_folder: dict[Path, Job] = {}
    for cell in cells:
        job = job_of(cell, by_folder)
        by_folder.setdefault(cell.folder.path, job)
        jobs.append(job)
    return PlanFile(
        nonce=os.urandom(8).hex(),
        folder=str(Path.cwd()),
        results=str(arguments.results_folder.absolute()),
        arguments=arguments.as_dict(),
        timing=timing,
        jobs=tuple(jobs),
    )


def job_of(cell: Cell, by_folder: dict[Path, Job]) -> Job:
    """Return a cell as a job.

    Args:
        by_folder: the first job of every folder so far. A control shares the folder of the cell that it reads.
    """
    folders = dict.fromkeys(needed.folder.path for needed in cell.needed)
    after = tuple(by_folder[folder].key for folder in folders if folder in by_folder)
    shares = ""
    if cell.folder.path in by_folder:
        shares = by_folder[cell.folder.path].key
    return Job(
        key=job_key(cell),
        label=cell.label,
        after=after,
        shares=shares,
        cost=cost_of(cell),
        folder=str(cell.folder.path.absolute()),
        cell=content_of(cell),
    )


def job_key(cell: Cell) -> str:
    """Return the key of a cell in a queue: a control has one of its own, though its trained cell is another's."""
    return key_of({"cell": cell.key, "method": cell.method.asked, "rows": sorted(cell.evaluations)})


def lacks_something(cell: Cell, metrics: Sequence[str] = ()) -> bool:
    """Return whether a cell has to be trained or evaluated; a damaged one counts, and fails when it is worked on.

    Args:
        cell: of a plan.
        metrics: families beside those of its task.
    """
    try:
        trained = cell.folder.trained()
        if trained is None:
            return True
        missing = lacking_evaluations(cell, metrics)
    except StoreError:
        return True
    return trained["status"] == "ok" and bool(missing)
