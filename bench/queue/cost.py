"""Cost: roughly how long a cell takes beside the others of its plan. It only decides what is begun first."""

from __future__ import annotations

from bench.cells.cell import Cell
from bench.cells.wanted import Evaluation

__all__ = ["cost_of"]

BACKWARD = 3.0
"""A training step over a row costs about three forward passes over it."""
WRITING = 10.0
"""A row that is generated token by token costs about ten forward passes over it."""


def cost_of(cell: Cell) -> float:
    """Return the work that a cell lacks, in thousands of rows that go through the model once.

    Training counts steps x rows of a step x 3, an evaluation its rows, or ten times as much where texts are generated,
    once for each text that is tried at a time. The size of the model is left out: cells of one plan mostly share it.
    """
    rows = 0.0
    if cell.folder.trained() is None and not cell.method.is_baseline:
        rows += BACKWARD * training_rows(cell)
    for key, what in cell.evaluations.items():
        if not cell.folder.has(cell.folder.rows_path(key).name):
            rows += evaluation_rows(what)
    return round(rows / 1000, 3)


def training_rows(cell: Cell) -> float:
    """Return how many rows a training reads: those of its steps, or of its epochs."""
    trainer = cell.config.trainer
    if trainer.steps:
        return trainer.steps * trainer.batch_size
    return trainer.epochs * len(cell.task.split("train").examples)


def evaluation_rows(what: Evaluation) -> float:
    """Return how many rows an evaluation puts through the model, in forward passes."""
    if what.decoding is None:
        return float(len(what.ids))
    return WRITING * len(what.ids) * what.decoding.passes
