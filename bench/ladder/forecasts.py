"""Forecasts: the file that is written before an upper rung is run, and never after one of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from bench.errors import MissingError
from bench.ladder.asked import Asked
from bench.ladder.decision import place_of
from bench.ladder.reading import stored_ladder
from bench.ladder.rungs import PlannedRung
from bench.ladder.sizes import BACKBONE
from bench.leaderboards.ladder.scores import Ladder
from bench.store.reading import read_cells
from bench.store.store import Store

__all__ = ["WRITER", "ForecastWriter", "forecast_rung"]


class ForecastWriter(Protocol):
    """Writes the forecast of a rung from the rungs below it."""

    def __call__(self, path: Path, ladder: Ladder, rung: tuple[str, int], *, seeds: int, methods: Sequence[str]) -> str:
        """Write it; return its SHA-256.

        Args:
            path: of the file.
            ladder: with the rungs below.
            rung: name and parameters of the upper one.
            seeds: planned there.
            methods: planned there.
        """


WRITER: ForecastWriter | None = None


def forecast_rung(asked: Asked, rung: PlannedRung, methods: Sequence[str]) -> str:
    """Write the forecast of an upper rung where there is none; return a line about it for people.

    Args:
        asked: the ladder.
        rung: that is run next.
        methods: of the ladder.
    """
    name = rung.size.name
    path = place_of(asked, f"forecast-{name}")
    if path.exists():
        return f"rung {name}: its forecast is in {path}"
    if WRITER is None:
        return f"rung {name}: no forecast is written"
    if is_begun(asked, rung):
        return f"rung {name}: no forecast is written, since cells of this size are trained already"
    try:
        stored = stored_ladder(Store(Path(asked.results)), asked.task)
    except MissingError as error:  # every method of the rungs below diverged
        return f"rung {name}: no forecast is written: {error}"
    digest = WRITER(path, stored.ladder, (name, rung.size.parameters), seeds=asked.seeds, methods=methods)
    return f"rung {name}: its forecast is in {path}, SHA-256 {digest}"


def is_begun(asked: Asked, rung: PlannedRung) -> bool:
    """Return whether a cell of a rung's size is trained."""
    for cell in read_cells(Store(Path(asked.results)), {asked.task}):
        if cell.trained is None or cell.trained["config"]["backbone"] != BACKBONE:
            continue
        options = cell.trained["config"]["backbone_options"]
        if (options["width"], options["layers"]) == (rung.size.width, rung.size.layers):
            return True
    return False
