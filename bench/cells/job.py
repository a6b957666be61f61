"""Job: a resolved run as plain content, from which a worker makes the very same run without planning."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell, key_or_none, trained_key_of, with_revisions
from bench.cells.required import required_evaluations, rows_key_of
from bench.config.config import CellConfig, EvaluationConfig, PlugIn, TrainerConfig
from bench.config.decoding import parse
from bench.config.resolve import find_method
from bench.errors import BenchError
from bench.models.backbones import find_backbone
from bench.store.store import CellFolder
from bench.tasks import find_task
from bench.tasks.core.progress import OnRows, no_progress
from bench.tasks.core.task import Task
from bench.tasks.fetch.sources import Source

FIND = {"task": find_task, "backbone": find_backbone}
"""How a part of the user's own is found again."""


def content_of(cell: Cell) -> dict[str, Any]:
    """Return a run as content for JSON; `cell_of` undoes it."""
    source = cell.task.source
    return {
        **ancestry_of(cell),
        "evaluations": list(cell.evaluations),
        "data": {"folder": source.folder and str(source.folder), "why": source.why, "on_bad_row": cell.task.on_bad_row},
    }


def ancestry_of(cell: Cell) -> dict[str, Any]:
    """Return what a run is, and the runs it needs, without evaluations and data."""
    return {
        "key": cell.key,
        "method": cell.method.asked,
        "config": {**asdict(cell.config), "decodings": [decoding.asked for decoding in cell.config.decodings]},
        "folder": str(cell.folder.path),
        "parent": cell.parent and ancestry_of(cell.parent),
        "reference": cell.reference and ancestry_of(cell.reference),
        "donor": cell.donor and str(cell.donor.path),
    }


def cell_of(content: dict[str, Any], on_rows: OnRows = no_progress) -> Cell:
    """Make the run that `content_of` described; its data is read from the same place.

    Raises:
        BenchError: when a key that is computed here is not the one that was given: code or data have changed since.
    """
    config, data = config_of(content["config"]), content["data"]
    kind: type[Task] = find_task(config.asked("task")).value
    task = kind(**config.task_options)
    source = Source(data["folder"] and Path(data["folder"]), data["why"])
    task.load(source, config.trainer.limit, on_bad_row=data["on_bad_row"], on_rows=on_rows)
    cell = related_cell(content, task)
    keys = key_or_none(cell.parent), key_or_none(cell.reference)
    expect(cell, "the trained run", cell.key, trained_key_of(config, cell.method, task, cell.donor, *keys))
    required = {rows_key_of(cell.key, task, what): what for what in required_evaluations(config, cell.method, task)}
    for key in content["evaluations"]:
        expect(cell, "an evaluation", key, key if key in required else f"one of {', '.join(required)}")
    return replace(cell, evaluations={key: required[key] for key in content["evaluations"]})


def related_cell(content: dict[str, Any], task: Task) -> Cell:
    """Make a run and those it needs, without evaluations."""
    config = config_of(content["config"])
    return Cell(
        config=config,
        method=with_revisions(find_method(content["method"]), config, task),
        task=task,
        key=content["key"],
        folder=CellFolder(Path(content["folder"])),
        evaluations={},
        parent=content["parent"] and related_cell(content["parent"], task),
        reference=content["reference"] and related_cell(content["reference"], task),
        donor=content["donor"] and CellFolder(Path(content["donor"])),
    )


def config_of(content: dict[str, Any]) -> CellConfig:
    """Return a configuration from its content; code of the user is what it is in this process."""
    sections: dict[str, Any] = {
        "trainer": TrainerConfig(**content["trainer"]),
        "evaluation": EvaluationConfig(**content["evaluation"]),
        "own": {part: PlugIn.of(FIND[part](own["asked"])) for part, own in content.get("own", {}).items()},
        "decodings": tuple(decoding for text in content["decodings"] for decoding in parse(text)),
    }
    return CellConfig(**{**content, **sections})


def expect(cell: Cell, what: str, given: str, computed: str) -> None:
    """Refuse a key that is not the one a worker computes."""
    if given != computed:
        raise BenchError(
            f"{cell.label}: the key of {what} is {given} in the job and {computed} in the worker; code or data have "
            f"changed since the run was planned, so start it again"
        )
