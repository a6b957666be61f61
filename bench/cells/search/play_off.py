"""Play-off: trials that tie are trained whole, and the best of them is picked.

A trial is mostly a share of a training. What is a hair better after a third of the steps may be far worse at the end:
two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart after 300. So the last
round of a search is played to the end, as in successive halving (Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.base.ties import TIE, tied
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.cells.search.place import best, place_tried, tried_of
from bench.cells.search.search import Execute, Search, Tuned

__all__ = ["play_off"]


def play_off(
    search: Search, methods: Sequence[Tuned], builder: PlanBuilder, progress: Progress, execute: Execute
) -> Outcome:
    """Train the trials of every method that tie whole, and pick the best of those; return what became of them.

    Args:
        search: what was tried.
        methods: whose trials are done.
        builder: of the run.
        progress: told which methods have a tie.
        execute: runs a plan.
    """
    whole = search.whole()
    if whole is None:
        return Outcome()
    plan, cells = Plan(builder.preset), []
    for tuned in methods:
        players = [tuned.tried[place].sets for place in tied([tried.nll for tried in tuned.tried])]
        if players:
            cells.append((tuned, place_tried(plan, tuned, whole, builder, players)))
    if not cells:
        return Outcome()
    names = ", ".join(dict.fromkeys(tuned.method.trained_name for tuned, _ in cells))
    progress.say(f"search: {sum(len(of) for _, of in cells)} trials of {names} within {TIE} nats, now trained whole")
    outcome = execute(plan, replace(builder.arguments, keep_checkpoints="all"), progress)
    for tuned, combinations in cells:
        tuned.play_off = [tried_of(sets, of_combination) for sets, of_combination in combinations]
        tuned.picked = best(tuned.play_off) or tuned.picked
    return outcome
