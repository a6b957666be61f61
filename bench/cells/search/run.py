"""Run of a search: every combination is trained, the best is picked, and what was picked is trained on every seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.outcome import Outcome
from bench.cells.plan import Plan, PlanBuilder, builder_of
from bench.cells.progress import Progress
from bench.cells.search.place import Placed, place_tried, tried_of
from bench.cells.search.search import Execute, Name, Search, Tuned, best
from bench.cells.search.tie_break import tie_break
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.store.provenance import provenance

__all__ = ["planned_search", "run_search", "search_builder"]


def run_search(
    search: Search,
    arguments: RunArguments,
    progress: Progress,
    execute: Execute,
    before: Callable[[Plan], None] | None = None,
) -> tuple[Plan, Outcome]:
    """Train what is tried, pick on the validation split, then train and evaluate what was picked on all seeds.

    One combination is picked for all seeds of a method, by the mean over the seeds it was tried on (see `best`). The
    test split is not read before that.

    Args:
        search: what is tried.
        arguments: of the run.
        progress: shows what happens.
        execute: runs a plan.
        before: is called with everything that would be trained, before anything is; what it raises ends the search.

    Returns:
        The plan of what was picked, and the outcome of all runs.
    """
    builder = search_builder(search, arguments, progress)
    if before is not None:
        before(everything(search, builder, progress))
    waiting, done, outcome = tuned_methods(builder), dict[Name, Tuned](), Outcome()
    while waiting:
        ready = [name for name in waiting if not blocked(name, waiting, search)]
        plan, cells = Plan(arguments.preset), dict[Name, Placed]()
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
        outcome.add(tie_break(search, [done[name] for name in ready], builder, progress, execute))
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
        progress: shows what happens.
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
                    progress.warn(f"{kind.name} · {method.name}: no trial has a finite validation likelihood")
                    continue
            again = builder.again(replace(builder.arguments, sets=sets))
            again.add_seeds(kind, method)
            whole.join(again.plan)
    return whole


def record(cell: Cell, about: Mapping[str, Any], tuned: Tuned) -> None:
    """Store everything that was tried beside the run that was picked."""
    content: dict[str, Any] = {**about, "picked": cell.key, "tried": [each.as_dict() for each in tuned.tried]}
    if tuned.tie_break:
        content["play_off"] = [each.as_dict() for each in tuned.tie_break]  # the name in stored files
    if cell.folder.trained() is not None:
        cell.folder.write_grid(key_of(content), content, provenance())
