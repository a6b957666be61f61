"""Validation metrics: what a run measures on the validation split while it is trained, and which column it selects by.

A plan checks them; nothing that trains or scores is imported for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.base.registry import split_names
from bench.cells.cell import Cell
from bench.cells.required import Evaluation, evaluation_content, kinds_of, required_evaluations
from bench.config.config import VALIDATED, TrainerConfig
from bench.config.resolve import EvaluationVariant, Method, decodings_by, recipe_of
from bench.errors import UsageError, did_you_mean
from bench.metrics import find_metric
from bench.metrics.columns import direction_of, expand
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Codec

if TYPE_CHECKING:
    from bench.training.execution import Execution


def check_validation(trainer: TrainerConfig, method: Method, task: Task) -> None:
    """Refuse a validation whose metrics cannot be measured, or that cannot select by the column it names."""
    if method.is_baseline:
        return
    families = families_of(trainer, task)
    is_lower_better(trainer, task)
    if families and "generation" not in kinds_of(method, task):
        raise UsageError(f"trainer.watch needs texts, and {task.name} has no decoding")


def families_of(trainer: TrainerConfig, task: Task) -> list[str]:
    """Return the metric families that score texts of the validation split."""
    if (trainer.watch or trainer.select or trainer.patience) and not trainer.validate:
        raise UsageError(
            "trainer.watch, select and patience need trainer.validate: epochs from one validation to the next"
        )
    names = split_names([trainer.watch])
    texts = [name for name in task.info.metrics if find_metric(name).value.kind == "generation"]
    for name in names:
        if name not in texts:
            near = did_you_mean(name, texts)
            raise UsageError(f"trainer.watch names '{name}', which scores no texts of {task.name}{near}")
    return names


def is_lower_better(trainer: TrainerConfig, task: Task) -> bool:
    """Return which way the column goes that the best step is selected by."""
    column = trainer.select
    if not column or column in VALIDATED:
        return True
    patterns = [pattern for family in families_of(trainer, task) for pattern in find_metric(family).value.columns]
    try:
        higher_is_better = direction_of(column, patterns)
    except KeyError:
        known = [*VALIDATED, *(name for pattern in patterns for name in expand(pattern[1:]))]
        near = did_you_mean(column, known)
        raise UsageError(
            f"trainer.select names '{column}', which this validation does not measure{near}; trainer.watch adds columns"
        ) from None
    if higher_is_better is None:
        raise UsageError(f"trainer.select names '{column}', of which neither more nor less is better")
    return not higher_is_better


# While it is trained ------------------------------------------------------------------------------------------------


def text_metrics(
    cell: Cell, objective: Objective, codec: Codec, execution: Execution
) -> Callable[[], dict[str, float]] | None:
    """Return what writes texts of the validation split by the recipe's first decoding, and scores them, or None."""
    from bench.cells.evaluation import cut_rows, evaluate, merge
    from bench.cells.score import computed, gold_of
    from bench.store.files import StoredRows

    families = families_of(cell.config.trainer, cell.task)
    if not families:
        return None
    what = validation_evaluation(cell)

    def of_texts() -> dict[str, float]:
        written = evaluate(objective, cell.task, codec, what, execution.rank, execution.world)
        parts = gathered(list(written))
        ids: Sequence[str] = what.ids
        if what.cut is not None:
            ids = [row.id for row in cut_rows(cell.task, codec, what)[0]]
        rows = merge(parts, ids, f"{cell.label}, validation")
        stored = StoredRows("validation", evaluation_content(what), rows, "")
        named: dict[str, float] = {}
        for family in families:
            metric = find_metric(family).value
            values, _ = computed(metric, stored, gold_of(cell.task, stored, metric.gold))
            named |= {value["name"]: value["value"] for value in values["values"] if value["value"] is not None}
        return named

    return of_texts


def validation_evaluation(cell: Cell) -> Evaluation:
    """Return the evaluation of the validation split by the first decoding of the recipe.

    Not by that of `--decode`, which is not in the key of the training.
    """
    evaluation = replace(
        cell.config.evaluation, split="valid", rows=cell.config.trainer.validate_rows, sampling_seeds=""
    )
    method = replace(cell.method, evaluation_variant=EvaluationVariant())  # that which is trained
    decodings = decodings_by(method, recipe_of(type(cell.task), cell.config.preset))
    config = replace(cell.config, evaluation=evaluation, decodings=decodings)
    return next(what for what in required_evaluations(config, method, cell.task) if what.kind == "generation")


def gathered(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rows of every rank, on every rank."""
    from torch import distributed

    if not distributed.is_initialized():
        return [rows]
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, rows)
    return parts
