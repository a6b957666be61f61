"""Job: a run as another process plans it again: the arguments of a command for this run alone, and its keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.cells.record import as_sets
from bench.config.arguments import RunArguments, set_texts_of
from bench.errors import BenchError
from bench.tasks.core.progress import OnRows, no_progress


def job_of(cell: Cell, arguments: RunArguments) -> dict[str, Any]:
    """Return a run as content for JSON; `cell_of` undoes it.

    Args:
        cell: the run.
        arguments: of the command; those that decide what is run are replaced by the configuration of this run.
    """
    config, sets = cell.config, zip(arguments.sets, arguments.overrides, strict=True)
    alone = replace(
        arguments,
        tasks=(config.spec("task"),),
        methods=(cell.method.spec,),
        seeds=(config.seed,),
        backbone=config.spec("backbone"),
        preset=config.preset,  # type: ignore[arg-type]  # it was checked when the run was planned
        sets=(*set_texts_of(as_sets(cell)), *(text for text, given in sets if given.section == "execution")),
        decode=",".join(decoding.spec for decoding in config.decodings) or None,
        limit=None,  # a setting of the trainer
        kinds=(),
    )
    return {"arguments": alone.as_dict(), "key": cell.key, "evaluations": list(cell.evaluations)}


def cell_of(job: Mapping[str, Any], on_rows: OnRows = no_progress) -> Cell:
    """Plan the run of a job.

    Raises:
        BenchError: the plan here has not the keys that the job names: code or data have changed since.
    """
    plan = make_plan(RunArguments(**job["arguments"]), on_rows=on_rows)
    (method,) = job["arguments"]["methods"]
    for cell in plan.cells:
        if (cell.key, cell.method.spec) == (job["key"], method) and set(job["evaluations"]) <= set(cell.evaluations):
            return replace(cell, evaluations={key: cell.evaluations[key] for key in job["evaluations"]})
    found = [f"{cell.label}: {cell.key}" for cell in plan.cells] + [skip.reason for skip in plan.skips]
    raise BenchError(
        f"the run {job['key']} of {method} is not what is planned here ({'; '.join(found)}): code or data have changed "
        f"since it was planned, so start it again"
    )
