"""Wins and losses: F2-Softmax table 9, how many duels between methods each one wins, from our scores of its table 2.

The paper does not state its rule. This one gives all of the paper's pairs but one: of columns with several n, n = 2
votes; where people's texts have a score, the value nearer to it wins. People's texts are those of our data: a column
without them does not vote, and a pair of methods that lacks a column has no count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from bench.leaderboards.published.needs import COUNTED
from bench.leaderboards.published.reproduction import Reproduced, Reproduction
from bench.leaderboards.statistics.intervals import SeedMean

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
TOLERANCE = 1e-9
"""A smaller difference is a tie, in the column's unit."""
LACKING = "a duel needs every column of both methods, and people's scores"


@dataclass(frozen=True)
class Duel:
    """Two methods over the columns that vote: how many the first wins and loses; the others are ties."""

    first: str
    second: str
    wins: int
    losses: int


def fill_win_loss_table(table: Reproduction, scores: Reproduction) -> Reproduction:
    """Fill a table of wins and losses.

    Args:
        table: one of `COUNTED`, still without our numbers.
        scores: the table it counts over.
    """
    assert COUNTED[table.table.address] == scores.table.address
    methods_by_task: dict[str, list[str]] = {}
    for row in scores.rows:
        if row[0].cell.method:
            methods_by_task.setdefault(row[0].cell.task, []).append(row[0].cell.method)
    duels_by_task = {task: duels_of(task, scores) for task in sorted(methods_by_task)}
    duels = [duel for duels in duels_by_task.values() for duel in duels]
    pairs = sum(len(methods) * (len(methods) - 1) // 2 for methods in methods_by_task.values())
    records = records_of(duels) if len(duels) == pairs else {}
    seeds = min((scored.ours.n for row in scores.rows for scored in row if scored.ours is not None), default=0)
    rows = []
    for row in table.rows:
        cell = row[0].cell
        counts = records.get(cell.method, {})
        if cell.than:
            counts = _duel_counts(cell.method, cell.than, duels_by_task.get(cell.task, []))
        rows.append(tuple(_filled(reproduced, counts, seeds) for reproduced in row))
    filled = replace(table, rows=tuple(rows))
    if any(reproduced.ours is None for row in rows for reproduced in row):
        return filled.noted([LACKING])
    return filled


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
    if any(goal == "human" and column not in human for column, goal in VOTES.items()):
        return []
    duels = []
    for first, second in combinations(values, 2):
        ahead = []
        for column, goal in VOTES.items():
            ours, theirs = values[first][column], values[second][column]
            if goal == "human":
                ours, theirs = abs(ours - human[column]), abs(theirs - human[column])
            ahead.append(ours - theirs if goal == "higher" else theirs - ours)
        duels.append(Duel(first, second, sum(by > TOLERANCE for by in ahead), sum(by < -TOLERANCE for by in ahead)))
    return duels


def records_of(duels: Sequence[Duel]) -> dict[str, dict[str, int]]:
    """Return, by method, the columns of table 9b: duels won and lost, and the rank by duels won, which ties share.

    >>> records_of([Duel("a", "b", 4, 3), Duel("c", "a", 2, 5)])["b"]
    {'Rank': 2, 'Wins': 0, 'Losses': 1}
    """
    won, lost = Counter[str](), Counter[str]()
    for duel in duels:
        for method, wins, losses in ((duel.first, duel.wins, duel.losses), (duel.second, duel.losses, duel.wins)):
            won[method] += wins > losses
            lost[method] += wins < losses
    return {
        method: {"Rank": 1 + sum(n > won[method] for n in won.values()), "Wins": won[method], "Losses": lost[method]}
        for method in won
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


def _votes(row: Sequence[Reproduced]) -> dict[str, float]:
    """Return a row's numbers by the columns that vote."""
    return {
        scored.cell.column: scored.ours.mean
        for scored in row
        if scored.ours is not None and scored.cell.column in VOTES
    }
