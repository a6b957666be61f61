"""Search: every method gets the settings it does best with on the validation split, and all that was tried is recorded.

The papers tune so: HistAlign chose learning rates and weights on validation data (A.1), AdaDec stopped by it (A.1). A
comparison at one shared learning rate can be decided by that rate alone. What is tried is either the same grid for
every method (`grid.py`) or as many trials of each method's own space (`trials.py`); the rest is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.plan import Plan, PlanBuilder, builder_of
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.cells.search.validation_loss import validation_loss
from bench.config.arguments import RunArguments
from bench.config.config import CellConfig
from bench.config.resolve import Method, find_method
from bench.store.provenance import provenance
from bench.tasks.core.task import Task

Execute = Callable[[Plan, RunArguments, Progress], Outcome]
"""Runs every cell of a plan, here or on several workers."""

Name = tuple[str, str]
"""Of a task, and of a method as it is trained."""


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method: its cells over seeds and their mean validation loss.

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


class Search(ABC):
    """What is tried for each method of a run."""

    @abstractmethod
    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none for a method that is not tuned.

        Args:
            method: that is tuned.
            config: of its cell without a search.
        """

    @abstractmethod
    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return what the record says of the search, beside what was tried."""

    def examples(self) -> tuple[str, ...]:
        """Return settings that are typed, for a check that some method of the run takes them."""
        return ()

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return further settings of the cells that are tried, such as fewer steps."""
        return ()

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of the cells that are tried."""
        return seeds

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose chosen settings its parents have."""
        return []


@dataclass
class Tuned:
    """A method of a run that is tuned on one task.

    Args:
        task: its class.
        method: as it is trained.
        sets: the chosen settings of the methods it starts from.
        tried: every combination.
        picked: the best of them.
    """

    task: type[Task]
    method: Method
    sets: tuple[str, ...] = ()
    tried: list[Tried] = field(default_factory=list)
    picked: Tried | None = None


def run_search(
    search: Search,
    arguments: RunArguments,
    progress: Progress,
    execute: Execute,
    before: Callable[[Plan], None] | None = None,
) -> tuple[Plan, Outcome]:
    """Train what is tried, pick by validation loss, then train and evaluate what was picked on all seeds.

    One combination is picked for all seeds of a method, by the mean over those it was tried on. The test split is never
    looked at while picking.

    Args:
        search: what is tried.
        arguments: of the run.
        progress: told what happens.
        execute: runs a plan.
        before: told of all that would be trained, before anything is; what it raises ends the search.

    Returns:
        The plan of what was picked, and what became of everything.
    """
    builder = search_builder(search, arguments, progress)
    if before is not None:
        before(everything(search, builder, progress))
    waiting, done, outcome = tuned_methods(builder), dict[Name, Tuned](), Outcome()
    while waiting:
        ready = [name for name in waiting if not blocked(name, waiting, search)]
        plan, cells = Plan(arguments.preset), dict[Name, list[tuple[tuple[str, ...], list[Cell]]]]()
        for name in ready:
            done[name] = waiting.pop(name)
            done[name].sets = inherited(name, done, search)
            cells[name] = place_tried(plan, done[name], search, builder)
        methods = ", ".join(dict.fromkeys(method for _, method in cells))
        progress.say(f"search: {sum(map(len, cells.values()))} combinations of {methods}")
        outcome.add(execute(plan, replace(arguments, keep_checkpoints="all"), progress))
        for name, combinations in cells.items():
            done[name].tried = [tried_of(sets, of_combination) for sets, of_combination in combinations]
            done[name].picked = best(done[name].tried)
    whole = picked_plan(builder, done, progress)
    outcome.add(execute(whole, arguments, progress))
    for cell in whole.cells:
        tuned = done.get((cell.config.task, cell.method.trained_name))
        if tuned is not None and tuned.picked is not None and cell.evaluations:
            config = builder.config(tuned.task, tuned.method, cell.config.seed)
            record(cell, search.content(tuned.method, config), tuned)
    return whole, outcome


def planned_search(search: Search, arguments: RunArguments, progress: Progress) -> Plan:
    """Return what a search would train, for its costs.

    Args:
        search: what is tried.
        arguments: of the run.
        progress: told what happens.
    """
    builder = search_builder(search, arguments, progress)
    builder.costs_only = True
    return everything(search, builder, progress)


