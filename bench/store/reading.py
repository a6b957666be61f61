"""Reading a whole store: every cell with its records; what is damaged is left out and remembered in `Store.damaged`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.errors import DamagedError
from bench.store.damage import damaged_error
from bench.store.fields import missing_field
from bench.store.files import Disk
from bench.store.records import StoredRows, read_record
from bench.store.store import CellFolder, Store, latest

__all__ = ["CellRecords", "read_cell", "read_cells", "readable", "readable_rows", "readable_rows_of", "summaries"]

Content = dict[str, Any]
KINDS = {"trained.json": "trained", "failed.json": "failed", "scores-": "scores", "grid-": "grid"}
"""Kinds of record by how their names begin."""


@dataclass(frozen=True)
class CellRecords:
    """One cell and what its records say; None or nothing where a record is not there or is damaged.

    Args:
        folder: of the cell.
        trained, failed: their contents.
        scores: of every metric family, where it was made anew only those of the latest version. `sums` of one names its
            columns that are sums over rows; `items`, the file of them, is there only with the file.
        grids: searches that the cell was picked from.
        damaged: files that were left out.
    """

    folder: CellFolder
    trained: Mapping[str, Any] | None
    failed: Mapping[str, Any] | None
    scores: Sequence[Mapping[str, Any]]
    grids: Sequence[Mapping[str, Any]]
    damaged: Sequence[DamagedError]


def read_cells(store: Store, tasks: Collection[str] | None = None) -> Iterator[CellRecords]:
    """Yield every cell of a store, of some tasks or of all, in name order; of several stores, one after another."""
    for part in store.parts:
        for place, content in _contents(part, tasks, "records"):
            folder = CellFolder(part.root / place, part.files)
            damaged = [damaged_error(folder, *entry) for entry in content.pop("damaged")]
            yield CellRecords(folder, damaged=damaged, **content)


def read_cell(store: Store, folder: CellFolder) -> CellRecords:
    """Return one cell with its records; the store is told of damaged files."""
    content = _read(folder, folder.names("*"))["records"]
    damaged = [damaged_error(folder, *entry) for entry in content.pop("damaged")]
    for error in damaged:
        store.note(error)
    return CellRecords(folder, damaged=damaged, **content)


def summaries(store: Store, tasks: Collection[str] | None = None) -> Iterator[Content]:
    """Yield what `bench store status` says of every cell, in name order."""
    for _, content in _contents(store, tasks, "summary"):
        del content["damaged"]
        yield content


def readable(store: Store, read: Callable[[], Content | None]) -> Content | None:
    """Return what a method of a cell reads, such as `cell.trained`; None where it is damaged, which is noted."""
    try:
        return read()
    except DamagedError as error:
        store.note(error)
        return None


def readable_rows(store: Store, folder: CellFolder) -> Iterator[StoredRows]:
    """Yield the rows files of a cell that are whole; damaged ones are noted."""
    for name in folder.names("rows-*.jsonl.gz"):
        rows = readable_rows_of(store, folder, name.removeprefix("rows-").removesuffix(".jsonl.gz"))
        if rows is not None:
            yield rows


def readable_rows_of(store: Store, folder: CellFolder, key: str) -> StoredRows | None:
    """Return a rows file; None where it is not there, or damaged, which is noted."""
    try:
        return folder.rows(key)
    except DamagedError as error:
        todo = error.todo if error.is_newer else ""
        store.note(damaged_error(folder, error.path.name, error.why, todo))
        return None


def _contents(store: Store, tasks: Collection[str] | None, table: str) -> Iterator[tuple[str, Content]]:
    """Yield the place of every cell below the store and its summary or records; damaged files are noted."""
    for folder, names in _listed(store, tasks):
        content = _read(folder, names)[table]
        for entry in content["damaged"]:
            store.note(damaged_error(folder, *entry))
        yield folder.path.relative_to(store.root).as_posix(), content


def _listed(store: Store, tasks: Collection[str] | None) -> Iterator[tuple[CellFolder, Sequence[str]]]:
    """Yield every cell of a store, of some tasks or of all, with the names of its files that are read for tables."""
    if isinstance(store.files, Disk):
        for cell in store.files.scan(store.root, tasks):
            yield CellFolder(cell.path, store.files), cell.names
        return
    for folder in store.cells():
        if tasks is None or folder.path.parts[-3] in tasks:
            yield folder, folder.names("*")


def _read(folder: CellFolder, names: Sequence[str]) -> dict[str, Content]:
    """Read the records of a cell; return its `summary` and its `records`."""
    contents: dict[str, list[Content]] = {kind: [] for kind in KINDS.values()}
    damaged: list[tuple[str, str, str]] = []
    for name in sorted(names):
        kind = next((kind for start, kind in KINDS.items() if name.startswith(start)), "")
        if not kind or not name.endswith(".json"):
            continue
        try:
            contents[kind] += _checked(folder, name, kind)
        except DamagedError as error:
            damaged.append((name, error.why, error.todo if error.is_newer else ""))
    scores = list(_with_sums(folder, latest(contents["scores"]), damaged))
    records = {
        "trained": _only(contents["trained"]),
        "failed": _only(contents["failed"]),
        "scores": scores,
        "grids": contents["grid"],
        "damaged": damaged,
    }
    return {"summary": {**_summary(folder, records, names), "damaged": damaged}, "records": records}


def _checked(folder: CellFolder, name: str, kind: str) -> list[Content]:
    """Return the content of a record that has what a record of its kind must have; nothing where it is gone by now.

    Raises:
        DamagedError: it is damaged, or not ours.
    """
    path = folder.path / name
    content = read_record(path, kind, folder.files)
    if content is None:
        return []
    if lacking := missing_field(kind, content):
        raise DamagedError(path, f"it is no {kind} record of this program: its field {lacking} is not right", "")
    return [content]


def _with_sums(folder: CellFolder, scores: Sequence[Content], damaged: list[tuple[str, str, str]]) -> Iterator[Content]:
    """Yield scores, those that have sums with the columns that have; a damaged file of sums is as if it were not there.

    Args:
        folder: of the cell.
        scores: their contents.
        damaged: told of files of sums that are not what was stored.
    """
    for content in scores:
        if "items" not in content:
            yield content
            continue
        name = folder.sums_path(content["items"]).name
        try:
            columns = folder.sum_columns(content["items"])
            if columns is not None:
                yield {**content, "sums": columns}
                continue
        except DamagedError as error:
            damaged.append((name, error.why, ""))
        except ValueError as error:
            damaged.append((name, str(error), ""))
        yield {field: value for field, value in content.items() if field != "items"}


def _only(contents: Sequence[Content]) -> Content | None:
    """Return the one content there is, or None."""
    for content in contents:
        return content
    return None


def _summary(folder: CellFolder, records: Content, names: Collection[str]) -> Content:
    """Return what `bench store status` says of a cell."""
    record = records["failed"] or records["trained"] or {}
    task, method, key = folder.path.parts[-3:]
    config = record.get("config", {"task": task, "method": method})
    error = str(record.get("error") or "")
    status = record.get("status", "?")
    if not record and records["damaged"]:
        status = "damaged"
        error = "; ".join(f"{name}: {why}" for name, why, _ in records["damaged"])
    settings = {name: config.get(name) for name in ("task", "method", "backbone", "seed", "preset")}
    return {
        "status": status,
        "key": record.get("key", key),
        **settings,
        "rows": sum(name.startswith("rows-") for name in names),
        "scores": sum(name.startswith("scores-") for name in names),
        "error": "".join(error.splitlines()[:1]),
    }
