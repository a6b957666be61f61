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
class Verification(Values):
    """What was found about values, keys, files and data; a difference of any of them is a line in `differences`.

    Args:
        keys: number of runs whose records have the keys that they are stored under.
        notes: findings about data that may have a good reason.
    """

    keys: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass
class _Read:
    """The splits of a task that runs were evaluated on."""

    task: Task
    splits: set[str] = field(default_factory=set)
    reads_exemplars: bool = False


def verify(folders: Iterable[CellFolder], tasks: Tasks) -> Verification:
    """Verify trained runs: values and keys of all; checkpoints and data where there are predictions.

    Args:
        folders: of the runs.
        tasks: find the data that the runs were made with.
    """
    found, data = Verification(), dict[int, _Read]()
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
    """Verify the keys, the values and the checkpoint of one run; remember its data.

    Raises:
        DamagedError: a file cannot be read.
    """
    record = folder.trained()
    if record is None:
        return
    rows = folder.all_rows()
    try:
        lines = list(key_differences(folder, record, rows))
        found.keys += not lines
        found.differences += [f"{folder.path}: {line}" for line in lines]
    except DamagedError:
        raise
    except BenchError as error:
        found.not_checked[f"{folder.path} · key"] = error
    if isinstance(folder.files, Snapshot) or has_only_numbers(folder):
        found.check_sums(folder)
        return
    if damaged := damaged_checkpoint(folder):
        found.differences.append(str(damaged))
    n_not_checked = len(found.not_checked)
    found.check_predictions(folder, rows, tasks)
    if len(found.not_checked) == n_not_checked and not is_imported(record):
        try:
            _remember(data, _task_of(folder, record, tasks), rows)
        except BenchError as error:
            found.not_checked[f"{folder.path} · leaks"] = error


def _task_of(folder: CellFolder, record: dict[str, Any], tasks: Tasks) -> Task:
    """Return the task of a run with its data.

    Raises:
        DataError: the training rows here are not those that the run learned from.
    """
    task = tasks.task_of(record, folder)
    there, here = record["data"]["train"]["sha256"], task.manifest("train").sha256
    if there != here:
        raise DataError(f"{task.name}: the run was trained on rows {there[:12]}, here are rows {here[:12]}")
    return task


def _remember(data: dict[int, _Read], task: Task, rows: Sequence[StoredRows]) -> None:
    """Remember which splits of a task predictions are of."""
    read = data.setdefault(id(task), _Read(task))
    read.splits |= {stored.content["split"] for stored in rows}
    read.reads_exemplars |= any(stored.content["exemplars"] for stored in rows)
