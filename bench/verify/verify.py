"""Verify: compute values and keys of stored runs again, and look for leaks in the data that they were made with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.cells.score import Tasks
from bench.cells.standing import has_only_numbers
from bench.errors import BenchError, DamagedError, DataError
from bench.store.damage import damaged_checkpoint
from bench.store.fields import is_imported
from bench.store.snapshot import Snapshot
from bench.store.store import CellFolder, StoredRows
from bench.tasks.core.task import Task
from bench.verify.keys import key_differences
from bench.verify.leaks import leaks
from bench.verify.values import Values

__all__ = ["Verification", "verify"]


@dataclass
class Verification:
    """The result of a verification.

    Args:
        values: what was found about stored values.
        n_keys: number of runs whose records have the keys that they are stored under.
        differences: damaged files, other keys and leaks, one line each; those of values are in `values`.
        notes: findings that may have a good reason.
        not_checked: what could not be checked because data, code or weights are missing, and why, by place.
    """

    values: Values = field(default_factory=Values)
    n_keys: int = 0
    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_checked: dict[str, BenchError] = field(default_factory=dict)


@dataclass
class _Read:
    """The splits of a task that runs were evaluated on."""

    task: Task
    splits: set[str] = field(default_factory=set)
    reads_exemplars: bool = False


def verify(folders: Iterable[CellFolder], tasks: Tasks) -> Verification:
    """Verify trained runs.

    Values and keys are checked for all runs. The weights and the data are read where there are predictions: a snapshot
    has neither.

    Args:
        folders: of the runs.
        tasks: find the data that the runs were made with.
    """
    found = Verification()
    data: dict[int, _Read] = {}
    for folder in folders:
        try:
            _verify_run(folder, tasks, found, data)
        except DamagedError as error:
            found.differences.append(str(error))
    for read in data.values():
        try:
            for leak in leaks(read.task, sorted(read.splits), reads_exemplars=read.reads_exemplars):
                (found.differences if leak.is_certain else found.notes).append(leak.text)
        except BenchError as error:
            found.not_checked[f"{read.task.name} · leaks"] = error
    return found


def _verify_run(folder: CellFolder, tasks: Tasks, found: Verification, data: dict[int, _Read]) -> None:
    """Verify the values, the keys and the checkpoint of one run; remember its data.

    Raises:
        DamagedError: a file cannot be read.
    """
    record = folder.trained()
    if record is None:
        return
    rows = folder.all_rows()
    _verify_keys(folder, record, rows, found)
    if isinstance(folder.files, Snapshot) or has_only_numbers(folder):
        found.values.check_sums(folder)
        return
    damaged = damaged_checkpoint(folder)
    if damaged is not None:
        found.differences.append(str(damaged))
    n_not_checked = len(found.values.not_checked)
    found.values.check_predictions(folder, rows, tasks)
    if len(found.values.not_checked) == n_not_checked and not is_imported(record):
        _remember_data(folder, record, rows, tasks, found, data)


def _verify_keys(folder: CellFolder, record: dict[str, Any], rows: Sequence[StoredRows], found: Verification) -> None:
    """Compare the keys of a run with those of its records."""
    try:
        lines = list(key_differences(folder, record, rows))
    except DamagedError:
        raise
    except BenchError as error:
        found.not_checked[f"{folder.path} · key"] = error
        return
    found.n_keys += not lines
    found.differences += [f"{folder.path}: {line}" for line in lines]


def _remember_data(
    folder: CellFolder,
    record: dict[str, Any],
    rows: Sequence[StoredRows],
    tasks: Tasks,
    found: Verification,
    data: dict[int, _Read],
) -> None:
    """Remember which splits of which data a run was evaluated on, if the training rows are those it learned from."""
    try:
        task = tasks.task_of(record, folder)
        there, here = record["data"]["train"]["sha256"], task.manifest("train").sha256
        if there != here:
            raise DataError(f"{task.name}: the run was trained on rows {there[:12]}, here are rows {here[:12]}")
    except BenchError as error:
        found.not_checked[f"{folder.path} · leaks"] = error
        return
    read = data.setdefault(id(task), _Read(task))
    read.splits |= {stored.content["split"] for stored in rows}
    read.reads_exemplars |= any(stored.content["exemplars"] for stored in rows)
