"""Damage: stored files that cannot be read as what they should be, and what makes each again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.errors import DamagedError
from bench.store.files import Disk
from bench.store.store import CellFolder

__all__ = ["damage_in", "damaged_error", "made_again_by", "relative"]

MADE_AGAIN = {
    "trained.json": "bench run trains the cell again; its rows and scores stay",
    "model-": "bench run trains the cell again; its rows and scores stay",
    "rows-": "bench run makes it again from the checkpoint",
    "scores-": "bench score makes it again",
    "items-": "bench score makes it again",
    "grid-": "bench run with the same --grid makes it again",
    "failed.json": "nothing is lost: it was the note of a failed attempt",
}
"""By the beginning of a file's name, what makes it again once `bench repair` has moved it aside."""


def made_again_by(name: str) -> str:
    """Return what makes a stored file again once it is out of the way.

    >>> made_again_by("scores-0123456789abcdef.json")
    'bench score makes it again'
    """
    for start, text in MADE_AGAIN.items():
        if name.startswith(start):
            return text
    return "bench run makes it again"


def damaged_error(cell: CellFolder, name: str, why: str, todo: str = "") -> DamagedError:
    """Return the error of a damaged file of a cell.

    Args:
        cell: that it belongs to.
        name: of the file.
        why: what is wrong with it.
        todo: what to do, of a file that is good and of a later version; empty for one that is damaged.
    """
    if todo:
        return DamagedError(cell.path / name, why, todo, is_newer=True)
    todo = cell.files.again
    if isinstance(cell.files, Disk):
        todo = f"bench repair moves it aside, then {made_again_by(name)}"
    return DamagedError(cell.path / name, why, todo)


def relative(path: Path, root: Path) -> str:
    """Return a path below a store, for what leaves this machine."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.name


def damage_in(cell: CellFolder, known: Iterable[DamagedError]) -> Iterator[DamagedError]:
    """Yield every damaged file of a cell: those of its records, then rows and checkpoint, which are read whole.

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
        yield from _damaged_checkpoint(cell)


def _damaged_checkpoint(cell: CellFolder) -> Iterator[DamagedError]:
    """Yield the checkpoint of a cell where it is there and not what was stored."""
    from bench.base.files import hash_of

    trained = cell.trained() or {}
    digest = trained.get("model", {}).get("checkpoint_sha256")
    if digest is None:
        return
    path = cell.checkpoint(digest)
    try:
        if path.exists() and hash_of(path) != digest:
            yield damaged_error(cell, path.name, "it does not have the hash it was stored with")
    except OSError as error:
        yield damaged_error(cell, path.name, f"{type(error).__name__}: {error}")
