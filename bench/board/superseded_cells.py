"""Superseded cells: those of a method's older code, which no table shows where its newer code has cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.leaderboards.groups import comparable
from bench.leaderboards.superseded import OTHER_CELLS, difference, is_older, versions_of
from bench.store.cleaning import Unneeded, is_busy, measured
from bench.store.reading import CellRecords, read_cells
from bench.store.store import Store

__all__ = ["superseded_cells"]

Record = Mapping[str, Any]


def superseded_cells(store: Store) -> Iterator[Unneeded]:
    """Yield the folders of cells of older code, where newer code has a cell of the same task, rows and backbone.

    A cell whose weights another cell starts from or reads along stays with it, and so does one that changed within the
    last hour.
    """
    alike: dict[tuple[str, ...], list[CellRecords]] = defaultdict(list)
    for cell in read_cells(store):
        if cell.trained is not None:
            config = cell.trained["config"]
            names = [config[name] for name in ("task", "preset", "backbone", "method")]
            alike[*names, cell.trained["data"].get("train", {}).get("sha256", "")].append(cell)
    why: dict[str, str] = {}
    needed = set[str]()
    for cells in alike.values():
        why |= _superseded(cells)
    for cells in alike.values():
        for cell in cells:
            if str(cell.folder.path) not in why and cell.trained is not None:
                needed |= _keys_of_others(cell.trained)
    for cells in alike.values():
        for cell in cells:
            path = cell.folder.path
            if str(path) in why and path.name not in needed and not is_busy(path):
                yield measured(path, why[str(path)])


def _superseded(cells: Sequence[CellRecords]) -> dict[str, str]:
    """Return why some of the cells of one method are superseded, by their folders."""
    versions = [versions_of(comparable(cell.trained or {})) for cell in cells]
    why = {}
    for cell, own in zip(cells, versions, strict=True):
        newer = [other for other in versions if is_older(own, other)]
        if newer:
            why[str(cell.folder.path)] = f"a cell of older code, {difference(own, newer[0])}"
    return why


def _keys_of_others(record: Record) -> set[str]:
    """Return the keys of the cells that a cell starts from or reads along, and of those that they are made of."""
    keys = set[str]()
    for part in OTHER_CELLS:
        other = record.get(part)
        if other:
            keys |= {other["key"], *_keys_of_others(other)}
    return keys
