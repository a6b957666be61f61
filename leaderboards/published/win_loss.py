"""Wins and losses: F2-Softmax table 9, how many duels between methods each one wins, from our scores of its table 2.

The paper does not state its rule. This one gives all of the paper's pairs but one: of columns with several n, n = 2
votes; where people's texts have a score, the value nearer to it wins. People's texts are those of our data: a column
without them does not vote, and a pair that lacks a column has no count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from bench.leaderboards.published.needs import COUNTED
from bench.leaderboards.published.reproduction import Reproduced, Reproduction
from bench.leaderboards.statistics.intervals import SeedMean
from bench.leaderboards.statistics.views import Duel, Goal, pairwise, records

VOTES: Mapping[str, Literal["lower", "higher", "human"]] = {
    "PPL": "lower",
    "KLD": "lower",
    "MS-Jaccard n=2": "higher",
    "Self-BLEU n=2": "human",
    "Distinct n=2": "human",
    "Rep": "human",
    "Uniq": "human",
}
"""By column of table 2, which value wins: the lower, the higher, or the nearer to people's."""

LACKING = "a duel needs every column of both methods, and people's scores"


def fill_win_loss_table(table: Reproduction, scores: Reproduction) -> Reproduction:
    """Fill a table of wins and losses.

    Args:
        table: one of `COUNTED`, still without our numbers.
        scores: the table it counts over.
    """
    assert COUNTED[table.table.address] == scores.table.address
    duels_by_task = {task: duels_of(task, scores) for task in _methods_by_task(scores)}
    ranks = _ranks(duels_by_task, scores)
    seeds = _seeds(scores)
    rows = []
    for row in table.rows:
        cell = row[0].cell
        if cell.than:
            counts = _duel_counts(cell.method, cell.than, duels_by_task.get(cell.task, []))
        else:
            counts = ranks.get(cell.method, {})
        rows.append(tuple(_filled(reproduced, counts, seeds) for reproduced in row))
    filled = replace(table, rows=tuple(rows))
    if any(reproduced.ours is None for row in rows for reproduced in row):
        return filled.noted([LACKING])
    return filled


def _methods_by_task(scores: Reproduction) -> dict[str, list[str]]:
    methods: dict[str, list[str]] = {}
    for row in scores.rows:
        if row[0].cell.method:
            methods.setdefault(row[0].cell.task, []).append(row[0].cell.method)
    return dict(sorted(methods.items()))


def _seeds(scores: Reproduction) -> int:
    """Return the number of seeds of the score with the fewest; 0 without scores."""
    return min((scored.ours.n for row in scores.rows for scored in row if scored.ours is not None), default=0)


def _ranks(duels_by_task: Mapping[str, Sequence[Duel]], scores: Reproduction) -> dict[str, dict[str, int]]:
    """Return, by method, the columns of table 9b over the duels of all tasks; empty unless every duel is there."""
    duels = [duel for duels in duels_by_task.values() for duel in duels]
    pairs = 0
    for methods in _methods_by_task(scores).values():
        pairs += len(methods) * (len(methods) - 1) // 2
    if len(duels) != pairs:
        return {}
    return {
        record.method: {"Rank": record.rank, "Wins": record.wins, "Losses": record.losses} for record in records(duels)
    }


def _duel_counts(method: str, than: str, duels: Sequence[Duel]) -> dict[str, int]:
    """Return the columns of table 9a for one method against another; empty without their duel."""
    for duel in duels:
        if (duel.first, duel.second) == (method, than):
            return {"W": duel.wins, "L": duel.losses}
        if (duel.first, duel.second) == (than, method):
            return {"W": duel.losses, "L": duel.wins}
    return {}


def _filled(reproduced: Reproduced, counts: Mapping[str, int], seeds: int) -> Reproduced:
    column = reproduced.cell.column
    if column not in counts:
        return reproduced
    return replace(reproduced, ours=SeedMean(float(counts[column]), None, seeds))


def duels_of(task: str, scores: Reproduction) -> list[Duel]:
    """Return the duels of one task over the columns that vote; methods that lack one of them are left out."""
    human: dict[str, float] = {}
    values: dict[str, dict[str, float]] = {}
    for row in scores.rows:
        cell, votes = row[0].cell, _votes(row)
        if cell.task != task:
            continue
        if cell.row == "Human":
            human = votes
        if cell.method and len(votes) == len(VOTES):
            values[cell.method] = votes
    goals: dict[str, Goal] = {}
    for column, goal in VOTES.items():
        if goal != "human":
            goals[column] = goal
        elif column in human:
            goals[column] = human[column]
    if len(values) < 2 or len(goals) < len(VOTES):
        return []
    return pairwise(values, goals)


def _votes(row: Sequence[Reproduced]) -> dict[str, float]:
    """Return a row's numbers by the columns that vote."""
    return {
        scored.cell.column: scored.ours.mean
        for scored in row
        if scored.ours is not None and scored.cell.column in VOTES
    }
