"""Reading: the scores of a ladder from a store or a kept board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bench.config.resolve import find_method
from bench.errors import DataError, MissingError, UsageError
from bench.ladder.files import forecast_paths
from bench.ladder.sizes import parameters_of, rung_name
from bench.ladder.stored_cells import Shape, StoredCells, stored_cells
from bench.ladder.wholeness import expected, found_on
from bench.leaderboards.claim.claim_files import names, read
from bench.leaderboards.ladder.claims import claim_questions
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast import Forecast
from bench.leaderboards.ladder.forecast_files import read_forecast
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.baseline import BASELINE
from bench.store.store import Store

__all__ = ["StoredForecasts", "StoredLadder", "stored_forecasts", "stored_ladder"]

PERPLEXITY = "perplexity|"
"""How the signature of what is made of likelihoods alone begins."""


@dataclass(frozen=True)
class StoredLadder:
    """The ladder of a store.

    Args:
        ladder: its whole rungs.
        notes: what is left out, and why, for people.
        rates: the learning rates that were picked, by rung and method.
        decodings: by method.
    """

    ladder: Ladder
    notes: Sequence[str] = ()
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    decodings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def findings(self) -> Findings:
        """What follows from it, with what papers say of its methods."""
        return Findings(self.ladder, claim_questions(map(read, names()), self.ladder, self.decodings))


def stored_ladder(store: Store, task: str) -> StoredLadder:
    """Return the whole rungs of a task: those with every method on every seed, but for methods that diverged there.

    Args:
        store: read only.
        task: its name.

    Raises:
        MissingError: there is no whole rung with the baseline.
        UsageError: a rung has two rows of one method.
        StoreError: the plan of a ladder cannot be read.
    """
    cells = stored_cells(store, task)
    notes: list[str] = []
    rungs: list[Rung] = []
    rates: dict[str, dict[str, float]] = {}
    for shape in sorted(cells.rows, key=lambda shape: parameters_of(*shape)):
        found = found_on(cells, shape, expected(store.root, task, cells, shape))
        name = rung_name(*shape)
        notes += [f"{method} is left out of rung {name}: it diverged there" for method in found.diverged]
        if found.lacking or BASELINE not in found.seeds:
            lacking = ", ".join(found.lacking) or BASELINE
            notes.append(f"rung {name} is left out: it is not whole, seeds are missing of {lacking}")
        else:
            rungs.append(rung_of(shape, cells, found.seeds))
            rates[name] = {method: cells.rows[shape][method].config["trainer"]["lr"] for method in found.seeds}
    if not rungs:
        said = "; ".join(["", *notes])
        raise MissingError(f"'{store.root}' has no whole rung of a ladder of {task}{said}; bench ladder runs them")
    decodings = {method: row.decoding for rows in cells.rows.values() for method, row in rows.items()}
    return StoredLadder(Ladder(task, BASELINE, tuple(rungs), directions(cells)), notes, rates, decodings)


@dataclass(frozen=True)
class StoredForecasts:
    """The forecasts of a task's ladders.

    Args:
        forecasts: each once, in the order of their files.
        unreadable: why a file holds none that can be read, by the file's name.
    """

    forecasts: Sequence[Forecast]
    unreadable: Mapping[str, str] = field(default_factory=dict)


def stored_forecasts(results: Path, task: str) -> StoredForecasts:
    """Return the forecasts of a task in a store, or beside a kept board; a file that cannot be read costs no other.

    Nobody knows the task of an unreadable file, so it is named in the report of every task.
    """
    found: dict[str, Forecast] = {}
    unreadable: dict[str, str] = {}
    for path in forecast_paths(results):
        try:
            forecast = read_forecast(path)
        except DataError as error:
            unreadable[path.name] = str(error)
            continue
        if forecast.task == task:
            found[forecast.sha256] = forecast
    return StoredForecasts(list(found.values()), unreadable)


def rung_of(shape: Shape, cells: StoredCells, seeds: Mapping[str, Set[int]]) -> Rung:
    """Return the scores of one size.

    Args:
        shape: of its models.
        cells: of the ladder.
        seeds: by method that is whole.
    """
    rows = cells.rows[shape]
    record = cells.records[min(rows[BASELINE].keys & cells.picked)]
    train = record["train"]
    epochs = train["steps"] * record["config"]["trainer"]["batch_size"] / train["rows"]
    values = {column: values_of(column, rows, seeds) for column in cells.table.columns}
    with_values = {column: methods for column, methods in values.items() if methods}
    return Rung(rung_name(*shape), parameters_of(*shape), epochs, with_values, train["tokens"])


def values_of(column: str, rows: Mapping[str, TableRow], seeds: Mapping[str, Set[int]]) -> dict[str, dict[int, float]]:
    """Return the values of a column by method and seed, of the methods that have it on every seed.

    Left out are values that are no measure of a method: see `is_comparable`.
    """
    found = {}
    for method, own in seeds.items():
        value = rows[method].values.get(column)
        if value is None or not is_comparable(method, value, rows, column):
            continue
        if not value.conflict and set(value.by_seed) >= own:
            found[method] = {seed: value.by_seed[seed] for seed in sorted(own)}
    return found


def is_comparable(method: str, value: Value, rows: Mapping[str, TableRow], column: str) -> bool:
    """Return whether a value says something of its method, beside other methods.

    The perplexity of a control that only decodes another method's cell is that one's own, a second time. That of
    smoothed likelihoods depends on what probabilities are raised by.
    """
    read = rows[method].config["method"]
    if read != method and read in rows and rows[read].values.get(column) is value:
        return False
    if not value.signature.startswith(PERPLEXITY):
        return True
    try:
        return not getattr(find_method(method).kind, "smoothed_likelihood", False)
    except UsageError:  # a method that this program does not know
        return True


def directions(cells: StoredCells) -> dict[str, bool]:
    """Return whether higher is better, of each column that has a better direction."""
    found: dict[str, bool] = {}
    for rows in cells.rows.values():
        for row in rows.values():
            for column in cells.table.columns:
                value = row.values.get(column)
                if value is not None and value.higher_is_better is not None:
                    found[column] = value.higher_is_better
    return found
