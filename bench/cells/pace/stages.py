"""Stages: what a cell lacks, stage by stage, and roughly how long each takes beside the others of its plan.

The costs decide what workers begin first, and when a run may end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.cells.cell import Cell
from bench.cells.pace.pace import TRAINING, WRITING, Stage
from bench.cells.wanted import Evaluation
from bench.errors import StoreError

__all__ = ["cost_of", "stage_name", "stages_of", "stages_of_all"]

BACKWARD = 3.0
"""A training step over a row costs about three forward passes over it."""
TOKEN_BY_TOKEN = 10.0
"""A row that is generated token by token costs about ten forward passes over it."""


def cost_of(cell: Cell) -> float:
    """Return the work that a cell lacks, in thousands of rows that go through the model once.

    Training counts steps x rows of a step x 3, an evaluation its rows, or ten times as much where texts are generated,
    once for each text that is tried at a time. The size of the model is left out: cells of one plan mostly share it.
    """
    return round(sum(stage.cost for stage in stages_of(cell).values()) / 1000, 3)


def stages_of_all(cells: Sequence[Cell]) -> list[dict[str, Stage]]:
    """Return the stages that each cell of a plan lacks; what two of them share stands with the first of them.

    A damaged cell has none: it fails when it is worked on.
    """
    found: list[dict[str, Stage]] = []
    planned = set[Path]()
    for cell in cells:
        try:
            found.append(stages_of(cell, planned))
        except StoreError:
            found.append({})
    return found


def stages_of(cell: Cell, planned: set[Path] | None = None) -> dict[str, Stage]:
    """Return the stages that a cell lacks, by name, in the order in which they are worked on.

    Args:
        cell: what.
        planned: the files that cells before it make; those of this cell are added.
    """
    if planned is None:
        planned = set()
    stages: dict[str, Stage] = {}
    if cell.folder.trained() is None and not cell.method.is_baseline and cell.folder.path not in planned:
        stages[TRAINING] = Stage(BACKWARD * training_rows(cell), cell.config.trainer.steps)
        planned.add(cell.folder.path)
    for key, what in cell.evaluations.items():
        path = cell.folder.rows_path(key)
        if path in planned or cell.folder.has(path.name):
            continue
        planned.add(path)
        name = stage_name(what)
        if cell.method.is_baseline:
            name = WRITING
        before = stages.get(name, Stage(0.0, 0))
        stages[name] = Stage(before.cost + evaluation_cost(what), before.of + len(what.ids))
    return stages


def stage_name(what: Evaluation) -> str:
    """Return what the stage of an evaluation is called."""
    if what.decoding is None:
        return what.kind
    return f"{what.kind} {what.decoding.text}"


def training_rows(cell: Cell) -> float:
    """Return how many rows a training reads: those of its steps, or of its epochs."""
    trainer = cell.config.trainer
    if trainer.steps:
        return trainer.steps * trainer.batch_size
    return trainer.epochs * len(cell.task.split("train").examples)


def evaluation_cost(what: Evaluation) -> float:
    """Return how many rows an evaluation puts through the model, in forward passes."""
    if what.decoding is None:
        return float(len(what.ids))
    return TOKEN_BY_TOKEN * len(what.ids) * what.decoding.passes
