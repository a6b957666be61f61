"""Repair: damaged files of a store are moved out of the way, so that the command that made them makes them again.

Nothing is deleted: `results/a/b/c/scores-x.json` becomes `results/.damaged/a/b/c/scores-x.json`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bench.errors import DamagedError, StoreError
from bench.store.damage import damage_in, made_again_by
from bench.store.files import DISK
from bench.store.reading import read_cell
from bench.store.store import CellFolder, Store

__all__ = ["ASIDE", "Repaired", "repaired"]

ASIDE = ".damaged"
"""The folder in a store that damaged files are moved to."""


@dataclass(frozen=True)
class Repaired:
    """What became of one damaged file.

    Args:
        error: the file, what is wrong with it and what to do.
        aside: where it lies now; None for one that stays, which is good and of a later version.
        command: that makes it again.
    """

    error: DamagedError
    aside: Path | None
    command: str


def repaired(root: Path, *, move: bool = True) -> Iterator[Repaired]:
    """Read every file of a store, whatever an index says, and move the damaged ones out of the way.

    A record of training goes with its checkpoint: it vouches for a file that is not there any more.

    Args:
        root: of the store; a kept board has nothing to move.
        move: whether to move them, or only to say which.

    Raises:
        UsageError: it is a kept board.
        StoreError: a file cannot be moved.
    """
    store = Store(root)
    store.files.check_writable()
    for listed in DISK.scan(root):
        cell = CellFolder(listed.path)
        for error in list(damage_in(cell, read_cell(store, cell).damaged)):
            command = _command(cell, error.path.name, root)
            if error.is_newer:
                yield Repaired(error, None, "")
                continue
            yield Repaired(error, _aside(error.path, root, move), command)
            record = cell.path / "trained.json"
            if error.path.name.startswith("model-") and record.exists():
                why = f"its checkpoint {error.path.name} is damaged"
                unvouched = DamagedError(record, why, made_again_by(record.name))
                yield Repaired(unvouched, _aside(record, root, move), command)


def _aside(path: Path, root: Path, move: bool) -> Path:
    """Move a file to where damaged ones lie, under a name that is free there; return where.

    Raises:
        StoreError: it cannot be moved.
    """
    target = root / ASIDE / path.relative_to(root)
    free = target
    for number in count(1):
        if not free.exists():
            break
        free = target.with_name(f"{target.name}.{number}")
    if move:
        try:
            free.parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, free)
        except OSError as error:
            raise StoreError(f"cannot move '{path}' to '{free}': {error}; what was moved before stays moved") from error
    return free


def _command(cell: CellFolder, name: str, root: Path) -> str:
    """Return the command that makes a file again."""
    if name == "failed.json":
        return ""
    if name.startswith(("scores-", "items-")):
        return f"bench score {shlex.quote(str(cell.path))}"
    results = shlex.quote(str(root))
    if cell.has("config.yaml"):
        return f"bench run --config {shlex.quote(str(cell.path / 'config.yaml'))} --results {results}"
    task, method = cell.path.parts[-3:-1]
    return f"bench run --task {shlex.quote(task)} --method {shlex.quote(method)} --results {results}"
