"""Costs: the cells of every method on every rung, the hours they take, and which methods a budget has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from bench.cells.cell import Cell
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.search.place import place_tried
from bench.cells.search.run import search_builder
from bench.cells.search.search import Search, Tuned
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.ladder.timing import Timing

__all__ = ["cells_by_method", "hours_by_method", "within_budget"]


def cells_by_method(
    search: Search, arguments: RunArguments, progress: Progress
) -> tuple[dict[str, list[Cell]], dict[str, str]]:
    """Return the cells that every method of a rung needs, and why some methods do not fit.

    Which combination will be picked is not known: the first stands in its place, so the number of cells is right.

    Args:
        search: the trials.
        arguments: of the rung.
        progress: told where the text is from.
    """
    builder = search_builder(search, arguments, progress)
    (task,), seed = builder.kinds, arguments.seeds[0]
    in_run = {method.trained_name for method in builder.methods}

    def first(name: str) -> tuple[str, ...]:
        method = find_method(name)
        combinations = search.combinations(method, builder.config(task, method, seed))
        return next(iter(combinations), ())

    cells: dict[str, list[Cell]] = {}
    left_out: dict[str, str] = {}
    for method in builder.methods:
        trained = find_method(method.trained_name)
        before = [name for name in search.starts_from(trained) if name in in_run]
        tuned = Tuned(task, trained, tuple(chain.from_iterable(map(first, before))))
        plan = Plan(arguments.preset)
        place_tried(plan, tuned, search, builder)
        sets = (*arguments.sets, *tuned.sets, *first(trained.name))
        picked = builder.again(RunArguments.from_dict({**arguments.as_dict(), "sets": sets}))
        picked.add_seeds(task, method)
        plan.join(picked.plan)
        if plan.skips:
            left_out[method.name] = plan.skips[0].reason
        else:
            cells[method.name] = plan.cells
    return cells, left_out


def hours_by_method(cells: Mapping[str, Sequence[Cell]], timing: Timing) -> dict[str, float]:
    """Return the hours that each method adds on one worker, if those before it are run too.

    Each step is taken to be as fast as the baseline's, and each cell is evaluated as long.

    Args:
        cells: of one rung by method, in order.
        timing: of that rung.
    """
    known = set()
    hours: dict[str, float] = {}
    for method, needed in cells.items():
        seconds = 0.0
        for cell in needed:
            if cell.folder.path not in known:
                known.add(cell.folder.path)
                seconds += timing.seconds(cell.config.trainer.steps)
        hours[method] = seconds / 3600
    return hours


def within_budget(hours: Mapping[str, float], budget: float | None) -> list[str]:
    """Return the methods that a budget has room for: dropped from the end, never a seed or a rung.

    Args:
        hours: that each method adds, in order, the baseline first.
        budget: hours; None for any.

    Raises:
        UsageError: there is no room for two methods.

    >>> within_budget({"mle": 2.0, "trime": 2.0, "face": 0.5}, 4.0)
    ['mle', 'trime']
    """
    kept = list(hours)
    if budget is None:
        return kept
    while kept and sum(hours[name] for name in kept) > budget:
        kept.pop()
    if len(kept) < 2:
        two = list(hours)[:2]
        raise UsageError(
            f"--budget {budget:g}h has no room for {' and '.join(two)}, which take "
            f"{sum(hours[name] for name in two):.2f} hours; give more, fewer --rungs or --epochs, or more --jobs"
        )
    return kept
