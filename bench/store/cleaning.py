"""Cleaning: what lies in a store and is of no use any more, and how many bytes it takes.

Orphans are temporaries and scratch folders of processes that are gone, training states of cells that are trained, kept
batches of evaluations whose rows are stored, and checkpoints that no record vouches for. A cell in which anything
changed within the last hour may be in use, and is left alone.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.base.files import abandoned
from bench.errors import DamagedError, StoreError
from bench.store.files import DISK
from bench.store.partial_rows import PARTIAL
from bench.store.state_files import STATE
from bench.store.store import CellFolder

__all__ = ["BUSY_S", "Unneeded", "checkpoints_of", "is_busy", "measured", "remove", "unneeded", "unneeded_checkpoints"]

BUSY_S = 3600
"""Seconds without a change after which nobody works on a cell: a run keeps its state every few minutes."""


@dataclass(frozen=True)
class Unneeded:
    """A file or folder that may go.

    Args:
        path: of it.
        why: it is of no use.
        size: bytes on disk of all in it.
    """

    path: Path
    why: str
    size: int


def unneeded(root: Path, *, unfinished: bool = False) -> Iterator[Unneeded]:
    """Yield the orphans of a results folder.

    Args:
        root: of the store.
        unfinished: also what an unfinished cell would go on from.
    """
    for depth in ("*/*/*", "*/*/*/*"):
        for path in sorted(root.glob(f"{depth}/.*.tmp")):
            if abandoned(path):
                yield measured(path, "a temporary file of a process that is gone")
    for path in sorted(root.glob(".work/*")):
        if abandoned(path):
            yield measured(path, "a scratch folder of a process that is gone")
    for folder in _cell_folders(root):
        if not is_busy(folder):
            yield from _in_cell(CellFolder(folder), unfinished)


def _cell_folders(root: Path) -> Iterator[Path]:
    """Yield every folder at the depth of cells, trained or not."""
    for path in sorted(root.glob("[a-z0-9]*/*/*")):
        if path.is_dir():
            yield path


def _in_cell(cell: CellFolder, unfinished: bool) -> Iterator[Unneeded]:
    """Yield the orphans of one cell; a cell whose record is damaged keeps everything."""
    try:
        trained = cell.trained()
    except DamagedError:
        return
    for path in sorted((cell.path / STATE).glob("*")):
        if trained is not None:
            yield measured(path, "a training state of a cell that is trained")
        elif unfinished:
            yield measured(path, "a training state of an unfinished cell")
    for path in sorted((cell.path / PARTIAL).glob("*")):
        if cell.has(cell.rows_path(path.name.partition(".")[0]).name):
            yield measured(path, "a part of rows that are stored")
        elif unfinished:
            yield measured(path, "a part of an unfinished evaluation")
    vouched = ""
    if trained is not None and "model" in trained:
        vouched = cell.checkpoint(trained["model"]["checkpoint_sha256"]).name
    for name in cell.names("model-*.safetensors"):
        if name != vouched:
            yield measured(cell.path / name, "a checkpoint that no record vouches for")


def unneeded_checkpoints(root: Path, kept: Collection[Path] = ()) -> Iterator[Unneeded]:
    """Yield the checkpoints of trained cells; their records, rows and scores stay.

    Args:
        root: of the store.
        kept: folders of cells that keep theirs.
    """
    for listed in DISK.scan(root):
        cell = CellFolder(listed.path)
        if cell.path in kept or is_busy(cell.path) or not cell.has("trained.json"):
            continue
        yield from checkpoints_of(cell)


def checkpoints_of(cell: CellFolder) -> list[Unneeded]:
    """Return the checkpoints of a cell, with their bytes."""
    names = cell.names("model-*.safetensors")
    return [measured(cell.path / name, "a checkpoint, by --checkpoints") for name in names]


def is_busy(folder: Path) -> bool:
    """Return whether anything in a cell's folder changed within the last hour; a folder that is gone is not busy."""
    try:
        youngest = max(path.stat().st_mtime for path in [folder, *folder.rglob("*")])
    except OSError:  # somebody removes files at this moment
        return folder.exists()
    return time.time() - youngest < BUSY_S


def remove(files: Collection[Unneeded]) -> None:
    """Remove files and folders, and the folders that are then empty.

    Raises:
        StoreError: one cannot be removed.
    """
    for file in files:
        try:
            if file.path.is_dir():
                shutil.rmtree(file.path)
            else:
                file.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove '{file.path}': {error}") from error
    for folder in {file.path.parent for file in files if file.path.parent.name in (STATE, PARTIAL, ".work")}:
        if not any(folder.iterdir()):
            folder.rmdir()


def measured(path: Path, why: str) -> Unneeded:
    """Return a file, or a folder with all in it, that may go, with its bytes."""
    inside = [path]
    if path.is_dir():
        inside = list(path.rglob("*"))
    size = 0
    for part in inside:
        if part.is_file():
            size += part.stat().st_size
    return Unneeded(path, why, size)
