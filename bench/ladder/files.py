"""Files: plans and forecasts of the ladders of a store, and their copies beside a kept board."""

from __future__ import annotations

from pathlib import Path

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.store.kept_board import is_kept_board

__all__ = ["FOLDER", "forecast_paths", "keep_files", "kept_path", "plan_paths", "restore_files"]

FOLDER = "ladder"
"""In a store, beside its tasks."""


def plan_paths(results: Path, task: str) -> list[Path]:
    """Return the plans of a task's ladders in a store, or beside a kept board, by name."""
    return [path for path in _paths(results, ".plan.json") if f".{path.name}".rpartition("-")[0].endswith(f".{task}")]


def forecast_paths(results: Path) -> list[Path]:
    """Return the forecasts in a store, or beside a kept board, by name."""
    return _paths(results, "forecast-*.json")


def _paths(results: Path, end: str) -> list[Path]:
    if is_kept_board(results):
        return sorted(results.parent.glob(f"{results.stem}.*{end}"))
    return sorted((results / FOLDER).glob(f"*{end}"))


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
    for path in _all_paths(board):
        _copy(path, results / FOLDER / path.name.removeprefix(f"{board.stem}."))


def kept_path(path: Path, board: Path) -> Path:
    """Return where a file of a ladder is kept beside a board."""
    return board.with_name(f"{board.stem}.{path.name}")


def _all_paths(results: Path) -> list[Path]:
    return [*_paths(results, ".plan.json"), *forecast_paths(results)]


def _copy(path: Path, target: Path) -> None:
    content = path.read_bytes()
    if not write_atomic(target, content) and target.read_bytes() != content:
        raise StoreError(
            f"'{target}' should be a copy of '{path}'; it is another plan or forecast, and neither is ever written "
            f"over. Move it away, or keep the store under another name"
        )
