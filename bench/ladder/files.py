"""Files: plans and forecasts of the ladders of a store, and their copies beside a kept board."""

from __future__ import annotations

from pathlib import Path

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.store.kept_board import is_kept_board

__all__ = ["FOLDER", "forecast_paths", "keep_files", "plan_paths"]

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
        StoreError: there is another forecast in the place of one, or a file cannot be written.
    """
    for path in _paths(results, ".plan.json"):
        write_atomic(_kept(path, board), path.read_bytes(), replace=True)
    for path in forecast_paths(results):
        kept, content = _kept(path, board), path.read_bytes()
        if not write_atomic(kept, content) and kept.read_bytes() != content:
            raise StoreError(
                f"'{kept}' should hold the forecast of '{path}'; it holds another one, and a forecast is never "
                f"written over. Move it away, or keep the store under another name"
            )


def _kept(path: Path, board: Path) -> Path:
    """Return where a file of a ladder is kept."""
    return board.with_name(f"{board.stem}.{path.name}")
