"""Joining: the runs of one store are copied into another. Nothing there is overwritten, and conflicts are named.

Two files are the same if their bytes are, or if their contents have the same hash: time and place do not count. A
snapshot has records and statistics only; `bench run` then makes only what these do not have.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bench.base.files import write_atomic
from bench.errors import DamagedError, StoreError
from bench.store.fields import FIELDS
from bench.store.files import Disk
from bench.store.reading import read_cell, readable_rows
from bench.store.records import read_rows, whole_record
from bench.store.store import TOKENIZER, CellFolder, Store, damaged_checkpoint

CONFIG = "config.yaml"
"""Repeats the last run; another one is no conflict, and the one that is there stays."""


@dataclass
class Joined:
    """The result of joining.

    Args:
        copied: files, below the store.
        same: number of files that were there already.
        conflicts: files that differ in the two stores, below the store.
        damaged: files that cannot be read; they are not copied.
    """

    copied: list[str] = field(default_factory=list)
    same: int = 0
    conflicts: list[str] = field(default_factory=list)
    damaged: list[DamagedError] = field(default_factory=list)


def join(source: Path, target: Path) -> Joined:
    """Copy the runs of a store into a results folder.

    Every file is read whole and checked first. Nothing is copied of a run whose training differs in the two stores.

    Args:
        source: a results folder or a snapshot; only read.
        target: a results folder; nothing in it is changed or removed.

    Raises:
        UsageError: the target is a snapshot.
        StoreError: a folder is not there, a snapshot is damaged, or a file cannot be written.
    """
    joined, store = Joined(), Store(source)
    Store(target).files.check_writable()
    if isinstance(store.files, Disk) and not source.is_dir():
        raise StoreError(f"'{source}' is no folder; expected a results folder or a snapshot")
    for cell in store.cells():
        read_cell(store, cell)
        list(readable_rows(store, cell))
        if cell.path / "trained.json" not in store.damaged and (error := damaged_checkpoint(cell)):
            store.note(error)
        place = cell.path.relative_to(source)
        names = [name for name in _names(cell) if cell.path / name not in store.damaged]
        _join_run(cell, CellFolder(target / place), place.as_posix(), names, joined)
    joined.damaged = list(store.damaged.values())
    return joined


def _join_run(ours: CellFolder, theirs: CellFolder, place: str, names: list[str], joined: Joined) -> None:
    """Copy files of one run; its record goes last, since it says that its checkpoint is whole."""
    unlike = {name for name in names if theirs.has(name) and _differs(ours, theirs, name)}
    if "trained.json" in unlike:
        joined.conflicts.append(f"{place}/trained.json")
        return
    for name in names:
        is_of_others = name.startswith("scores-") and f"rows-{_scores_field(ours, name, 'rows')}.jsonl.gz" in unlike
        if name in unlike or is_of_others:
            joined.conflicts.append(f"{place}/{name}")
        elif theirs.has(name):
            joined.same += 1
        else:
            _copy(ours, theirs.path / name)
            joined.copied.append(f"{place}/{name}")


def _copy(ours: CellFolder, target: Path) -> None:
    """Copy a file whole or not at all; a checkpoint may be too large to be held in memory.

    Raises:
        StoreError: it cannot be read or written.
    """

    def fill(file: BinaryIO) -> None:
        with open(ours.path / target.name, "rb") as content:
            shutil.copyfileobj(content, file)

    write_atomic(target, fill if isinstance(ours.files, Disk) else ours.files.read(ours.path / target.name))


def _names(cell: CellFolder) -> Iterator[str]:
    """Yield the names of the files to copy, those that others depend on first; notes of failures are not copied."""
    if not isinstance(cell.files, Disk):  # a snapshot does not list its statistics
        statistics = {cell.sums_path(_scores_field(cell, name, "items")).name for name in cell.names("scores-*")}
        yield from sorted(filter(cell.has, statistics))
    for pattern in (CONFIG, TOKENIZER, "model-*", "rows-*", "items-*", "scores-*", "grid-*", "trained.json"):
        yield from cell.names(pattern)


def _scores_field(cell: CellFolder, name: str, of: str) -> str:
    """Return a field of the scores file of a name; empty where it does not have it."""
    return str((cell.scores(name.removeprefix("scores-").removesuffix(".json")) or {}).get(of, ""))


def _differs(ours: CellFolder, theirs: CellFolder, name: str) -> bool:
    """Return whether two stores have different files of the same name; a damaged file in the target differs."""
    if name.startswith((CONFIG, "items-")):  # another one is no conflict; statistics are named by their hash
        return False
    if name.startswith("model-"):  # too large to be held in memory
        return not filecmp.cmp(ours.path / name, theirs.path / name, shallow=False)
    try:
        if ours.files.read(ours.path / name) == (theirs.path / name).read_bytes():
            return False
        if name.startswith("rows-"):
            return read_rows(ours.path / name).sha256 != read_rows(theirs.path / name).sha256
        kind = name.partition(".")[0].partition("-")[0]
        if kind not in FIELDS:
            return True
        records = [whole_record(cell.path / name, kind, cell.files) or {} for cell in (ours, theirs)]
        return records[0].get("sha256") != records[1].get("sha256")
    except (DamagedError, OSError):
        return True
