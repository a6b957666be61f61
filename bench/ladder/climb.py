"""Climb: the rungs of a ladder one after another, each with its search, its cells, and the forecast before it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from bench.cells.plan_checks import is_to_do
from bench.cells.progress import Progress
from bench.errors import MissingError
from bench.ladder.asked import Asked
from bench.ladder.batches import batches
from bench.ladder.costs import cells_by_method
from bench.ladder.decision import Decision
from bench.ladder.forecasts import forecast_rung
from bench.ladder.kept import keep_ladder
from bench.ladder.run_rung import run_rung, say_failed
from bench.ladder.stored_cells import StoredCells, stored_cells
from bench.ladder.wholeness import Expected, found_of
from bench.store.store import Store

__all__ = ["climb", "n_to_do"]


def climb(asked: Asked, decision: Decision, progress: Progress, kept: Path | None = None) -> int:
    """Run what is missing of every rung, smallest first; return the exit code.

    A rung whose cells failed ends the ladder: what stands above it would be forecast from too little. A cell that
    diverged does not; its method is left out of that rung's scores alone.

    Args:
        asked: the ladder.
        decision: what it runs.
        progress: told what happens.
        kept: a board that the store is kept as behind each batch of methods and however the work ends; None for none.

    Raises:
        KeyboardInterrupt: a signal came.
    """
    try:
        for number, rung in enumerate(decision.rungs):
            if number:
                forecast_rung(asked, decision, number, progress)
            for methods in batches(decision.methods, asked.jobs):
                keep_ladder(asked, kept)  # the forecast, and the batch before it
                outcome = run_rung(asked, rung, methods, progress)
                if outcome.failed:
                    say_failed(outcome)
                    return outcome.exit_code
            progress.say(f"rung {rung.size.name}: whole")
    finally:
        keep_ladder(asked, kept)
    return 0


def n_to_do(asked: Asked, decision: Decision, progress: Progress) -> int:
    """Return how many cells are to be trained or evaluated.

    Which rate will be picked is not known, so the other seeds of one that is picked already count too, but for methods
    that this ladder has on every seed of a rung: of these only rates count that were not tried.

    Args:
        asked: the ladder.
        decision: its rungs and methods.
        progress: told where the text is from.
    """
    stored: StoredCells | None = None
    with suppress(MissingError):
        stored = stored_cells(Store(Path(asked.results)), asked.task)
    to_do = set[Path]()
    for rung in decision.rungs:
        arguments, shape = rung.arguments(asked, decision.methods), (rung.size.width, rung.size.layers)
        lacking = list(decision.methods)
        if stored is not None and shape in stored.rows:
            lacking = found_of(stored, shape, Expected(decision.methods, frozenset(arguments.seeds))).lacking
        cells, _ = cells_by_method(rung.search, arguments, progress)
        for method, needed in cells.items():
            for cell in needed:
                is_new_trial = cell.config.seed == arguments.seeds[0] and cell.folder.trained() is None
                if is_to_do(cell) and (is_new_trial or method in lacking):
                    to_do.add(cell.folder.path)
    return len(to_do)
