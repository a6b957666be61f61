"""Validation: metrics of texts that an objective writes for the validation split while it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import distributed

from bench.cells.cell import Cell
from bench.cells.evaluation import cut_rows, evaluate, merge
from bench.cells.score import gold_of, values_of
from bench.cells.wanted import Evaluation, evaluation_content, wanted
from bench.cells.watched import families_of
from bench.errors import UsageError
from bench.metrics import find_metric
from bench.models.core.objective import Objective
from bench.store.store import StoredRows
from bench.tasks.encode.codec import Codec
from bench.training.selection import Measure

SPLIT = "valid"


def measure_of(cell: Cell, objective: Objective, codec: Codec, rank: int, world: int) -> Measure | None:
    """Return what scores the texts that an objective writes for the validation split, or None to score none.

    They are written with the cell's first decoding.
    """
    families = families_of(cell.config.trainer, cell.task)
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
    evaluation = replace(cell.config.evaluation, split=split, rows=rows, sampling_seeds="")
    config = replace(cell.config, evaluation=evaluation)
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
