"""Reading: the scores of a ladder from a store or a kept board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from bench.errors import MissingError, UsageError
from bench.ladder.sizes import BACKBONE, parameters_of, rung_name
from bench.leaderboards.claim.claim_files import names, read
from bench.leaderboards.ladder.claims import claim_questions
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.ladder.transfer import Question
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.table import Table, tables
from bench.store.reading import read_cells
from bench.store.store import Store

__all__ = ["StoredLadder", "stored_ladder"]

Shape = tuple[int, int]
"""Width and layers of a model."""


@dataclass(frozen=True)
class StoredLadder:
    """The ladder of a store.

    Args:
        ladder: its whole rungs.
        notes: what is left out, and why, for people.
    """

    ladder: Ladder
    notes: Sequence[str] = ()

    @property
    def claims(self) -> list[Question]:
        """What papers say of its methods."""
        return claim_questions(map(read, names()), self.ladder)


def stored_ladder(store: Store, task: str) -> StoredLadder:
    """Return the whole rungs of a task: those with every method on every seed, but for methods that diverged there.

    Args:
        store: read only.
        task: its name.

    Raises:
        MissingError: there is no whole rung with the baseline.
        UsageError: a rung has two rows of one method.
    """
    table, trainings = ladder_table(store, task), training_records(store, task)
    by_shape, diverged = rows_by_shape(table), diverged_by_shape(trainings)
    methods = sorted({method for rows in by_shape.values() for method in rows})
    seeds = {seed for rows in by_shape.values() for row in rows.values() for seed in row.seeds}
    notes: list[str] = []
    rungs: list[Rung] = []
    for shape, rows in sorted(by_shape.items(), key=lambda item: parameters_of(*item[0])):
        whole = {method: rows[method] for method in methods if method in rows and is_whole(rows[method], seeds)}
        without = [method for method in methods if method not in whole]
        gone = [method for method in without if method in diverged.get(shape, ())]
        name = rung_name(*shape)
        notes += [f"{method} is left out of rung {name}: it diverged there" for method in gone]
        if len(gone) < len(without) or BASELINE not in whole:
            lacking = ", ".join(method for method in without if method not in gone)
            notes.append(f"rung {name} is left out: it is not whole, seeds are missing of {lacking or BASELINE}")
        else:
            rungs.append(rung_of(shape, whole, seeds, table.columns, trainings))
    if not rungs:
        said = "; ".join(["", *notes])
        raise MissingError(f"'{store.root}' has no whole rung of a ladder of {task}{said}; bench ladder runs them")
    return StoredLadder(Ladder(task, BASELINE, tuple(rungs), directions(table)), notes)


def is_whole(row: TableRow, seeds: Set[int]) -> bool:
    """Return whether a row has a number on every seed."""
    return not row.diverged and row.seeds == seeds


def ladder_table(store: Store, task: str) -> Table:
    """Return the test table with the most rows of a ladder.

    Raises:
        MissingError: no table has any.
    """
    found, _ = tables(store, [task])
    tests = [table for table in found if table.split == "test" and any(map(is_of_ladder, table.rows))]
    if not tests:
        raise MissingError(f"'{store.root}' has no cell of a ladder of {task}; bench ladder --task {task} runs one")
    return max(tests, key=lambda table: sum(map(is_of_ladder, table.rows)))


def is_of_ladder(row: TableRow) -> bool:
    """Return whether a row is of the ladder's family and was picked from trials."""
    return row.backbone == BACKBONE and row.tried > 1


def rows_by_shape(table: Table) -> dict[Shape, dict[str, TableRow]]:
    """Return the rows of a ladder by the shape of their models, then by method.

    Raises:
        UsageError: one shape has two rows of one method.
    """
    found: dict[Shape, dict[str, TableRow]] = {}
    for row in filter(is_of_ladder, table.rows):
        options = row.config["backbone_options"]
        shape = (options["width"], options["layers"])
        rows = found.setdefault(shape, {})
        if row.method in rows:
            raise UsageError(
                f"expected one row of {row.method} on rung {rung_name(*shape)}, found those with {row.settings} and "
                f"{rows[row.method].settings}; give each ladder a store of its own (--results)"
            )
        rows[row.method] = row
    return found


def training_records(store: Store, task: str) -> dict[str, Mapping[str, Any]]:
    """Return the record of every trained cell of a task by its key."""
    return {cell.trained["key"]: cell.trained for cell in read_cells(store, {task}) if cell.trained is not None}


def diverged_by_shape(trainings: Mapping[str, Mapping[str, Any]]) -> dict[Shape, set[str]]:
    """Return the methods of which a cell diverged, by the shape of its model.

    Args:
        trainings: records by key.
    """
    found: dict[Shape, set[str]] = {}
    for record in trainings.values():
        config = record["config"]
        if record["status"] == "diverged" and config["backbone"] == BACKBONE:
            options = config["backbone_options"]
            found.setdefault((options["width"], options["layers"]), set()).add(config["method"])
    return found


def rung_of(
    shape: Shape,
    rows: Mapping[str, TableRow],
    seeds: Set[int],
    columns: Sequence[str],
    trainings: Mapping[str, Mapping[str, Any]],
) -> Rung:
    """Return the scores of one size.

    Args:
        shape: of its models.
        rows: by method.
        seeds: that every method has.
        columns: the metrics that are shown.
        trainings: records by key.
    """
    record = trainings[min(rows[BASELINE].keys)]
    train = record["train"]
    epochs = train["steps"] * record["config"]["trainer"]["batch_size"] / train["rows"]
    values = {column: values_of(column, rows, seeds) for column in columns}
    with_values = {column: methods for column, methods in values.items() if methods}
    return Rung(rung_name(*shape), parameters_of(*shape), epochs, with_values)


def values_of(column: str, rows: Mapping[str, TableRow], seeds: Set[int]) -> dict[str, dict[int, float]]:
    """Return the values of a column by method and seed, of the methods that have it on every seed."""
    found = {}
    for method, row in rows.items():
        value = row.values.get(column)
        if value is not None and not value.conflict and set(value.by_seed) >= seeds:
            found[method] = {seed: value.by_seed[seed] for seed in sorted(seeds)}
    return found


def directions(table: Table) -> dict[str, bool]:
    """Return whether higher is better, of each column that has a better direction."""
    found: dict[str, bool] = {}
    for row in filter(is_of_ladder, table.rows):
        for column in table.columns:
            value = row.values.get(column)
            if value is not None and value.higher_is_better is not None:
                found[column] = value.higher_is_better
    return found
