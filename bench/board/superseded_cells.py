"""Superseded cells: those of a method's older code, which no table shows since its newer code has the same rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.base.keys import key_of
from bench.leaderboards.groups import comparable
from bench.leaderboards.superseded import OTHER_CELLS, difference, is_older, versions_of
from bench.store.cleaning import Unneeded, is_busy, measured
from bench.store.reading import CellRecords, read_cells
from bench.store.store import Store

__all__ = ["superseded_cells"]

Record = Mapping[str, Any]


def superseded_cells(store: Store) -> Iterator[Unneeded]:
    """Yield the folders of cells of older code, where newer code has cells of the same task, rows and backbone.

    All that such a cell was scored on, newer code was scored on too, in the same decoding; else tables show it. A cell
    whose weights another cell starts from or reads along stays with it, and so does one that changed within the last
    hour.
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
    evaluations = [_evaluations(cell) for cell in cells]
    for cell, own, shown in zip(cells, versions, evaluations, strict=True):
        newer = [place for place, other in enumerate(versions) if is_older(own, other)]
        if newer and shown <= set[str]().union(*(evaluations[place] for place in newer)):
            why[str(cell.folder.path)] = f"a cell of older code, {difference(own, versions[newer[0]])}"
    return why


def _evaluations(cell: CellRecords) -> set[str]:
    """Return what tables file the scores of a cell by: kind, decoding, and the examples."""
    names = ("kind", "decoding", "shown_as", "split", "split_sha256", "ids")
    return {key_of([score["of"].get(name) for name in names]) for score in cell.scores}


def _keys_of_others(record: Record) -> set[str]:
    """Return the keys of the cells that a cell starts from or reads along, and of those that they are made of."""
    keys = set[str]()
    for part in OTHER_CELLS:
        other = record.get(part)
        if other:
            keys |= {other["key"], *_keys_of_others(other)}
    return keys
