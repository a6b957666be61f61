"""Play-off: trials that tie are trained whole, and the best of them is picked.

A trial is mostly a share of a training. What is a hair better after a third of the steps may be far worse at the end:
two rates of F2-Softmax, 0.0002 nats apart after 100 steps, are 20 points of perplexity apart after 300. So the last
round of a search is played to the end, as in successive halving (Jamieson and Talwalkar 2016, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.base.ties import TIE, tied
from bench.cells.cell import Cell
from bench.cells.plan import Plan, PlanBuilder
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.cells.search.place import Placed, best, place_tried, tried_of
from bench.cells.search.search import Execute, Search, Tried, Tuned
from bench.cells.standing import merged_in_the_way

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
        if not players:
            continue
        round_of = Plan(builder.preset)
        placed = place_tried(round_of, tuned, whole, builder, players)
        if gone := merged_among(placed):
            progress.warn(
                f"{name_of(tuned)}: its best trials tie, and to train them whole takes weights that runs of a "
                f"snapshot lack; the best trial is picked. To train them anew remove {', '.join(gone)}"
            )
            continue
        plan.join(round_of)
        cells.append((tuned, placed))
    if not cells:
        return Outcome()
    names = ", ".join(dict.fromkeys(tuned.method.trained_name for tuned, _ in cells))
    progress.say(f"search: {sum(len(of) for _, of in cells)} trials of {names} within {TIE} nats, now trained whole")
    outcome = execute(plan, replace(builder.arguments, keep_checkpoints="all"), progress)
    for tuned, combinations in cells:
        played = [tried_of(sets, of_combination) for sets, of_combination in combinations]
        if not all(has_ended(*player) for player in zip(played, combinations, strict=True)):
            progress.warn(f"{name_of(tuned)}: a whole training of its play-off has failed; the best trial is picked")
            continue
        tuned.play_off = played
        tuned.picked = best(played) or tuned.picked
    return outcome


def name_of(tuned: Tuned) -> str:
    """Return a task and a method for people."""
    return f"{tuned.task.name} · {tuned.method.trained_name}"


def merged_among(placed: Placed) -> list[str]:
    """Return the places of the merged cells without whose weights a play-off cannot be made."""
    folders = [folder for _, cells in placed for cell in cells for folder in merged_in_the_way(cell)]
    return list(dict.fromkeys(f"'{folder.path}'" for folder in folders))


def has_ended(tried: Tried, placed: tuple[tuple[str, ...], Sequence[Cell]]) -> bool:
    """Return whether a player has a loss, or has none because its training diverged."""
    records = [cell.folder.trained() for cell in placed[1]]
    return tried.nll is not None or any(record is not None and record["status"] != "ok" for record in records)
