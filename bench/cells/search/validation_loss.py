"""Validation loss of what was tried: of its rows; of kept cells, which have none, as it was recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.store.store import cells_below

__all__ = ["validation_loss"]

PERPLEXITY = "ppl/token"
"""The column whose logarithm is the loss."""


def validation_loss(cells: Sequence[Cell]) -> float | None:
    """Return the nats per target token that a combination has on the validation split, a mean over seeds.

    Without rows it is what a stored search over the same cells says, or else the logarithm of the perplexity that is
    stored, which may differ in its last digit.

    Args:
        cells: of the combination, one a seed.

    Returns:
        None when a seed has none, as after a diverged training.
    """
    losses = [_of_rows(cell) for cell in cells]
    if None in losses and (known := _recorded(cells)) is not None:
        return known
    found = []
    for cell, loss in zip(cells, losses, strict=True):
        if loss is None:
            loss = _of_perplexity(cell)
        if loss is None:
            return None
        found.append(loss)
    if not found:
        return None
    return sum(found) / len(found)


def _of_rows(cell: Cell) -> float | None:
    """Return the loss of the rows of a cell's one evaluation; None where there are none."""
    (key,) = cell.evaluations
    stored = cell.folder.rows(key)
    if stored is None:
        return None
    nll = float(sum(row["nll_sum"] for row in stored.rows))
    return nll / sum(row["n_tokens"] for row in stored.rows)


def _recorded(cells: Sequence[Cell]) -> float | None:
    """Return what a stored search of the method has found for these cells; None where none has tried them."""
    wanted = {str(cell.config.seed): cell.key for cell in cells}
    for tried in _tried(cells[0].folder.path.parent, cells[0].config.evaluation.rows):
        if tried["keys"] == wanted and tried["nll"] is not None:
            return float(tried["nll"])
    return None


def _tried(method: Path, rows: int | None) -> Iterator[Mapping[str, Any]]:
    """Yield what the stored searches of a method that were scored on as many rows have tried, and their play-offs."""
    for folder in cells_below(method):
        for grid in folder.grids():
            if grid.get("rows") == rows:
                yield from grid["tried"]
                yield from grid.get("play_off", ())


def _of_perplexity(cell: Cell) -> float | None:
    """Return the loss that a cell's stored perplexity stands for; None where there is none."""
    for content in cell.folder.all_scores():
        if content["rows"] not in cell.evaluations:
            continue
        for value in content["values"]:
            if value["name"] == PERPLEXITY and value["value"] is not None:
                return math.log(value["value"])
    return None
