"""Reading a whole store: every run with its records. Damaged files are left out and noted in `Store.damaged`.

The hash of a record shows that it is unchanged, not that this program wrote it; so its fields are checked, too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.store.files import kind_of
from bench.store.store import CellFolder, Store, latest

Content = dict[str, Any]
IMPORTED = "imported"
"""The field of a record whose texts another system wrote; also the preset and the decoding of such a run."""
FIELDS: Mapping[str, Mapping[str, type]] = {
    "trained": {"key": str, "status": str, "method": dict, "config": dict, "data": dict},
    "failed": {"status": str, "config": dict},
    "scores": {"of": dict, "values": list},
    "grid": {"tried": list},
}
"""By kind of record, the parts that every leaderboard reads, and their types."""


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
    """

    folder: CellFolder
    names: Sequence[str]
    trained: Mapping[str, Any] | None
    failed: Mapping[str, Any] | None
    scores: Sequence[Mapping[str, Any]]
    grids: Sequence[Mapping[str, Any]]


def read_cells(store: Store, tasks: Collection[str] | None = None) -> Iterator[CellRecords]:
    """Yield every run of a store, of some tasks or of all, in name order."""
    for folder in store.cells(tasks):
        yield read_cell(store, folder)


def read_cell(store: Store, folder: CellFolder) -> CellRecords:
    """Return one run with its records; damaged files are noted in the store."""
    names = folder.names("*")
    contents: dict[str, list[Content]] = {kind: [] for kind in FIELDS}
    for name in names:
        kind = kind_of(name)
        if kind in FIELDS and name.endswith(".json"):
            content = store.readable(partial(_checked, folder, name, kind))
            contents[kind] += [] if content is None else [content]
    scores = [_with_columns(store, folder, content) for content in latest(contents["scores"])]
    trained, failed = (next(iter(contents[kind]), None) for kind in ("trained", "failed"))
    return CellRecords(folder, names, trained, failed, scores, contents["grid"])


def _checked(folder: CellFolder, name: str, kind: str) -> Content | None:
    """Return the content of a record that has the fields of its kind; None where it was removed meanwhile.

    Raises:
        DamagedError: it is damaged, or another program wrote it.
    """
    content = folder.content(name)
    if content is None:
        return None
    for field, of in FIELDS[kind].items():
        if not isinstance(content.get(field), of):
            why = f"it is no {kind} record of this program: its field {field} is missing or of another type"
            raise folder.files.damaged(folder.path / name, ValueError(why))
    return content


def _with_columns(store: Store, folder: CellFolder, content: Content) -> Content:
    """Return scores with the columns that have sufficient statistics; without `items` where their file is not there."""
    if "items" not in content:
        return content
    file = store.readable(partial(folder.sums_file, content["items"]))
    if file is not None:
        return {**content, "sums": list(file.columns)}
    return {field: value for field, value in content.items() if field != "items"}


def is_imported(trained: Mapping[str, Any]) -> bool:
    """Return whether another system generated the texts of a run: nothing was trained, and there is no model."""
    return IMPORTED in trained
