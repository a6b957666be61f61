"""Keep: a store as a board in two files, for who has no use for weights and texts."""

from __future__ import annotations

from pathlib import Path

from bench.store.kept_board import is_kept_board, write_kept_board
from bench.store.store import CellFolder, Store

__all__ = ["WITHOUT_SUMS", "keep"]

RECORDS = ("trained.json", "scores-*.json", "grid-*.json")
"""Names of the records that are kept."""
WITHOUT_SUMS = "valid"
"""The split whose sums are not kept: settings were chosen by its values, which are in the records."""


def keep(results: Path, target: Path, *, add: bool = False) -> None:
    """Keep the records and sums of a store's trained cells, in place of those kept before.

    Sums of the validation split are left out, since no test is made of its rows.

    Args:
        results: a results folder, or a kept board.
        target: the file of records to write.
        add: whether cells that were kept before and that the store lacks stay.

    Raises:
        StoreError: a record is damaged; nothing is written.
    """
    records: dict[str, bytes] = {}
    sums: dict[str, bytes] = {}
    places = set[str]()
    sources = [results]
    if add and is_kept_board(target):
        sources.append(target)
    for source in sources:
        for cell in Store(source).cells():
            place = cell.path.relative_to(source).as_posix()
            if place not in places and cell.trained() is not None:
                places.add(place)
                _keep_cell(cell, place, records, sums)
    write_kept_board(target, records, sums)


def _keep_cell(cell: CellFolder, place: str, records: dict[str, bytes], sums: dict[str, bytes]) -> None:
    """Add the records of a cell, and the sums that they name, by name."""
    cell.grids()
    for scores in cell.all_scores():
        digest = scores.get("items")
        if digest is None or scores["of"]["split"] == WITHOUT_SUMS:
            continue
        if cell.sums(digest):
            path = cell.sums_path(digest)
            sums[path.name] = cell.files.read(path)
    for pattern in RECORDS:
        for name in cell.names(pattern):
            records[f"{place}/{name}"] = cell.files.read(cell.path / name)
