"""Joining: the runs of one store are copied into another; nothing there is overwritten, and conflicts are named.

Two files are the same if their bytes are, or if their content has the same hash: when and where it was made does not
count. A snapshot has records and sums only. Its numbers stand without predictions, so a run beside them makes only
what is missing.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from bench.base.files import write_atomic
from bench.errors import DamagedError, StoreError
from bench.store.damage import damage_in
from bench.store.files import Disk
from bench.store.reading import read_cell
from bench.store.records import read_rows, whole_record
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
    if isinstance(store.files, Disk) and not source.is_dir():
        raise StoreError(f"'{source}' is no folder; expected a results folder or a snapshot")
    for ours in store.cells():
        place = ours.path.relative_to(source)
        damaged = list(damage_in(ours, read_cell(store, ours).damaged))
        joined.damaged += damaged
        names = [name for name in _names(ours) if name not in {error.path.name for error in damaged}]
        _join_run(ours, CellFolder(target / place), place.as_posix(), names, joined)
    return joined


def _join_run(ours: CellFolder, theirs: CellFolder, place: str, names: Sequence[str], joined: Joined) -> None:
    """Copy whole files of one run; its record goes last, since it says that the checkpoint beside it is whole."""
    unlike = {name for name in names if theirs.has(name) and _differs(ours, theirs, name)}
    if "trained.json" in unlike:
        joined.conflicts.append(f"{place}/trained.json")
        return
    unlike |= {name for name in names if name.startswith("scores-") and _predictions_of(ours, name) in unlike}
    for name in names:
        if name in unlike:
            joined.conflicts.append(f"{place}/{name}")
        elif theirs.has(name):
            joined.same += 1
        else:
            _copy(ours, theirs.path / name)
            joined.copied.append(f"{place}/{name}")


def _names(cell: CellFolder) -> Iterator[str]:
    """Yield the names of the files to copy, those that others depend on first; notes of failures are not copied."""
    if not isinstance(cell.files, Disk):  # a snapshot does not list its sums
        sums = {cell.sums_path(str(_scores(cell, name).get("items", ""))).name for name in cell.names("scores-*")}
        yield from sorted(filter(cell.has, sums))
    for pattern in (CONFIG, TOKENIZER, "model-*", "rows-*", "items-*", "scores-*", "grid-*", "trained.json"):
        yield from cell.names(pattern)


def _scores(cell: CellFolder, name: str) -> dict[str, Any]:
    """Return the content of a scores file by its name."""
    return cell.scores(name.removeprefix("scores-").removesuffix(".json")) or {}


def _predictions_of(cell: CellFolder, name: str) -> str:
    """Return the name of the file of predictions that scores are of."""
    return cell.rows_path(str(_scores(cell, name).get("rows", ""))).name


def _differs(ours: CellFolder, theirs: CellFolder, name: str) -> bool:
    """Return whether two stores have another file of the same name; a damaged one of theirs differs."""
    if name.startswith((CONFIG, "items-")):  # another one is no conflict; and the name is the hash of the content
        return False
    if isinstance(ours.files, Disk) and filecmp.cmp(ours.path / name, theirs.path / name, shallow=False):
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


def _copy(ours: CellFolder, target: Path) -> None:
    """Copy a file whole or not at all.

    Raises:
        StoreError: it cannot be read or written.
    """

    def fill(file: BinaryIO) -> None:
        with open(ours.path / target.name, "rb") as content:
            shutil.copyfileobj(content, file)

    if isinstance(ours.files, Disk):
        write_atomic(target, fill)
    else:
        write_atomic(target, ours.files.read(ours.path / target.name))
