"""Stored cells: those of the ladders in a store or a kept board, by the shape of their models."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from bench.config.resolve import find_method
from bench.errors import MissingError, UsageError
from bench.ladder.sizes import BACKBONE, rung_name
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, tables
from bench.store.reading import read_cells
from bench.store.store import Store

__all__ = ["Shape", "StoredCells", "stored_cells"]

Shape = tuple[int, int]
"""Width and layers of a model."""
SEARCH = "factors_of_rate"
"""What the search of a ladder records, and no other one (`rates.Rates.content`)."""


@dataclass(frozen=True)
class StoredCells:
    """The cells of a task's ladders.

    Args:
        table: of the test split.
        rows: those of ladders, by shape, then by method.
        picked: keys of the cells that the search of a ladder picked.
        records: of every training of the task, by key.
    """

    table: Table
    rows: Mapping[Shape, Mapping[str, TableRow]]
    picked: Set[str]
    records: Mapping[str, Mapping[str, Any]]

    def seeds(self, shape: Shape, method: str) -> set[int]:
        """Return the seeds on which a method was run by a ladder; others, run by hand, are none of its."""
        row = self.rows[shape].get(method)
        if row is None:
            return set()
        return {self.records[key]["config"]["seed"] for key in row.keys & self.picked}

    def is_whole(self, shape: Shape, method: str, seeds: Set[int]) -> bool:
        """Return whether a method has a number on every seed."""
        return not self.has_diverged(shape, method) and self.seeds(shape, method) >= seeds

    def has_diverged(self, shape: Shape, method: str) -> bool:
        """Return whether a method diverged at the rate that was picked, or at every rate where none was picked."""
        row = self.rows[shape].get(method)
        if row is not None:
            return row.diverged > 0
        statuses = {record["status"] for record in self.trainings(shape, method)}
        return statuses == {"diverged"}

    def trainings(self, shape: Shape, method: str) -> list[Mapping[str, Any]]:
        """Return the records of a method's trainings of one shape; a control that only reads has those it reads."""
        trained, found = trained_name(method), []
        for record in self.records.values():
            config = record["config"]
            if (config["method"], config["backbone"]) == (trained, BACKBONE) and shape_of(config) == shape:
                found.append(record)
        return found


def stored_cells(store: Store, task: str) -> StoredCells:
    """Return the cells of the ladders of a task.

    Args:
        store: read only.
        task: its name.

    Raises:
        MissingError: there is none.
        UsageError: one shape has two rows of one method.
    """
    picked: set[str] = set()
    records: dict[str, Mapping[str, Any]] = {}
    for cell in read_cells(store, {task}):
        if cell.trained is None:
            continue
        records[cell.trained["key"]] = cell.trained
        if any(SEARCH in grid for grid in cell.grids) and cell.trained["config"]["backbone"] == BACKBONE:
            picked.add(cell.trained["key"])
    table = ladder_table(store, task, picked)
    return StoredCells(table, rows_by_shape(table, picked), picked, records)


def ladder_table(store: Store, task: str, picked: Set[str]) -> Table:
    """Return the test table with the most rows of ladders.

    Raises:
        MissingError: no table has any.
    """
    found, _ = tables(store, [task])
    tests = [table for table in found if table.split == "test" and ladder_rows(table, picked)]
    if not tests:
        raise MissingError(f"'{store.root}' has no cell of a ladder of {task}; bench ladder --task {task} runs one")
    return max(tests, key=lambda table: len(ladder_rows(table, picked)))


def ladder_rows(table: Table, picked: Set[str]) -> list[TableRow]:
    """Return the rows of a table that a ladder picked."""
    return [row for row in table.rows if row.keys & picked]


def rows_by_shape(table: Table, picked: Set[str]) -> dict[Shape, dict[str, TableRow]]:
    """Return the rows of ladders by the shape of their models, then by method.

    Raises:
        UsageError: one shape has two rows of one method.
    """
    found: dict[Shape, dict[str, TableRow]] = {}
    for row in ladder_rows(table, picked):
        shape = shape_of(row.config)
        rows = found.setdefault(shape, {})
        if row.method in rows:
            raise UsageError(
                f"expected one row of {row.method} on rung {rung_name(*shape)}, found those with {row.settings} and "
                f"{rows[row.method].settings}; give each ladder a store of its own (--results)"
            )
        rows[row.method] = row
    return found


def shape_of(config: Mapping[str, Any]) -> Shape:
    """Return the shape of a cell's model."""
    options = config["backbone_options"]
    return options["width"], options["layers"]


def trained_name(method: str) -> str:
    """Return the name that a method is trained under; of one that this program does not know, its own."""
    try:
        return find_method(method).trained_name
    except UsageError:
        return method