def everything(search: Search, builder: PlanBuilder, progress: Progress) -> Plan:
    """Return what a search would train; in place of what it will pick, the settings without it."""
    plan = Plan(builder.preset)
    for tuned in tuned_methods(builder).values():
        place_tried(plan, tuned, search, builder)
    plan.join(picked_plan(builder, {}, progress))
    return plan


def search_builder(search: Search, arguments: RunArguments, progress: Progress) -> PlanBuilder:
    """Return what makes the plans of a search; refuse settings that no method of the run takes."""
    checked = replace(arguments, sets=(*arguments.sets, *search.examples()))
    return builder_of(checked, progress.say, progress.rows).again(arguments)


def tuned_methods(builder: PlanBuilder) -> dict[Name, Tuned]:
    """Return what is to be tuned: trained methods of the run; a control that only reads stands for what it reads."""
    found: dict[Name, Tuned] = {}
    for kind in builder.kinds:
        for method in builder.methods:
            if method.is_baseline:
                continue
            if method.only_reads:
                found.setdefault((kind.name, method.trained_name), Tuned(kind, find_method(method.trained_name)))
            else:
                found[kind.name, method.trained_name] = Tuned(kind, method)
    return found


def blocked(name: Name, waiting: Mapping[Name, Tuned], search: Search) -> bool:
    """Return whether a method starts from one that is still to be tuned."""
    return any((name[0], other) in waiting for other in search.starts_from(waiting[name].method))


def inherited(name: Name, done: Mapping[Name, Tuned], search: Search) -> tuple[str, ...]:
    """Return the chosen settings of the methods that a method starts from."""
    sets: list[str] = []
    for other in search.starts_from(done[name].method):
        before = done.get((name[0], other))
        if before is not None and before.picked is not None:
            sets += before.picked.sets
    return tuple(sets)


def place_tried(
    plan: Plan, tuned: Tuned, search: Search, builder: PlanBuilder
) -> list[tuple[tuple[str, ...], list[Cell]]]:
    """Add the cells of every combination of a method to a plan; return them by combination.

    Nothing where the method does not fit; the plan of what was picked says why.
    """
    arguments = builder.arguments
    seeds = search.seeds(arguments.seeds)
    config = builder.config(tuned.task, tuned.method, seeds[0])
    while_tried = ("evaluation.split=valid", "evaluation.rows=all", *search.only_while_tried(tuned.method, config))
    found = []
    for sets in search.combinations(tuned.method, config):
        every = (*arguments.sets, *tuned.sets, *sets, *while_tried)
        again = builder.again(replace(arguments, sets=every, seeds=seeds, kinds=("likelihood",)))
        for seed in seeds:
            if again.add(tuned.task, tuned.method, seed):
                return []
        plan.join(again.plan)
        found.append((sets, [cell for cell in again.plan.cells if cell.evaluations]))
    return found


def tried_of(sets: tuple[str, ...], cells: Sequence[Cell]) -> Tried:
    """Return a combination with its validation loss."""
    return Tried(sets, {cell.config.seed: cell.key for cell in cells}, validation_loss(cells))


def best(tried: Sequence[Tried]) -> Tried | None:
    """Return the combination with the lowest validation loss, the first of equal ones; None when none has any."""
    picked = None
    for combination in tried:
        if combination.nll is None:
            continue
        if picked is None or picked.nll is None or combination.nll < picked.nll:
            picked = combination
    return picked


def picked_plan(builder: PlanBuilder, done: Mapping[Name, Tuned], progress: Progress) -> Plan:
    """Plan every method with what was picked for it; a control that reads another's cell takes that one's."""
    whole = Plan(builder.preset)
    for kind in builder.kinds:
        for method in builder.methods:
            tuned, sets = done.get((kind.name, method.trained_name)), builder.arguments.sets
            if tuned is not None:
                sets = (*sets, *tuned.sets)  # of what it starts from, also where it has nothing to try itself
                if tuned.picked is not None:
                    sets = (*sets, *tuned.picked.sets)
                elif tuned.tried:
                    progress.warn(f"{kind.name} · {method.name}: nothing that was tried has a validation loss")
                    continue
            again = builder.again(replace(builder.arguments, sets=sets))
            again.add_seeds(kind, method)
            whole.join(again.plan)
    return whole


def record(cell: Cell, about: Mapping[str, Any], tuned: Tuned) -> None:
    """Store all that was tried beside the cell that was picked from it."""
    content: dict[str, Any] = {**about, "picked": cell.key, "tried": [each.as_dict() for each in tuned.tried]}
    if cell.folder.trained() is not None:
        cell.folder.write_grid(key_of(content), content, provenance())
