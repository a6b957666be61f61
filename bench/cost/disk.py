"""Disk: what a cell leaves in the results folder, and what it holds there while it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cells.cell import Cell
from bench.cost.parameters import Parameters

__all__ = ["Disk", "disk_of", "takes_steps"]

STATES = 2
"""States of a training that are kept at a time, to go on from."""

ROW_BYTES = {"likelihood": 400, "probe": 2000, "spectrum": 100, "generation": 800}
"""Of a stored row, about, without the tokens of its text."""
TOKEN_BYTES = 12
"""Of a generated token: its id, and its part of the text."""


@dataclass(frozen=True)
class Disk:
    """Bytes of a cell on disk.

    Args:
        checkpoint: of the trained weights.
        states: while it is trained, beside the rest.
        rows: of its evaluations.
    """

    checkpoint: int
    states: int
    rows: int


def takes_steps(cell: Cell) -> bool:
    """Whether a cell is trained at all."""
    return bool(cell.config.trainer.steps or cell.config.trainer.epochs)


def disk_of(cell: Cell, parameters: Parameters, kept: int = 0) -> Disk:
    """Return the bytes of a cell on disk; one that takes no step has no states.

    Args:
        cell: a planned one.
        parameters: of its objective.
        kept: bytes that it keeps of its training text.
    """
    saved = parameters.total
    if cell.config.backbone_options.get("lora_rank"):  # pretrained weights are taken from where they came from
        saved = parameters.trained
    checkpoint = parameters.item_bytes * saved + kept
    state = checkpoint + 2 * parameters.item_bytes * parameters.trained  # with both moments of AdamW
    if not takes_steps(cell):
        state = 0
    elif cell.config.trainer.select:
        state += checkpoint  # the best weights so far
    rows = 0
    for what in cell.evaluations.values():
        each = ROW_BYTES.get(what.kind, 400) + TOKEN_BYTES * what.max_new_tokens
        rows += each * (len(what.ids) or what.cut or 0)
    return Disk(checkpoint, STATES * state, rows)
