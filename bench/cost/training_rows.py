"""Training rows: how many a cell trains on, and how long they are on average."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cells.cell import Cell
from bench.cost.memory import Lengths
from bench.tasks.encode.codec import byte_count

__all__ = ["TrainingRows", "longest", "training_rows"]

SAMPLE = 200
"""Rows whose length is looked at."""
BYTES = 4.0
"""Of a token, about."""


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a training.

    Args:
        rows: how many; 0 where nobody knows.
        average: tokens of a row.
        why: where both are from.
    """

    rows: int
    average: Lengths
    why: str


def longest(cell: Cell) -> Lengths:
    """Return the tokens of the longest row that a cell's recipe allows, with those that are put around it."""
    trainer = cell.config.trainer
    source, exemplar = trainer.max_source + 1, 0
    if cell.task.stream is not None:
        source = 1  # blocks of running text have no source
    if cell.method.reads_exemplars:
        exemplar = trainer.max_target
    return Lengths(source, trainer.max_target + int(cell.task.ends), exemplar)


def training_rows(cell: Cell) -> TrainingRows:
    """Return the rows that a cell trains on: of the data that is here, else as many as are published."""
    most, task = longest(cell), cell.task
    if task.source.folder is None and cell.config.preset == "paper":
        published = task.info.sizes.get("train", 0)
        if task.stream is not None:
            return TrainingRows(0, most, "rows as long as the recipe allows; without the text nobody knows how many")
        if not published:
            return TrainingRows(0, most, "rows as long as the recipe allows; without the data nobody knows how many")
        return TrainingRows(published, most, "published rows, each as long as the recipe allows")
    average, examples = average_lengths(cell, most), task.split("train").examples
    if task.stream is None:
        return TrainingRows(len(examples), average, "rows that are here")
    tokens = sum(byte_count(example.target) for example in examples) / BYTES
    return TrainingRows(max(1, int(tokens / most.target)), most, "blocks of the text that is here")


def average_lengths(cell: Cell, most: Lengths) -> Lengths:
    """Return the average tokens of some training rows, a quarter of their bytes; none longer than the recipe allows."""
    examples = cell.task.split("train").examples
    examples = examples[:: max(1, len(examples) // SAMPLE)]
    source = target = 0.0
    for example in examples:
        source += min(most.source, 1 + byte_count(cell.task.plain_source(example)) / BYTES)
        target += min(most.target, 1 + byte_count(example.target) / BYTES)
    n = max(1, len(examples))
    exemplar = 0.0
    if most.exemplar:
        exemplar = target / n
    return Lengths(source / n, target / n, exemplar)
