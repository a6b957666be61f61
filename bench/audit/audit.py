"""Audit: every check of a store, in order: files, records, scores, data, replay, and the cells among each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bench.audit.across import check_copies, check_seeds
from bench.audit.data import check_data
from bench.audit.finding import Finding, alarm, question
from bench.audit.numbers import check_numbers, check_sums, said_of_numbers
from bench.audit.records import check_names, check_record, check_rows
from bench.audit.remade import StoredCell, remade
from bench.audit.replay import Effort, replay
from bench.audit.searches import check_searches, check_settings
from bench.cells.score import Tasks, cells_of
from bench.cells.scores_check import checked_scores
from bench.errors import BenchError, DamagedError, MissingError
from bench.store.kept_board import KeptBoard
from bench.store.store import CellFolder
from bench.tasks.core.task import Task

__all__ = ["audit"]


def audit(
    places: Sequence[Path], tasks: Tasks, effort: Effort, say: Callable[[str], None] = lambda line: None
) -> Iterator[Finding]:
    """Yield whatever is not as it should be in some stores.

    Args:
        places: cells, or folders above them.
        tasks: read the data that the cells were made of.
        effort: how much is trained and evaluated once more.
        say: told which cell is looked at.

    Raises:
        MissingError: there is no cell, or a place is a kept board, which has neither weights nor rows.
    """
    cells: list[StoredCell] = []
    for folder in cells_of(places):
        if isinstance(folder.files, KeptBoard):
            raise MissingError(
                f"'{folder.path}' is in a kept board, without weights and rows; audit the results folder"
            )
        try:
            stored = read(folder)
        except DamagedError as error:
            yield alarm("files", folder.path, str(error))
            continue
        if stored is not None:
            cells.append(stored)
    for stored in cells:
        say(stored.place)
        if stored.is_numbers_only:
            yield from check_numbers(stored, tasks)
        else:
            yield from check_cell(stored, tasks, effort)
    yield from said_of_numbers([stored for stored in cells if stored.is_numbers_only])
    yield from check_sums(cells)
    yield from check_all_data(cells, tasks)
    yield from check_copies(cells)
    yield from check_seeds(cells)
    yield from check_searches(cells)
    yield from check_settings(cells)


def read(folder: CellFolder) -> StoredCell | None:
    """Return a cell with its rows, None where it is not trained.

    Raises:
        DamagedError: one of its files is not what was stored.
    """
    record = folder.trained()
    if record is None:
        return None
    return StoredCell(folder, record, tuple(folder.all_rows()))


def check_cell(stored: StoredCell, tasks: Tasks, effort: Effort) -> Iterator[Finding]:
    """Check one cell; what it is made of is replayed where its record, data and code are what they say."""
    yield from check_names(stored)
    try:
        cell = remade(stored, tasks)
        found = [*check_record(stored, cell)]
        for rows in stored.rows:
            found += check_rows(stored, rows, cell)
    except BenchError as error:
        yield question("not checked", stored.place, str(error))
        return
    yield from found
    try:
        checked = checked_scores(stored.folder, tasks)
        for line in checked.differences:
            yield alarm("scores", stored.place, line)
        for why in checked.not_checked.values():
            yield alarm("scores", stored.place, f"cannot be made again: {why}")
        is_of_another_code = any(finding.check in ("code", "data", "key") for finding in found)
        if stored.record["status"] == "ok" and not is_of_another_code:
            yield from replay(stored, cell, effort)
    except DamagedError as error:
        yield alarm("files", stored.place, str(error))
    except BenchError as error:
        yield alarm("replay", stored.place, f"cannot be made again: {error}")


def check_all_data(cells: Iterable[StoredCell], tasks: Tasks) -> Iterator[Finding]:
    """Check the data of every task once, in the splits that its cells were evaluated on."""
    splits: dict[int, tuple[Task, set[str], set[bool]]] = {}
    for stored in cells:
        try:
            task = tasks.task_of(stored.record, stored.folder)
        except BenchError:
            continue  # said with the cell
        _, names, exemplars = splits.setdefault(id(task), (task, set(), set()))
        names.update(rows.content["split"] for rows in stored.rows)
        exemplars.update(bool(rows.content["exemplars"]) for rows in stored.rows)
    for task, names, exemplars in splits.values():
        try:
            yield from check_data(task, sorted(names), any(exemplars))
        except BenchError as error:
            yield question("not checked", task.name, str(error))
