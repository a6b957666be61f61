"""Run of a search: every combination is trained, the best is picked, and what was picked is trained on every seed.

A trial usually has a share of the steps of a training. A rate that is slightly better after a third of the steps may be
far worse at the end: two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart
after 300. So trials that tie are trained with all steps, and the best of these is picked, as in the last round of
successive halving (Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.base.keys import key_of
from bench.base.ties import TIE, tied
from bench.cells.cell import Cell
from bench.cells.completion import without_weights
from bench.cells.outcome import Outcome
from bench.cells.plan import Plan, PlanBuilder, builder_of
from bench.cells.progress import Progress
from bench.cells.search.choice import Tried, best, tried_of
from bench.cells.search.search import Search
from bench.config.arguments import RunArguments
from bench.config.resolve import Method, find_method
from bench.store.provenance import provenance
from bench.tasks.core.task import Task

__all__ = ["plan_of_search", "run_search"]

Execute = Callable[[Plan, RunArguments, Progress], Outcome]
"""Trains and evaluates every run of a plan, here or on several workers."""

Placed = list[tuple[tuple[str, ...], list[Cell]]]
"""Each combination with its runs."""

Name = tuple[str, str]
"""Of a task, and of a method as it is trained."""


@dataclass
class Tuned:
    """A method of a run that is tuned on one task.

    Args:
        task: its class.
        method: as it is trained.
        sets: the picked settings of the methods it starts from.
        tried: every combination.
        tie_break: those that tied, trained at full length; none where one was clearly the best.
        picked: the best of the tie break, or of what was tried.
    """

    task: type[Task]
    method: Method
    sets: tuple[str, ...] = ()
    tried: list[Tried] = field(default_factory=list)
    tie_break: list[Tried] = field(default_factory=list)
    picked: Tried | None = None

    @property
    def label(self) -> str:
        """Task and method, as messages name it."""
        return f"{self.task.name} · {self.method.trained_name}"


def run_search(
    search: Search,
    arguments: RunArguments,
    progress: Progress,
    execute: Execute,
    before: Callable[[Plan], None] = lambda plan: None,
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
    builder = builder_of_search(search, arguments, progress)
    before(everything(search, builder, progress))
    waiting, done, outcome = tuned_methods(builder), dict[Name, Tuned](), Outcome()
    while waiting:  # methods that start from others come after these
        is_blocked = {
            name: any((name[0], other) in waiting for other in search.starts_from(tuned.method))
            for name, tuned in waiting.items()
        }
        ready = {name: waiting.pop(name) for name in [*waiting] if not is_blocked[name]}
        plan, placed = Plan(arguments.preset), dict[Name, Placed]()
        for name, tuned in ready.items():
            olders = [done.get((name[0], other)) for other in search.starts_from(tuned.method)]
            tuned.sets = tuple(text for older in olders if older and older.picked for text in older.picked.sets)
            placed[name] = place_tried(plan, tuned, search, builder)
        done |= ready
        methods = ", ".join(dict.fromkeys(method for _, method in placed))
        progress.say(f"search: {sum(map(len, placed.values()))} combinations of {methods}")
        outcome.add(execute(plan, replace(arguments, keep_checkpoints="all"), progress))
        for name, tuned in ready.items():
            tuned.tried = [tried_of(*combination) for combination in placed[name]]
            tuned.picked = best(tuned.tried)
        outcome.add(tie_break(search, list(ready.values()), builder, progress, execute))
    whole = picked_plan(builder, done, progress)
    outcome.add(execute(whole, arguments, progress))
    for cell in whole.cells:
        tuned_or_none = done.get((cell.config.task, cell.method.trained_name))
        if tuned_or_none is not None and tuned_or_none.picked is not None and cell.evaluations:
            config = builder.config(tuned_or_none.task, tuned_or_none.method, cell.config.seed)
            record(cell, search.content(tuned_or_none.method, config), tuned_or_none)
    return whole, outcome


def plan_of_search(search: Search, arguments: RunArguments, progress: Progress) -> Plan:
    """Return what a search would train, for its costs; in place of what it will pick, the settings without it."""
    builder = builder_of_search(search, arguments, progress)
    builder.costs_only = True
    return everything(search, builder, progress)


def everything(search: Search, builder: PlanBuilder, progress: Progress) -> Plan:
    """Return what a search would train; in place of what it will pick, the settings without it."""
    plan = Plan(builder.preset)
    for tuned in tuned_methods(builder).values():
        place_tried(plan, tuned, search, builder)
    plan.join(picked_plan(builder, {}, progress))
    return plan


def builder_of_search(search: Search, arguments: RunArguments, progress: Progress) -> PlanBuilder:
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
    """Store everything that was tried in the folder of the run that was picked."""
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
    """Add the runs of every combination of a method, or of some, to a plan; return them by combination.

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


# Tie break at full length -------------------------------------------------------------------------------------------


def tie_break(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, execute: Execute
) -> Outcome:
    """Repeat the trials that tie at full length, pick the best of these for each method, and return the outcome."""
    whole = search.whole()
    if whole is None:
        return Outcome()
    plan, repeated = Plan(builder.preset), list[tuple[Tuned, Placed]]()
    for tuned in methods:
        tied_sets = [tuned.tried[place].sets for place in tied([tried.nll for tried in tuned.tried])]
        if not tied_sets:
            continue
        round_of = Plan(builder.preset)
        placed = place_tried(round_of, tuned, whole, builder, tied_sets)
        folders = [folder for _, cells in placed for cell in cells for folder in without_weights(cell)]
        if gone := list(dict.fromkeys(f"'{folder.path}'" for folder in folders)):
            progress.warn(
                f"{tuned.label}: its best trials tie, and repeating them at full length needs weights that runs of "
                f"a snapshot do not have; the best trial is picked. To train these again, remove {', '.join(gone)}"
            )
            continue
        plan.join(round_of)
        repeated.append((tuned, placed))
    if not repeated:
        return Outcome()
    names = ", ".join(dict.fromkeys(tuned.method.trained_name for tuned, _ in repeated))
    n_trials = sum(len(placed) for _, placed in repeated)
    progress.say(f"search: {n_trials} trials of {names} are within {TIE} nats and are repeated at full length")
    outcome = execute(plan, replace(builder.arguments, keep_checkpoints="all"), progress)
    for tuned, placed in repeated:
        found = [tried_of(*combination) for combination in placed]
        if not all(has_ended(tried, cells) for tried, (_, cells) in zip(found, placed, strict=True)):
            progress.warn(f"{tuned.label}: a training of its tie break has failed; the best trial is picked")
            continue
        tuned.tie_break = found
        tuned.picked = best(found) or tuned.picked
    return outcome


def has_ended(tried: Tried, cells: Sequence[Cell]) -> bool:
    """Return whether a repeated trial has a likelihood, or has none because its training diverged."""
    records = [cell.folder.trained() for cell in cells]
    return tried.nll is not None or any(record is not None and record["status"] != "ok" for record in records)
