"""Forecasts: the file that is written before an upper rung is run, and never after one of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.cells.progress import Progress
from bench.errors import MissingError, UsageError
from bench.ladder.asked import Asked
from bench.ladder.decision import Decision, place_of
from bench.ladder.reading import stored_ladder
from bench.ladder.rungs import PlannedRung
from bench.ladder.sizes import BACKBONE, Size
from bench.ladder.stored_cells import Shape, StoredCells, stored_cells
from bench.leaderboards.ladder.forecast_files import forecast_to
from bench.store.reading import read_cells
from bench.store.store import Store

__all__ = ["forecast_rung"]


def forecast_rung(asked: Asked, decision: Decision, number: int, progress: Progress) -> None:
    """Write the forecast of an upper rung where there is none, and say so.

    There can be none where methods diverged on every rung below: a warning. Any other reason ends the ladder, since a
    forecast cannot be made up for.

    Args:
        asked: the ladder.
        decision: what it runs.
        number: of the rung that is run next, from 0.
        progress: is told.

    Raises:
        MissingError: there is no whole rung.
        UsageError: those there are say nothing of it.
    """
    rung = decision.rungs[number]
    name = rung.size.name
    path = place_of(asked, f"forecast-{name}")
    if path.exists():
        progress.say(f"rung {name}: its forecast is in {path}")
        return
    if is_begun(asked, rung):
        progress.warn(f"rung {name}: no forecast is written, since cells of this size are trained already")
        return
    try:
        digest = write(path, asked, rung.size, decision.methods)
    except (MissingError, UsageError) as error:
        gone = diverged_below(asked, decision.rungs[:number], decision.methods)
        if not gone:
            raise
        progress.warn(f"rung {name}: no forecast is written: {error} ({', '.join(gone)} diverged below)")
        return
    progress.say(f"rung {name}: its forecast is in {path}, SHA-256 {digest}")


def write(path: Path, asked: Asked, size: Size, methods: Sequence[str]) -> str:
    """Write the forecast of a rung from the whole rungs in the store; return its SHA-256.

    Raises:
        MissingError: there is no whole rung.
        UsageError: those there are say nothing of it.
    """
    stored = stored_ladder(Store(Path(asked.results)), asked.task)
    rung = (size.name, size.parameters)
    return forecast_to(path, stored.ladder, rung, seeds=asked.seeds, methods=methods, claims=stored.findings.claims)


def diverged_below(asked: Asked, rungs: Sequence[PlannedRung], methods: Sequence[str]) -> list[str]:
    """Return the methods that diverged on every one of some rungs; all of them where no cell is left of any.

    Raises:
        UsageError: a rung has two rows of one method, so that nobody can tell.
    """
    try:
        cells = stored_cells(Store(Path(asked.results)), asked.task)
    except MissingError:
        return list(methods)
    shapes = [(rung.size.width, rung.size.layers) for rung in rungs]
    return [method for method in methods if all(has_diverged(cells, shape, method) for shape in shapes)]


def has_diverged(cells: StoredCells, shape: Shape, method: str) -> bool:
    """Return whether a method diverged on a rung, also on one where all of them did."""
    return shape not in cells.rows or cells.has_diverged(shape, method)


def is_begun(asked: Asked, rung: PlannedRung) -> bool:
    """Return whether a cell of a rung's size is trained."""
    for cell in read_cells(Store(Path(asked.results)), {asked.task}):
        if cell.trained is None or cell.trained["config"]["backbone"] != BACKBONE:
            continue
        options = cell.trained["config"]["backbone_options"]
        if (options["width"], options["layers"]) == (rung.size.width, rung.size.layers):
            return True
    return False
