"""Grid: every method gets the settings it does best with on the validation split, and the whole search is recorded.

The papers tune so: HistAlign chose learning rates and weights on validation data (A.1), AdaDec stopped by it (A.1). A
comparison at one shared learning rate can be decided by that rate alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.plan import Plan, make_plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome, execute
from bench.config.arguments import RunArguments
from bench.config.config import override
from bench.errors import UsageError
from bench.store.provenance import provenance


@dataclass(frozen=True)
class Tried:
    """One combination of a grid for one task and method: its cells over seeds and their mean validation loss.

    Args:
        sets: the combination, as typed after --set.
        keys: trained keys, by seed.
        nll: nats per target token of the validation split, mean over seeds; None when a seed has none.
    """

    sets: tuple[str, ...]
    keys: dict[int, str]
    nll: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, keys by seed in their order."""
        keys = {str(seed): key for seed, key in sorted(self.keys.items())}
        return {"sets": list(self.sets), "keys": keys, "nll": self.nll}


def combinations(axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of a grid as `--set` texts.

    >>> combinations(["optim.lr=1e-5,3e-5", "method.alpha=1"])
    [('optim.lr=1e-5', 'method.alpha=1'), ('optim.lr=3e-5', 'method.alpha=1')]

    Raises:
        UsageError: for an axis without values, or given twice.
    """
    sets_of: dict[str, list[str]] = {}
    for axis in axes:
        name, _, values = axis.partition("=")
        override(name, values)  # refuses what is no section.name
        sets = [f"{name}={value.strip()}" for value in values.split(",") if value.strip()]
        if not sets:
            raise UsageError(f"--grid takes section.name=value,value, not '{axis}'")
        if name in sets_of:
            raise UsageError(f"--grid has '{name}' twice; give all its values at once, with commas")
        sets_of[name] = sets
    return list(itertools.product(*sets_of.values()))


def run_grid(axes: Sequence[str], arguments: RunArguments, progress: Progress) -> tuple[Plan, Outcome]:
    """Train every combination, pick by validation loss, and evaluate what was picked.

    One combination is picked for all seeds of a method, by the mean over them. The test split is never looked at while
    picking.

    Returns:
        The plan of what was picked, and what became of everything.
    """
    chosen, outcome = combinations(axes), Outcome()
    tried: dict[tuple[str, str], list[Tried]] = {}
    for number, sets in enumerate(chosen, start=1):
        progress.say(f"grid {number} of {len(chosen)}: {', '.join(sets)}")
        tuning = (*sets, "evaluation.split=valid", "evaluation.rows=all")
        tuned = replace(arguments, sets=(*arguments.sets, *tuning), kinds=("likelihood",))
        plan = make_plan(tuned, on_rows=progress.rows)
        outcome.add(execute(plan, arguments, progress))
        for name, cells in by_method(plan).items():
            tried.setdefault(name, []).append(valid_loss(sets, cells))
    picked = {name: best(combined) for name, combined in tried.items()}
    whole = Plan(arguments.preset)
    for plan in picked_plans(arguments, picked, progress):
        whole.join(plan)
    outcome.add(execute(whole, arguments, progress))
    for cell in whole.cells:
        name = (cell.config.task, cell.method.trained_name)
        if name in picked and picked[name] is not None:
            record(cell, axes, tried[name])
    return whole, outcome


def by_method(plan: Plan) -> dict[tuple[str, str], list[Cell]]:
    """Return the cells a grid tunes, by task and method."""
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        if cell.evaluations:
            cells.setdefault((cell.config.task, cell.method.trained_name), []).append(cell)
    return cells


def valid_loss(sets: tuple[str, ...], cells: Sequence[Cell]) -> Tried:
    """Return a combination's validation loss from the stored rows of its cells."""
    losses: list[float] = []
    for cell in cells:
        for key in cell.evaluations:
            if stored := cell.folder.rows(key):
                nll = sum(row["nll_sum"] for row in stored.rows)
                losses.append(nll / sum(row["n_tokens"] for row in stored.rows))
    keys = {cell.config.seed: cell.key for cell in cells}
    if not cells or len(losses) != len(cells):
        return Tried(sets, keys, None)
    return Tried(sets, keys, sum(losses) / len(losses))


def best(tried: Sequence[Tried]) -> Tried | None:
    """Return the combination with the lowest validation loss, the first of equal ones; None when none has any."""
    picked = None
    for combination in tried:
        if combination.nll is None:
            continue
        if picked is None or picked.nll is None or combination.nll < picked.nll:
            picked = combination
    return picked


def picked_plans(
    arguments: RunArguments, picked: dict[tuple[str, str], Tried | None], progress: Progress
) -> list[Plan]:
    """Plan every method with what was picked for it; a control that reads another's cell takes that one's."""
    plans = []
    whole = make_plan(arguments, progress.say, progress.rows)
    methods = {(cell.config.task, cell.method.asked): cell.method for cell in whole.cells if cell.evaluations}
    for (task, asked), method in methods.items():
        combination = picked.get((task, method.trained_name))
        sets = arguments.sets
        if combination is not None:
            sets = (*sets, *combination.sets)
        elif not method.is_baseline:
            progress.warn(f"{task} · {asked}: no combination of the grid has a validation loss")
            continue
        picked_only = replace(arguments, tasks=(task,), methods=(asked,), sets=sets)
        plans.append(make_plan(picked_only, on_rows=progress.rows))
    return plans


def record(cell: Cell, axes: Sequence[str], tried: Sequence[Tried]) -> None:
    """Store the whole grid beside the cell that was picked from it."""
    content: dict[str, Any] = {
        "axes": list(axes),
        "picked": cell.key,
        "by": "mean over seeds of nats per target token on the validation split",
        "tried": [combination.as_dict() for combination in tried],
    }
    if cell.folder.trained() is not None:
        cell.folder.write_grid(key_of(content), content, provenance())
