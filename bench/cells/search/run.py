"""Run of a search: every combination is trained, the best is picked, and what was picked is trained on every seed.

A trial usually has a share of the steps of a training. A rate that is slightly better after a third of the steps may be
far worse at the end: two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart
after 300. So trials that tie are trained with all steps, and the best of these is picked, as in the last round of
successive halving (Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.base.keys import key_of
from bench.base.ties import TIE, tied
from bench.cells.cell import Cell
from bench.cells.completion import without_weights
from bench.cells.outcome import Outcome
from bench.cells.plan import Plan, PlanBuilder, builder_of
from bench.cells.progress import Progress
from bench.cells.search.search import Execute, Name, Search, Tried, Tuned, best, method_options
from bench.cells.search.validation_nll import stated_column, validation_nll
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.store.provenance import provenance

__all__ = ["planned_search", "run_search", "search_builder"]


Placed = list[tuple[tuple[str, ...], list[Cell]]]
"""Each combination with its runs."""


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
    """Return what a search would train, for its costs."""
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
    """Plan every method with what was picked for it; a control that reads another's run takes that one's."""
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


def place_tried(
    plan: Plan,
    tuned: Tuned,
    search: Search,
    builder: PlanBuilder,
    combinations: Sequence[tuple[str, ...]] | None = None,
) -> Placed:
    """Add the runs of every combination of a method to a plan; return them by combination.

    Nothing is added where the method does not fit; the plan of what was picked says why.
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


# Tie break at full length -------------------------------------------------------------------------------------------


def tie_break(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, execute: Execute
) -> Outcome:
    """Repeat the trials that tie at full length, pick the best of these for each method, and return the outcome."""
    whole = search.whole()
    if whole is None:
        return Outcome()
    plan, cells = Plan(builder.preset), []
    for tuned in methods:
        tied_sets = [tuned.tried[place].sets for place in tied([tried.nll for tried in tuned.tried])]
        if not tied_sets:
            continue
        round_of = Plan(builder.preset)
        placed = place_tried(round_of, tuned, whole, builder, tied_sets)
        if gone := merged_among(placed):
            progress.warn(
                f"{name_of(tuned)}: its best trials tie, and repeating them at full length needs weights that runs of "
                f"a snapshot do not have; the best trial is picked. To train these again, remove {', '.join(gone)}"
            )
            continue
        plan.join(round_of)
        cells.append((tuned, placed))
    if not cells:
        return Outcome()
    names = ", ".join(dict.fromkeys(tuned.method.trained_name for tuned, _ in cells))
    n_trials = sum(len(of) for _, of in cells)
    progress.say(f"search: {n_trials} trials of {names} are within {TIE} nats and are repeated at full length")
    outcome = execute(plan, replace(builder.arguments, keep_checkpoints="all"), progress)
    for tuned, combinations in cells:
        repeated = [tried_of(sets, of_combination) for sets, of_combination in combinations]
        if not all(has_ended(*each) for each in zip(repeated, combinations, strict=True)):
            progress.warn(f"{name_of(tuned)}: a training of its tie break has failed; the best trial is picked")
            continue
        tuned.tie_break = repeated
        tuned.picked = best(repeated) or tuned.picked
    return outcome


def name_of(tuned: Tuned) -> str:
    """Return the label of a task and a method."""
    return f"{tuned.task.name} · {tuned.method.trained_name}"


def merged_among(placed: Placed) -> list[str]:
    """Return the folders of the merged runs without whose weights a tie break cannot be made."""
    folders = [folder for _, cells in placed for cell in cells for folder in without_weights(cell)]
    return list(dict.fromkeys(f"'{folder.path}'" for folder in folders))


def has_ended(tried: Tried, placed: tuple[tuple[str, ...], Sequence[Cell]]) -> bool:
    """Return whether a repeated trial has a likelihood, or has none because its training diverged."""
    records = [cell.folder.trained() for cell in placed[1]]
    return tried.nll is not None or any(record is not None and record["status"] != "ok" for record in records)
