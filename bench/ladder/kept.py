"""Kept: the board that a ladder is kept as, and from which it goes on where its store is gone."""

from __future__ import annotations

from pathlib import Path

from bench.cells.progress import Progress
from bench.errors import StoreError
from bench.ladder.asked import Asked
from bench.ladder.decision import place_of
from bench.ladder.files import check_files, is_copy, keep_files, kept_path, restore_files
from bench.store.keep import keep
from bench.store.kept_board import is_kept_board
from bench.store.merging import merge

__all__ = ["keep_ladder", "restore"]


def restore(asked: Asked, board: Path, progress: Progress) -> None:
    """Bring the cells, plans and forecasts of a kept board into a store, where it lacks them.

    Args:
        asked: the ladder, with its store.
        board: the file of records; nothing is done where there is none.
        progress: told what was brought.

    Raises:
        StoreError: the store has other plans, forecasts or cells than the board, or the board is damaged. Nothing is
            brought then.
    """
    if not is_kept_board(board):
        return
    results, plan = Path(asked.results), place_of(asked, "plan")
    differ = merge(board, results, write=False).conflicts
    if differ and not is_copy(plan, kept_path(plan, board)):  # else it was kept from here before cells were made anew
        raise StoreError(
            f"expected in '{results}' the cells of '{board}' or none; {len(differ)} of its files are others, such as "
            f"'{differ[0]}'. Take another store (--results), or keep this one under another name"
        )
    check_files(board, results)
    merged = merge(board, results)
    restore_files(board, results)
    if merged.copied:
        progress.say(f"{board}: {len(merged.copied)} files of its cells are brought into {results}")


def keep_ladder(asked: Asked, board: Path | None) -> None:
    """Keep the store as a board with its plans and forecasts, if one is wanted and there is a store.

    Cells of the board that the store lacks, since they are being made anew, stay on it.

    Raises:
        StoreError: another plan or forecast lies beside the board, which stays as it is.
    """
    results = Path(asked.results)
    if board is not None and results.is_dir():
        keep_files(results, board)
        keep(results, board, add=True)
