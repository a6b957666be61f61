"""Files that can be deleted: those that no run needs, checkpoints, and whole runs.

Unused files are temporary files and scratch folders of processes that have ended, training states of runs that are
trained, finished batches of evaluations whose predictions are stored, and checkpoints that no record names.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.base.files import abandoned
from bench.errors import DamagedError, StoreError
from bench.store.files import run_folders
from bench.store.partial_rows import PARTIAL
from bench.store.state_files import STATE
from bench.store.store import CellFolder


@dataclass(frozen=True)
class Unused:
    """A file or folder that can be deleted.

    Args:
        path: of it.
        why: no run needs it.
        size: bytes of all files in it.
    """

    path: Path
    why: str
    size: int


def unused(root: Path, is_in_progress: Callable[[Path], bool]) -> Iterator[Unused]:
    """Yield the files of a results folder that no run needs.

    Args:
        root: of the store.
        is_in_progress: whether a process works on the run in a folder; such a run is left alone.
    """
    for depth in ("*/*/*", "*/*/*/*"):
        for path in sorted(root.glob(f"{depth}/.*.tmp")):
            if abandoned(path):
                yield measured(path, "a temporary file of a process that has ended")
    for path in sorted(root.glob(".work/*")):
        if abandoned(path):
            yield measured(path, "a scratch folder of a process that has ended")
    for folder in run_folders(root):
        if not is_in_progress(folder):
            yield from _unused_in(CellFolder(folder))


def _unused_in(run: CellFolder) -> Iterator[Unused]:
    """Yield the unused files of one run; a run whose record is damaged keeps everything."""
    try:
        trained = run.trained()
    except DamagedError:
        return
    if trained is not None:
        for path in sorted((run.path / STATE).glob("*")):
            yield measured(path, "a training state of a run that is trained")
    for path in sorted((run.path / PARTIAL).glob("*")):
        if run.has(run.rows_path(path.name.partition(".")[0]).name):
            yield measured(path, "a part of predictions that are stored")
    named = ""
    if trained is not None and "model" in trained:
        named = run.checkpoint(trained["model"]["checkpoint_sha256"]).name
    for name in run.names("model-*.safetensors"):
        if name != named:
            yield measured(run.path / name, "a checkpoint that no record names")


def checkpoints_of(run: CellFolder) -> list[Unused]:
    """Return the checkpoints of a run."""
    return [measured(run.path / name, "a checkpoint") for name in run.names("model-*.safetensors")]


def remove(files: Collection[Unused]) -> None:
    """Remove files and folders, and the folders that are empty then.

    Raises:
        StoreError: a file cannot be removed.
    """
    for file in files:
        try:
            if file.path.is_dir():
                shutil.rmtree(file.path)
            else:
                file.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove '{file.path}': {error}") from error
    parents = {parent for file in files for parent in file.path.parents[:2]}
    for folder in sorted(parents, key=lambda parent: len(parent.parts), reverse=True):
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()


def measured(path: Path, why: str) -> Unused:
    """Return a file, or a folder with all files in it, with its bytes."""
    inside = [path]
    if path.is_dir():
        inside = list(path.rglob("*"))
    return Unused(path, why, sum(part.stat().st_size for part in inside if part.is_file()))
