"""Verify: compute values and keys of stored runs again, and look for leaks in the data that they were made with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.cells.completion import has_only_numbers
from bench.cells.score import Tasks
from bench.errors import BenchError, DamagedError, DataError
from bench.store.fields import is_imported
from bench.store.store import CellFolder, damaged_checkpoint
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


Evaluated = dict[int, tuple[Task, set[str]]]
"""Tasks by their identity, each with the splits that runs were evaluated on."""


def verify(folders: Iterable[CellFolder], tasks: Tasks) -> Verification:
    """Verify trained runs: values and keys of all; checkpoints and data where there are predictions.

    Args:
        folders: of the runs.
        tasks: find the data that the runs were made with.
    """
    found, data = Verification(), Evaluated()
    for folder in folders:
        try:
            _verify_run(folder, tasks, found, data)
        except DamagedError as error:
            found.differences.append(str(error))
    for task, splits in data.values():
        try:
            for leak in leaks(task, sorted(splits)):
                (found.differences if leak.is_certain else found.notes).append(leak.text)
        except BenchError as error:
            found.not_checked[f"{task.name} · leaks"] = error
    return found


def _verify_run(folder: CellFolder, tasks: Tasks, found: Verification, data: Evaluated) -> None:
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
    found.check_scores(folder, rows)
    if folder.files.is_snapshot or has_only_numbers(folder):
        return
    if damaged := damaged_checkpoint(folder):
        found.differences.append(str(damaged))
    if not is_imported(record):
        try:
            for stored in rows:
                task = tasks.of(record, stored, folder)
                there, here = record["data"]["train"]["sha256"], task.manifest("train").sha256
                if there != here:
                    raise DataError(f"{task.name}: the run was trained on rows {there[:12]}, here are rows {here[:12]}")
                data.setdefault(id(task), (task, set()))[1].add(stored.content["split"])
        except BenchError as error:
            found.not_checked[f"{folder.path} · leaks"] = error
