"""Counted tables: F2-Softmax table 9, wins and losses between methods, from our scores of its table 2.

The rule is not stated. n = 2 where there are several, and nearness to people's own texts where they have a score, give
all of the paper's pairs but one. People's texts are those of our data: a column without them does not vote, and a pair
that lacks a column has no count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.leaderboards.published.needs import COUNTED
from bench.leaderboards.published.reproduction import Reproduced, Reproduction
from bench.leaderboards.statistics.intervals import SeedMean
from bench.leaderboards.statistics.views import Duel, Goal, pairwise, records

VOTES = {"PPL": "lower", "KLD": "lower", "MS-Jaccard n=2": "higher", "Self-BLEU n=2": "human", "Distinct n=2": "human",
         "Rep": "human", "Uniq": "human"}  # fmt: skip
"""By column of table 2, which value wins: the lower, the higher, or the nearer to people's."""

LACKING = "a duel needs every column of both methods, and people's scores"


def counted(table: Reproduction, scores: Reproduction) -> Reproduction:
    """Fill a table of counts.

    Args:
        table: one of `COUNTED`, as it is without counts.
        scores: the table it counts over.
    """
    assert COUNTED[table.table.address] == scores.table.address
    tasks = {one.cell.task for row in scores.rows for one in row if one.cell.method}
    duels = {task: {(duel.one, duel.other): duel for duel in duels_of(task, scores)} for task in sorted(tasks)}
    seeds = min((one.ours.n for row in scores.rows for one in row if one.ours is not None), default=0)
    every = [duel for held in duels.values() for duel in held.values()]
    whole = len(every) == sum(len(methods) * (len(methods) - 1) // 2 for methods in _methods(scores).values())
    rank = {one.method: one for one in records(every)} if whole else {}
    rows = []
    for row in table.rows:
        cell = row[0].cell
        found: dict[str, int] = {}
        if cell.than:
            held = duels.get(cell.task, {})
            if duel := held.get((cell.method, cell.than)):
                found = {"W": duel.wins, "L": duel.losses}
            elif duel := held.get((cell.than, cell.method)):
                found = {"W": duel.losses, "L": duel.wins}
        elif one := rank.get(cell.method):
            found = {"Rank": one.rank, "Wins": one.wins, "Losses": one.losses}
        rows.append(tuple(_filled(each, found, seeds) for each in row))
    notes = table.notes if all(one.ours for row in rows for one in row) else (*table.notes, LACKING)
    return replace(table, rows=tuple(rows), notes=notes)


def _filled(one: Reproduced, found: dict[str, int], seeds: int) -> Reproduced:
    count = found.get(one.cell.column)
    return one if count is None else replace(one, ours=SeedMean(float(count), None, seeds))


def _methods(scores: Reproduction) -> dict[str, list[str]]:
    """Methods by task."""
    found: dict[str, list[str]] = {}
    for row in scores.rows:
        if row[0].cell.method:
            found.setdefault(row[0].cell.task, []).append(row[0].cell.method)
    return found


def duels_of(task: str, scores: Reproduction) -> list[Duel]:
    """Return the duels of one task over the columns that vote; those that lack a column are left out."""
    rows = [row for row in scores.rows if row[0].cell.task == task]
    human = next((_voting(row) for row in rows if row[0].cell.row == "Human"), {})
    goals: dict[str, Goal] = {}
    for column, goal in VOTES.items():
        if goal != "human":
            goals[column] = "lower" if goal == "lower" else "higher"
        elif column in human:
            goals[column] = human[column]
    values = {row[0].cell.method: _voting(row) for row in rows if row[0].cell.method}
    held = {method: found for method, found in values.items() if set(VOTES) <= set(found)}
    return pairwise(held, goals) if len(held) > 1 and len(goals) == len(VOTES) else []


def _voting(row: Sequence[Reproduced]) -> dict[str, float]:
    return {one.cell.column: one.ours.mean for one in row if one.ours is not None and one.cell.column in VOTES}
