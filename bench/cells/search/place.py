"""Place: the runs of every combination that is tried, in a plan, and what was measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.cells.cell import Cell
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.search.search import Search, Tried, Tuned, method_options
from bench.cells.search.validation_nll import stated_column, validation_nll

__all__ = ["Placed", "place_tried", "tried_of"]


Placed = list[tuple[tuple[str, ...], list[Cell]]]
"""Each combination with its runs."""


def place_tried(
    plan: Plan,
    tuned: Tuned,
    search: Search,
    builder: PlanBuilder,
    combinations: Sequence[tuple[str, ...]] | None = None,
) -> Placed:
    """Add the runs of every combination of a method to a plan; return them by combination.

    Nothing is added where the method does not fit; the plan of what was picked says why.

    Args:
        plan: that the runs are added to.
        tuned: the method.
        search: what is tried for it.
        builder: of the run.
        combinations: only these of the search; None for all.
    """
    arguments = builder.arguments
    seeds = search.seeds(arguments.seeds)
    config = builder.config(tuned.task, tuned.method, seeds[0])
    while_tried = ("evaluation.split=valid", "evaluation.rows=all", *search.only_while_tried(tuned.method, config))
    if combinations is None:
        combinations = search.combinations(tuned.method, config)
    found = []
    for sets in combinations:
        every = (*arguments.sets, *tuned.sets, *sets, *while_tried)
        again = builder.again(replace(arguments, sets=every, seeds=seeds, kinds=("likelihood",)))
        for seed in seeds:
            if again.add(tuned.task, tuned.method, seed):
                return []
        plan.join(again.plan)
        found.append((sets, [cell for cell in again.plan.cells if cell.evaluations]))
    return found


def tried_of(sets: tuple[str, ...], cells: Sequence[Cell]) -> Tried:
    """Return a combination with what it is picked by."""
    stated = stated_column(cells) if cells and method_options(sets) else None
    return Tried(sets, {cell.config.seed: cell.key for cell in cells}, validation_nll(cells), stated)
