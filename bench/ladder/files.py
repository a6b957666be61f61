"""Files: plans and forecasts of the ladders of a store, and their copies beside a kept board."""

from __future__ import annotations

import re
from glob import escape
from pathlib import Path

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.store.kept_board import is_kept_board

__all__ = [
    "FOLDER",
    "check_files",
    "forecast_paths",
    "is_copy",
    "keep_files",
    "kept_path",
    "plan_paths",
    "restore_files",
]

OWN = re.compile(r"([^.]+\.plan|([^.]+\.)?forecast-[^/]+)\.json")
"""Names of plans and forecasts; what has more dots in front is of a board with a longer name."""

FOLDER = "ladder"
"""In a store, beside its tasks."""


def plan_paths(results: Path, task: str) -> list[Path]:
    """Return the plans of a task's ladders in a store, or beside a kept board, by name."""
    return [path for path in _paths(results, ".plan.json") if f".{path.name}".rpartition("-")[0].endswith(f".{task}")]


def forecast_paths(results: Path) -> list[Path]:
    """Return the forecasts in a store, or beside a kept board, by name."""
    return _paths(results, "forecast-*.json")


def _paths(results: Path, end: str) -> list[Path]:
    if not is_kept_board(results):
        return sorted((results / FOLDER).glob(f"*{end}"))
    found = sorted(results.parent.glob(f"{escape(results.stem)}.*{end}"))
    return [path for path in found if OWN.fullmatch(path.name.removeprefix(f"{results.stem}."))]


def keep_files(results: Path, board: Path) -> None:
    """Copy plans and forecasts of a store beside a kept board; the name of the board stands before their own names.

    Args:
        results: the store.
        board: the file of records.

    Raises:
        StoreError: there is another one in the place of one, or a file cannot be written.
    """
    for path in _all_paths(results):
        _copy(path, kept_path(path, board))


def restore_files(board: Path, results: Path) -> None:
    """Copy plans and forecasts beside a kept board into a store.

    Raises:
        StoreError: as `keep_files`.
    """
    for path, target in _restored(board, results):
        _copy(path, target)


def check_files(board: Path, results: Path) -> None:
    """Raise the error of `restore_files`, if it would, before anything is copied."""
    for path, target in _restored(board, results):
        if target.exists() and not is_copy(path, target):
            raise _another(path, target)


def is_copy(path: Path, other: Path) -> bool:
    """Return whether two files are there and have the same content."""
    return path.exists() and other.exists() and path.read_bytes() == other.read_bytes()


def kept_path(path: Path, board: Path) -> Path:
    """Return where a file of a ladder is kept beside a board."""
    return board.with_name(f"{board.stem}.{path.name}")


def _restored(board: Path, results: Path) -> list[tuple[Path, Path]]:
    """Return the files beside a board and where they lie in a store; plans last."""
    targets = results / FOLDER
    return [(path, targets / path.name.removeprefix(f"{board.stem}.")) for path in reversed(_all_paths(board))]


def _all_paths(results: Path) -> list[Path]:
    return [*_paths(results, ".plan.json"), *forecast_paths(results)]


def _copy(path: Path, target: Path) -> None:
    if not write_atomic(target, path.read_bytes()) and not is_copy(path, target):
        raise _another(path, target)


def _another(path: Path, target: Path) -> StoreError:
    return StoreError(
        f"'{target}' should be a copy of '{path}'; it is another plan or forecast, and neither is ever written over. "
        f"Move it away, or keep the store under another name"
    )
