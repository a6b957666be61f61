"""Report: what a stored ladder says, as Markdown and as a picture, with its claims and its forecasts."""

from __future__ import annotations

from pathlib import Path

from bench.base.files import write_atomic
from bench.board.ladder_drawing import draw_ladder
from bench.ladder.decision import FOLDER
from bench.ladder.reading import StoredLadder
from bench.leaderboards.ladder.forecast_files import read_forecast
from bench.leaderboards.ladder.report import markdown
from bench.store.kept_board import is_kept_board

__all__ = ["forecast_paths", "keep_forecasts", "report_text", "write_report"]


def report_text(stored: StoredLadder, results: Path) -> str:
    """Return the page of a ladder, as Markdown.

    Args:
        stored: the ladder.
        results: the store or kept board that it was read from.
    """
    forecasts = [read_forecast(path) for path in forecast_paths(results)]
    of_task = [forecast for forecast in forecasts if forecast.task == stored.ladder.task]
    lines = [markdown(stored.ladder, stored.claims, of_task)]
    if stored.notes:
        lines += ["## Left out", "", *(f"- {note}" for note in stored.notes), ""]
    return "\n".join(lines)


def write_report(stored: StoredLadder, results: Path, path: Path) -> Path:
    """Write the page of a ladder, and its picture beside it; return where the picture is.

    Args:
        stored: the ladder.
        results: the store or kept board that it was read from.
        path: of the page, such as `ladder.md`.

    Raises:
        StoreError: a file cannot be written.
    """
    write_atomic(path, report_text(stored, results).encode(), replace=True)
    return draw_ladder(stored.ladder).save(path.with_suffix(".svg"))


def forecast_paths(results: Path) -> list[Path]:
    """Return the forecasts in a store, or beside a kept board, by name."""
    if is_kept_board(results):
        return sorted(results.parent.glob(f"{results.stem}.forecast-*.json"))
    return sorted((results / FOLDER).glob("*.forecast-*.json"))


def keep_forecasts(results: Path, board: Path) -> None:
    """Copy the forecasts of a store beside a kept board; one that is there already stays.

    Args:
        results: the store.
        board: the file of records.
    """
    for path in forecast_paths(results):
        rung = path.name.partition(".forecast-")[2]
        write_atomic(board.with_name(f"{board.stem}.forecast-{rung}"), path.read_bytes())
