"""Validation: metrics of texts that an objective writes for the validation split while it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import distributed

from bench.base.entries import split_names
from bench.cells.cell import Cell
from bench.cells.evaluation import cut_rows, evaluate, merge
from bench.cells.score import gold_of, values_of
from bench.cells.wanted import Evaluation, evaluation_content, wanted
from bench.errors import UsageError, did_you_mean
from bench.metrics import find_metric
from bench.metrics.columns import direction_of
from bench.models.core.objective import Objective
from bench.store.store import StoredRows
from bench.tasks.encode.codec import Codec
from bench.training.selection import LOWER_IS_BETTER, Measure

SPLIT = "valid"


def families_of(cell: Cell) -> list[str]:
    """Return the metric families that a cell watches in validation.

    Raises:
        UsageError: one is unknown, or reads no texts, or there is no validation.
    """
    trainer = cell.config.trainer
    if (trainer.watch or trainer.select or trainer.patience) and not trainer.validate:
        raise UsageError(
            "trainer.watch, select and patience need trainer.validate: epochs from one validation to the next"
        )
    names = split_names([trainer.watch])
    texts = [name for name in cell.task.info.metrics if find_metric(name).value.kind == "generation"]
    for name in names:
        if name not in texts:
            near = did_you_mean(name, texts)
            raise UsageError(f"trainer.watch names '{name}', which scores no texts of {cell.task.name}{near}")
    return names


def is_lower_better(cell: Cell) -> bool:
    """Return which way the column goes that a cell selects by.

    Raises:
        UsageError: no family that is watched has the column.
    """
    column = cell.config.trainer.select
    if not column or column in LOWER_IS_BETTER:
        return LOWER_IS_BETTER.get(column, True)
    patterns = [pattern for family in families_of(cell) for pattern in find_metric(family).value.columns]
    try:
        higher_is_better = direction_of(column, patterns)
    except KeyError:
        known = ", ".join([*LOWER_IS_BETTER, *(pattern[1:] for pattern in patterns)])
        raise UsageError(
            f"trainer.select names '{column}'; loss, ppl and what trainer.watch gives are: {known}"
        ) from None
    if higher_is_better is None:
        raise UsageError(f"trainer.select names '{column}', of which neither more nor less is better")
    return not higher_is_better


def measure_of(cell: Cell, objective: Objective, codec: Codec, rank: int, world: int) -> Measure | None:
    """Return what scores the texts that an objective writes for the validation split, or None to score none.

    They are written with the cell's first decoding.
    """
    families = families_of(cell)
    if not families:
        return None
    what = evaluated(cell)

    def measure() -> dict[str, float]:
        parts = gathered(list(evaluate(objective, cell.task, codec, what, rank, world)))
        ids: Sequence[str] = what.ids
        if what.cut is not None:
            ids = [row.id for row in cut_rows(cell.task, codec, what)[0]]
        rows = merge(parts, ids, f"{cell.label}, validation")
        stored = StoredRows("validation", evaluation_content(what), rows, "")
        named: dict[str, float] = {}
        for family in families:
            metric = find_metric(family).value
            values = values_of(metric, stored, gold_of(cell.task, stored, metric.gold))["values"]
            named |= {value["name"]: value["value"] for value in values if value["value"] is not None}
        return named

    return measure


def evaluated(cell: Cell) -> Evaluation:
    """Return the evaluation of the validation split: the first decoding of the cell."""
    split: Any = SPLIT
    rows = cell.config.trainer.validate_rows
    config = replace(cell.config, evaluation=replace(cell.config.evaluation, split=split, rows=rows))
    kinds = [what for what in wanted(config, cell.method, cell.task) if what.kind == "generation"]
    if not kinds:
        raise UsageError(f"trainer.watch needs texts, and {cell.task.name} has no decoding")
    return kinds[0]


def gathered(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rows of every rank, on every rank."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return [rows]
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, rows)
    return parts
