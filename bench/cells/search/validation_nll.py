"""Validation NLL: what trials are compared by, from the rows of an evaluation, or from the records of merged runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.search.search import Stated
from bench.cells.validation import is_lower_better
from bench.config.config import VALIDATED
from bench.store.store import cells_below

__all__ = ["stated_column", "validation_nll"]

PERPLEXITY = "ppl/token"
"""The column whose logarithm is the negative log-likelihood per target token."""


def validation_nll(cells: Sequence[Cell]) -> float | None:
    """Return the nats per target token of the validation split under the method's own distribution, a mean over seeds.

    Runs that were merged from a snapshot have no rows. For these it is what a stored search over the same runs says, or
    else the logarithm of the stored perplexity, which may differ in its last digit.

    Returns:
        None when a seed has none, as after a diverged training, or one that is not finite.
    """
    found = [_of_rows(cell) for cell in cells]
    if None in found and (recorded := _recorded(cells)) is not None:
        return recorded
    values = []
    for cell, value in zip(cells, found, strict=True):
        if value is None:
            value = _of_perplexity(cell)
        if value is None or not math.isfinite(value):
            return None
        values.append(value)
    if not values:
        return None
    return sum(values) / len(values)


def stated_column(cells: Sequence[Cell]) -> Stated | None:
    """Return the validation column that the runs state in `trainer.select`, at the step that was kept.

    Returns:
        None where they state none, or a likelihood or a loss, and where a seed has no value.
    """
    trainer = cells[0].config.trainer
    if not trainer.select or trainer.select in VALIDATED:
        return None
    values = []
    for cell in cells:
        record = cell.folder.trained() or {}
        value = record.get("train", {}).get("kept", {}).get("value")
        if value is None:
            return None
        values.append(float(value))
    return Stated(trainer.select, statistics.fmean(values), is_lower_better(trainer, cells[0].task))


def _of_rows(cell: Cell) -> float | None:
    """Return the value of the rows of a run's one evaluation; None where there are none."""
    (key,) = cell.evaluations
    stored = cell.folder.rows(key)
    if stored is None:
        return None
    nll = float(sum(row["nll_sum"] for row in stored.rows))
    return nll / sum(row["n_tokens"] for row in stored.rows)


def _recorded(cells: Sequence[Cell]) -> float | None:
    """Return the value that a stored search of the method has recorded for these runs; None where none tried them."""
    keys = {str(cell.config.seed): cell.key for cell in cells}
    for tried in _tried(cells[0].folder.path.parent, cells[0].config.evaluation.rows):
        if tried["keys"] == keys and tried["nll"] is not None and math.isfinite(tried["nll"]):
            return float(tried["nll"])
    return None


def _tried(method: Path, rows: int | None) -> Iterator[Mapping[str, Any]]:
    """Yield what the stored searches of a method have tried and repeated, if they were scored on as many rows."""
    for folder in cells_below(method):
        for search in folder.grids():
            if search.get("rows") == rows:
                yield from search["tried"]
                yield from search.get("play_off", ())


def _of_perplexity(cell: Cell) -> float | None:
    """Return the value that a run's stored perplexity stands for; None where there is none."""
    for content in cell.folder.all_scores():
        if content["rows"] not in cell.evaluations:
            continue
        for value in content["values"]:
            if value["name"] == PERPLEXITY and value["value"] is not None:
                return math.log(value["value"])
    return None
