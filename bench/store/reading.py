"""Reading a whole store: every run with its records. Damaged files are left out and noted in `Store.damaged`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.errors import DamagedError
from bench.store.fields import FIELDS, missing_field
from bench.store.files import StoredRows, kind_of
from bench.store.store import CellFolder, Store, latest

__all__ = ["CellRecords", "read_cell", "read_cells", "readable", "readable_rows", "readable_rows_of"]

Content = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class CellRecords:
    """One run and the contents of its records; None or nothing where a record is not there or is damaged.

    Args:
        folder: of the run.
        names: of all its files.
        trained, failed: contents of the records of its training.
        scores: of every metric family, those of the latest version. The field `sums` of one names its columns that have
            sufficient statistics; `items`, the file of them, is there only with the file.
        grids: the searches that the run was picked from.
        damaged: files that were left out.
    """

    folder: CellFolder
    names: Sequence[str]
    trained: Mapping[str, Any] | None
    failed: Mapping[str, Any] | None
    scores: Sequence[Mapping[str, Any]]
    grids: Sequence[Mapping[str, Any]]
    damaged: Sequence[DamagedError]


def read_cells(store: Store, tasks: Collection[str] | None = None) -> Iterator[CellRecords]:
    """Yield every run of a store, of some tasks or of all, in name order; of several stores, one after another."""
    for part in store.parts:
        for folder in part.cells(tasks):
            yield read_cell(part, folder)


def read_cell(store: Store, folder: CellFolder) -> CellRecords:
    """Return one run with its records; damaged files are noted in the store."""
    names, damaged = folder.names("*"), list[DamagedError]()
    contents: dict[str, list[Content]] = {kind: [] for kind in FIELDS}
    for name in names:
        kind = kind_of(name)
        if kind in FIELDS and name.endswith(".json"):
            try:
                contents[kind] += _checked(folder, name, kind)
            except DamagedError as error:
                damaged.append(error)
    scores = [_with_columns(folder, content, damaged) for content in latest(contents["scores"])]
    for known in damaged:
        store.note(known)
    trained, failed = (next(iter(contents[kind]), None) for kind in ("trained", "failed"))
    return CellRecords(folder, names, trained, failed, scores, contents["grid"], damaged)


def readable(store: Store, read: Callable[[], T]) -> T | None:
    """Return the result of reading, such as by `cell.trained`; None where a file is damaged, which is noted."""
    try:
        return read()
    except DamagedError as error:
        store.note(error)
        return None


def readable_rows(store: Store, folder: CellFolder) -> Iterator[StoredRows]:
    """Yield the predictions files of a run that are whole; damaged ones are noted."""
    for key in folder.row_keys():
        if rows := readable_rows_of(store, folder, key):
            yield rows


def readable_rows_of(store: Store, folder: CellFolder, key: str) -> StoredRows | None:
    """Return a predictions file; None where it is not there, or damaged, which is noted."""
    return readable(store, lambda: folder.rows(key))


def _checked(folder: CellFolder, name: str, kind: str) -> list[Content]:
    """Return the content of a record that has the fields of its kind; nothing where it was removed meanwhile.

    Raises:
        DamagedError: it is damaged, or another program wrote it.
    """
    content = folder.content(name)
    if content is None:
        return []
    if missing := missing_field(kind, content):
        why = f"it is no {kind} record of this program: its field {missing} is missing or of another type"
        raise folder.files.damaged(folder.path / name, ValueError(why))
    return [content]


def _with_columns(folder: CellFolder, content: Content, damaged: list[DamagedError]) -> Content:
    """Return scores with the columns that have sufficient statistics; without `items` where their file is not there.

    A damaged file is added to `damaged`.
    """
    if "items" not in content:
        return content
    try:
        file = folder.sums_file(content["items"])
        if file is not None:
            return {**content, "sums": list(file.columns)}
    except DamagedError as error:
        damaged.append(error)
    return {field: value for field, value in content.items() if field != "items"}
