"""Kept: the board that a ladder is kept as, and from which it goes on where its store is gone."""

from __future__ import annotations

from pathlib import Path

from bench.cells.progress import Progress
from bench.errors import StoreError
from bench.ladder.asked import Asked
from bench.ladder.decision import place_of
from bench.ladder.files import keep_files, kept_path, restore_files
from bench.store.keep import keep
from bench.store.kept_board import is_kept_board
from bench.store.merging import merge

__all__ = ["keep_ladder", "restore"]


def restore(asked: Asked, board: Path, progress: Progress) -> None:
    """Bring the cells, plans and forecasts of a kept board into a store that does not have them.

    A store whose plan is the one beside the board is the store that was kept; nothing is brought into it.

    Args:
        asked: the ladder, with its store.
        board: the file of records; nothing is done where there is none.
        progress: told what was brought.

    Raises:
        StoreError: the store and the board have different plans, forecasts or cells, or the board is damaged.
    """
    if not is_kept_board(board):
        return
    results, plan = Path(asked.results), place_of(asked, "plan")
    kept = kept_path(plan, board)
    if plan.exists() and kept.exists() and plan.read_bytes() == kept.read_bytes():
        return
    restore_files(board, results)
    merged = merge(board, results)
    if merged.conflicts:
        raise StoreError(
            f"expected in '{results}' the cells of '{board}' or none; {len(merged.conflicts)} of its files are others, "
            f"such as '{merged.conflicts[0]}'. Take another store (--results), or keep this one under another name"
        )
    if merged.copied:
        progress.say(f"{board}: {len(merged.copied)} files of its cells are brought into {results}")


def keep_ladder(asked: Asked, board: Path | None) -> None:
    """Keep the store as a board with its plans and forecasts, if one is wanted and there is a store."""
    results = Path(asked.results)
    if board is not None and results.is_dir():
        keep(results, board)
        keep_files(results, board)
