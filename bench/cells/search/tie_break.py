"""Tie break at full length: trials that tie are trained with all steps, and the best of them is picked.

A trial usually has a share of the steps of a training. A rate that is slightly better after a third of the steps may be
far worse at the end: two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart
after 300. So the last round of a search has full trainings, as in successive halving (Jamieson and Talwalkar 2016,
Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.base.ties import TIE, tied
from bench.cells.cell import Cell
from bench.cells.completion import without_weights
from bench.cells.outcome import Outcome
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.progress import Progress
from bench.cells.search.place import Placed, place_tried, tried_of
from bench.cells.search.search import Execute, Search, Tried, Tuned, best

__all__ = ["tie_break"]


def tie_break(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, execute: Execute
) -> Outcome:
    """Repeat the trials that tie at full length, pick the best of these for each method, and return the outcome.

    Args:
        search: what was tried.
        methods: whose trials are done.
        builder: of the run.
        progress: shows which methods have a tie.
        execute: runs a plan.
    """
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
    """Return a task and a method for people."""
    return f"{tuned.task.name} · {tuned.method.trained_name}"


def merged_among(placed: Placed) -> list[str]:
    """Return the folders of the merged runs without whose weights a tie break cannot be made."""
    folders = [folder for _, cells in placed for cell in cells for folder in without_weights(cell)]
    return list(dict.fromkeys(f"'{folder.path}'" for folder in folders))


def has_ended(tried: Tried, placed: tuple[tuple[str, ...], Sequence[Cell]]) -> bool:
    """Return whether a repeated trial has a likelihood, or has none because its training diverged."""
    records = [cell.folder.trained() for cell in placed[1]]
    return tried.nll is not None or any(record is not None and record["status"] != "ok" for record in records)
