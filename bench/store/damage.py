"""Damage: stored files that cannot be read as what they should be, and what to do about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.base.files import hash_of
from bench.errors import DamagedError
from bench.store.files import Disk
from bench.store.store import CellFolder

__all__ = ["damage_in", "damaged_checkpoint", "damaged_error", "relative"]

MADE_AGAIN = {
    "trained.json": "bench run trains the run again; its predictions and scores stay",
    "model-": "remove trained.json beside it, too; bench run trains the run again; its predictions and scores stay",
    "rows-": "bench run makes it again from the checkpoint",
    "scores-": "bench score makes it again",
    "items-": "bench score makes it again",
    "grid-": "bench run with the same --grid makes it again",
    "failed.json": "nothing is lost: it was the note of a failed attempt",
}
"""What makes a file again once it is removed, by the beginning of its name."""


def damaged_error(cell: CellFolder, name: str, why: str, todo: str = "") -> DamagedError:
    """Return the error of a damaged file of a run.

    Args:
        cell: folder of the run.
        name: of the file.
        why: what is wrong with it.
        todo: what to do about a good file of a later version; empty for a damaged one.
    """
    if todo:
        return DamagedError(cell.path / name, why, todo, is_newer=True)
    todo = cell.files.again
    if isinstance(cell.files, Disk):
        again = [text for start, text in MADE_AGAIN.items() if name.startswith(start)]
        todo = f"remove it, then {(again or ['bench run makes it again'])[0]}"
    return DamagedError(cell.path / name, why, todo)


def relative(path: Path, root: Path) -> str:
    """Return a path below a store, for what leaves this machine."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.name


def damage_in(cell: CellFolder, known: Iterable[DamagedError]) -> Iterator[DamagedError]:
    """Yield every damaged file of a run: those of its records, then predictions and checkpoint, which are read whole.

    Args:
        cell: in a results folder.
        known: damaged records and sums.
    """
    damaged = {error.path.name: error for error in known}
    yield from damaged.values()
    for name in cell.names("rows-*.jsonl.gz"):
        try:
            cell.rows(name.removeprefix("rows-").removesuffix(".jsonl.gz"))
        except DamagedError as error:
            todo = error.todo if error.is_newer else ""
            yield damaged_error(cell, name, error.why, todo)
    if "trained.json" not in damaged:
        checkpoint = damaged_checkpoint(cell)
        if checkpoint is not None:
            yield checkpoint


def damaged_checkpoint(cell: CellFolder) -> DamagedError | None:
    """Return the error of a run's checkpoint that is there and is not what was stored; None for any other."""
    digest = (cell.trained() or {}).get("model", {}).get("checkpoint_sha256")
    if digest is None or not cell.has_checkpoint(digest):
        return None
    path = cell.checkpoint(digest)
    try:
        if hash_of(path) == digest:
            return None
    except OSError as error:
        return damaged_error(cell, path.name, f"{type(error).__name__}: {error}")
    return damaged_error(cell, path.name, "it does not have the hash it was stored with")
