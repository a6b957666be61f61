"""Joining: the runs of one store are copied into another; nothing there is overwritten, and conflicts are named.

Two files are the same if their bytes are, or if their content has the same hash: when and where it was made does not
count. A snapshot has records and sums only. Its numbers stand without predictions, so a run beside them makes only
what is missing.
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
from bench.store.damage import damage_in
from bench.store.files import DISK
from bench.store.reading import read_cell
from bench.store.records import read_rows, whole_record
from bench.store.snapshot import Snapshot
from bench.store.store import TOKENIZER, CellFolder, Store

__all__ = ["Joined", "join"]

KINDS = {"trained.json": "trained", "scores-": "scores", "grid-": "grid"}
"""Kinds of the records whose provenance may differ, by the beginning of a name."""
CONFIG = "config.yaml"
"""Repeats the last run; another one is no conflict, and the one that is there stays."""


@dataclass
class Joined:
    """What was copied.

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
    joined = Joined()
    Store(target).files.check_writable()
    store = Store(source)
    if isinstance(store.files, Snapshot):
        for cell in store.cells():
            place = cell.path.relative_to(source).as_posix()
            _join_kept(cell, CellFolder(target / place), place, joined)
        return joined
    if not source.is_dir():
        raise StoreError(f"'{source}' is no folder; expected a results folder or a snapshot")
    for listed in DISK.scan(source):
        ours, theirs = CellFolder(listed.path), CellFolder(target / listed.place)
        damaged = list(damage_in(ours, read_cell(store, ours).damaged))
        joined.damaged += damaged
        _join_run(ours, theirs, listed.place, {error.path.name for error in damaged}, joined)
    return joined


def _join_run(ours: CellFolder, theirs: CellFolder, place: str, damaged: set[str], joined: Joined) -> None:
    """Copy one run; its record goes last, since it says that the checkpoint beside it is whole."""
    if _differs(ours, theirs, "trained.json", damaged):
        joined.conflicts.append(f"{place}/trained.json")
        return
    wanted = [name for name in _names(ours) if name not in damaged]
    unlike = {name for name in wanted if _differs(ours, theirs, name, damaged)}
    unlike |= {name for name in wanted if name.startswith("scores-") and _predictions_of(ours, name) in unlike}
    for name in wanted:
        if name in unlike:
            joined.conflicts.append(f"{place}/{name}")
        elif theirs.has(name):
            joined.same += 1
        else:
            _copy(ours.path / name, theirs.path / name)
            joined.copied.append(f"{place}/{name}")


def _join_kept(ours: CellFolder, theirs: CellFolder, place: str, joined: Joined) -> None:
    """Copy the records of one kept run and the sums that they name; its record of training goes last."""
    unlike = {name for name in _names(ours) if theirs.has(name) and _hash(ours, name) != _hash(theirs, name)}
    if "trained.json" in unlike:
        joined.conflicts.append(f"{place}/trained.json")
        return
    for name in _names(ours):
        if name in unlike:
            joined.conflicts.append(f"{place}/{name}")
            continue
        if theirs.has(name):
            joined.same += 1
        for own, content in _files_of(ours, name):
            if theirs.has(own):
                continue
            write_atomic(theirs.path / own, content)
            joined.copied.append(f"{place}/{own}")


def _files_of(cell: CellFolder, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files that a kept record was in a results folder: the sums that it names, if they are kept, and it."""
    if name.startswith("scores-"):
        scores = cell.scores(name.removeprefix("scores-").removesuffix(".json")) or {}
        path = cell.sums_path(str(scores.get("items", "")))
        if cell.files.exists(path):
            yield path.name, cell.files.read(path)
    yield name, cell.files.read(cell.path / name)


def _names(cell: CellFolder) -> Iterator[str]:
    """Yield the names of the files to copy, those that others depend on first; notes of failures are not copied."""
    for pattern in (CONFIG, TOKENIZER, "model-*", "rows-*", "items-*", "scores-*", "grid-*", "trained.json"):
        yield from cell.names(pattern)


def _predictions_of(cell: CellFolder, name: str) -> str:
    """Return the name of the file of predictions that scores are of."""
    scores = cell.scores(name.removeprefix("scores-").removesuffix(".json")) or {}
    return cell.rows_path(str(scores.get("rows", ""))).name


def _differs(ours: CellFolder, theirs: CellFolder, name: str, damaged: set[str]) -> bool:
    """Return whether both have a file and not the same one; a damaged one of theirs differs."""
    if name == CONFIG or name in damaged or not (ours.has(name) and theirs.has(name)):
        return False
    if filecmp.cmp(ours.path / name, theirs.path / name, shallow=False):
        return False
    try:
        return _hash(ours, name) != _hash(theirs, name)
    except DamagedError:
        return True


def _hash(cell: CellFolder, name: str) -> str:
    """Return the hash of the content of a file; its path, which no other file has, where only its bytes count.

    Raises:
        DamagedError: it cannot be read.
    """
    path = cell.path / name
    if name.startswith("rows-"):
        return read_rows(path).sha256
    for start, kind in KINDS.items():
        if name.startswith(start):
            return str((whole_record(path, kind, cell.files) or {}).get("sha256"))
    return str(path)


def _copy(source: Path, target: Path) -> None:
    """Copy a file whole or not at all.

    Raises:
        StoreError: it cannot be read or written.
    """

    def fill(file: BinaryIO) -> None:
        with open(source, "rb") as content:
            shutil.copyfileobj(content, file)

    write_atomic(target, fill)
