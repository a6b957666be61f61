"""Joining: the runs of one store are copied into another. Nothing there is overwritten, and conflicts are named.

Two files are the same if their bytes are, or if their contents are equal: time and place do not count. A
snapshot has records and statistics only; `bench run` then makes only what these do not have.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from bench.base.files import write_atomic
from bench.base.keys import canonical
from bench.errors import BenchError, DamagedError, StoreError, UsageError
from bench.store.files import kind_of, record_bytes
from bench.store.reading import read_cell
from bench.store.store import TOKENIZER, CellFolder, Store, check_checkpoint

NO_CONFLICT = ("config.yaml", "model-", "items-")
"""Beginnings of the names of files that may differ: settings to repeat a run, and files named by their hash."""


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

    Every file is read whole and checked first. Nothing is copied of a run with a file that differs in the two stores.

    Args:
        source: a results folder or a snapshot; only read.
        target: a results folder; nothing in it is changed or removed.

    Raises:
        UsageError: the target is a snapshot, or the source was submitted by other people.
        StoreError: a folder is not there, a snapshot is damaged, or a file cannot be written.
    """
    joined, store = Joined(), Store(source)
    Store(target).files.check_writable()
    if not store.files.is_snapshot and not source.is_dir():
        raise StoreError(f"'{source}' is no folder; expected a results folder or a snapshot")
    if submitter := store.files.submitted_by:
        raise UsageError(f"'{source}' was submitted by {submitter}, which would be lost: bench.load takes both folders")
    if source.resolve() in target.resolve().parents:
        raise UsageError(f"expected a target outside of the source, got '{target}' in '{source}'")
    for cell in store.cells():
        read_cell(store, cell)
        for key in cell.row_keys():
            store.readable(partial(cell.rows, key))
        if cell.path / "trained.json" not in store.damaged:
            store.readable(partial(check_checkpoint, cell))
        place = cell.path.relative_to(source)
        names = [name for name in _names(cell) if cell.path / name not in store.damaged]
        there = CellFolder(target / place)
        known = [name for name in names if there.has(name)]
        if unlike := [name for name in known if not _is_same(cell, there, name)]:
            joined.conflicts += [f"{place.as_posix()}/{name}" for name in unlike]
            continue
        joined.same += len(known)
        for name in names:
            if name not in known:
                _copy(cell, there.path / name)
                joined.copied.append(f"{place.as_posix()}/{name}")
    joined.damaged = list(store.damaged.values())
    return joined


def _copy(ours: CellFolder, target: Path) -> None:
    """Copy a file whole or not at all; a checkpoint may be too large to be held in memory.

    Raises:
        StoreError: it cannot be read or written.
    """

    def fill(file: BinaryIO) -> None:
        with open(ours.path / target.name, "rb") as content:
            shutil.copyfileobj(content, file)

    write_atomic(target, _bytes(ours, target.name) if ours.files.is_snapshot else fill)


def _bytes(cell: CellFolder, name: str) -> bytes:
    """Return a file of a snapshot's run as it was in the results folder."""
    from bench.store.sums_file import packed_sums

    if file := cell.files.sums_file(cell.path / name):
        return packed_sums({column: file.column(column) for column in file.columns})
    return record_bytes(kind_of(name), **cell.record(name))


def _names(cell: CellFolder) -> Iterator[str]:
    """Yield the names of the files to copy, those that others depend on first; notes of failures are not copied."""
    if cell.files.is_snapshot:  # a snapshot does not list its statistics
        statistics = {cell.sums_path(scores.get("items", "")).name for scores in cell.all_scores()}
        yield from sorted(filter(cell.has, statistics))
    for pattern in ("config.yaml", TOKENIZER, "model-*", "rows-*", "items-*", "scores-*", "grid-*", "trained.json"):
        yield from cell.names(pattern)


def _is_same(ours: CellFolder, theirs: CellFolder, name: str) -> bool:
    """Return whether two stores have the same file; a damaged file in the target is another one."""
    if name.startswith(NO_CONFLICT):
        return True
    try:
        return _content(ours, name) == _content(theirs, name)
    except (BenchError, OSError):
        return False


def _content(cell: CellFolder, name: str) -> bytes | str:
    """Return the part of a file that decides whether it is the same as another: not the provenance."""
    if name == TOKENIZER:
        return (cell.path / name).read_bytes()
    if name.startswith("rows-"):
        return cell.files.rows(cell.path / name).sha256
    return canonical(cell.record(name)["content"])
