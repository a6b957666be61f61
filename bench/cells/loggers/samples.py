"""Samples: the first texts that a cell wrote, as tables for loggers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.cells.cell import Cell
from bench.tasks.core.readable import sources_of

__all__ = ["COLUMNS", "SAMPLES", "sample_tables"]

SAMPLES = 20
"""Rows of a table of samples."""

COLUMNS = ("id", "source", "reference", "text")


def sample_tables(cell: Cell) -> Iterator[tuple[str, list[list[Any]]]]:
    """Yield the name of each decoding of a cell, and the first of its texts beside what was to be written.

    Yields:
        A name such as `greedy`, and rows of `COLUMNS`.
    """
    for key, what in cell.evaluations.items():
        stored = cell.folder.rows(key)
        if what.decoding is None or stored is None:
            continue
        sources: dict[str, tuple[str, str]] = {}
        first = stored.rows[:SAMPLES]
        if not all("prompt" in row for row in first):
            sources = sources_of(cell.task, what.split)
        lines = []
        for row in first:
            if "prompt" in row:
                shown = (row["prompt"], row.get("reference", ""))
            else:
                shown = sources.get(row["id"], ("", ""))
            lines.append([row["id"], *shown, row["text"]])
        yield stored.content["decoding"]["name"], lines
