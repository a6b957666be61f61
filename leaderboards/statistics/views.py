"""Views: who beats whom, who is closest to people. They describe; they test nothing.

Columns that measure nearly the same (Self-BLEU-1, -2 and -3) are several votes; F2-Softmax votes with one n of each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

__all__ = ["Duel", "Goal", "Rank", "WinLossRecord", "closest_to_human", "merit", "pairwise", "records"]

Goal = Literal["higher", "lower"] | float
"""Which value of a column is best: the highest, the lowest, or the nearest to a number (people's)."""
SIGNS = {"higher": 1.0, "lower": -1.0}
Values = Mapping[str, Mapping[str, float | None]]
"""By method, by column; None where there is no number (missing, diverged, partial or in conflict)."""


@dataclass(frozen=True)
class Duel:
    """Two methods over the columns that both have; `left_out` names the others."""

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    left_out: tuple[str, ...] = ()

    @property
    def winner(self) -> str | None:
        """Who wins more columns than it loses; None for a draw."""
        if self.wins > self.losses:
            return self.first
        if self.wins < self.losses:
            return self.second
        return None


@dataclass(frozen=True)
class WinLossRecord:
    """How many duels a method wins, loses and draws; methods with as many wins share a rank."""

    method: str
    wins: int
    losses: int
    draws: int
    rank: int


@dataclass(frozen=True)
class Rank:
    """A method's rank in each column, 1 for the best and tied ranks averaged, and their mean.

    Args:
        ranks: by column, only those that all methods have.
        mean: None without such a column.
        gaps: by column, the distance from people in percent of their value.
    """

    method: str
    ranks: Mapping[str, float]
    mean: float | None
    gaps: Mapping[str, float]


def merit(value: float, goal: Goal) -> float:
    """Return a number that is higher for the better value.

    >>> merit(3.0, "higher"), merit(3.0, "lower"), merit(3.0, 5.0)
    (3.0, -3.0, -2.0)
    """
    if isinstance(goal, str):
        if goal not in SIGNS:
            raise ValueError(f"goal {goal!r} is unknown; there are: higher, lower, or a number to be near to")
        return SIGNS[goal] * value
    return -abs(value - goal)


def pairwise(
    values: Values,
    goals: Mapping[str, Goal],
    tolerance: float = 1e-9,
    tied: Callable[[str, str, str], bool] | None = None,
) -> list[Duel]:
    """Return every pair of methods with the columns each wins (F2-Softmax section 4.2.2 and table 9a).

    A method outperforms another when it is better in the majority of the columns that decide.

    Args:
        values: by method, by column.
        goals: the columns that vote, and which value is best. The paper's own: `lower` for perplexity and KLD, `higher`
            for MS-Jaccard, people's value for the rest.
        tolerance: a smaller difference is a tie, in the column's unit.
        tied: whether two methods tie in a column although they differ by more, such as a difference that is not
            significant.

    Raises:
        ValueError: fewer than two methods, no columns, an unknown goal, or a value that is not finite.

    >>> values = {"mle": {"ppl": 24.7, "ms": 29.9}, "f2": {"ppl": 25.6, "ms": 31.2}, "ul": {"ppl": 25.8, "ms": None}}
    >>> for duel in pairwise(values, {"ppl": "lower", "ms": "higher"}):
    ...     print(duel.first, duel.second, duel.wins, duel.losses, duel.winner, duel.left_out)
    mle f2 1 1 None ()
    mle ul 1 0 mle ('ms',)
    f2 ul 1 0 f2 ('ms',)
    """
    _check(values, goals, at_least=2)
    duels = []
    for first, second in combinations(values, 2):
        wins = losses = ties = 0
        left_out = []
        for column, goal in goals.items():
            ours, theirs = values[first].get(column), values[second].get(column)
            if ours is None or theirs is None:
                left_out.append(column)
                continue
            ahead = merit(ours, goal) - merit(theirs, goal)
            if abs(ahead) <= tolerance or (tied is not None and tied(first, second, column)):
                ties += 1
            elif ahead > 0:
                wins += 1
            else:
                losses += 1
        duels.append(Duel(first, second, wins, losses, ties, tuple(left_out)))
    return duels


def records(duels: Sequence[Duel]) -> list[WinLossRecord]:
    """Return each method's duels won, lost and drawn, most wins first (F2-Softmax table 9b).

    Duels of several settings (datasets, decodings) add up. Equal wins share a rank and are ordered by fewer losses.

    >>> [(r.rank, r.method, r.wins, r.losses) for r in records([Duel("a", "b", 4, 3, 0), Duel("c", "a", 2, 5, 0)])]
    [(1, 'a', 2, 0), (2, 'b', 0, 1), (2, 'c', 0, 1)]
    """
    won, lost, drawn = Counter[str](), Counter[str](), Counter[str]()
    for duel in duels:
        for method in (duel.first, duel.second):
            if duel.winner is None:
                drawn[method] += 1
            elif duel.winner == method:
                won[method] += 1
            else:
                lost[method] += 1
    methods: dict[str, None] = {}
    for duel in duels:
        methods |= {duel.first: None, duel.second: None}
    rows = []
    for method in sorted(methods, key=lambda method: (-won[method], lost[method])):
        rank = 1 + sum(won[rival] > won[method] for rival in methods)
        rows.append(WinLossRecord(method, won[method], lost[method], drawn[method], rank))
    return rows


def closest_to_human(values: Values, human: Mapping[str, float], tolerance: float = 1e-9) -> list[Rank]:
    """Return methods by the mean of their ranks in |value - human|, nearest first (F2-Softmax table 1).

    A column that a method lacks is left out for all: a mean over other columns would be another number.

    Args:
        values: by method, by column.
        human: what people's own texts score, by column.
        tolerance: distances that differ by no more share a rank.

    Raises:
        ValueError: no methods, no columns, or a value that is not finite.

    >>> ranks = closest_to_human({"mle": {"rep": 18.0}, "f2": {"rep": 12.0}}, {"rep": 10.0})
    >>> [(row.method, row.mean, row.gaps) for row in ranks]
    [('f2', 1.0, {'rep': 20.0}), ('mle', 2.0, {'rep': 80.0})]
    """
    _check(values, human, at_least=1)
    ranks: dict[str, dict[str, float]] = {method: {} for method in values}
    gaps: dict[str, dict[str, float]] = {method: {} for method in values}
    for column, true in human.items():
        distances = {}
        for method, row in values.items():
            if (value := row.get(column)) is not None:
                distances[method] = abs(value - true)
        ordered = sorted(distances.values())
        for method, own in distances.items():
            if true:
                gaps[method][column] = 100 * own / abs(true)
            if len(distances) == len(values):
                ranks[method][column] = _rank(own, ordered, tolerance)
    rows = [Rank(method, ranks[method], _mean(ranks[method]), gaps[method]) for method in values]
    return sorted(rows, key=lambda row: (row.mean is None, row.mean or 0.0))


def _rank(own: float, distances: Sequence[float], tolerance: float) -> float:
    """Return the rank of a distance, 1 for the smallest; those that differ by no more than the tolerance share one.

    Args:
        own: one of the distances.
        distances: of all methods, sorted.
        tolerance: as in `closest_to_human`.
    """
    nearer = bisect_left(distances, own - tolerance)
    level = 0
    for distance in islice(distances, nearer, None):
        if distance - own > tolerance:
            break
        level += abs(distance - own) <= tolerance
    return nearer + (level + 1) / 2


def _mean(ranks: Mapping[str, float]) -> float | None:
    if not ranks:
        return None
    return sum(ranks.values()) / len(ranks)


def _check(values: Values, goals: Mapping[str, Goal], at_least: int) -> None:
    if len(values) < at_least or not goals:
        raise ValueError(f"expected at least {at_least} methods and one column, got {list(values)} and {list(goals)}")
    for column, goal in goals.items():
        merit(0.0, goal)
        if not isinstance(goal, str) and not math.isfinite(goal):
            raise ValueError(f"{column}: expected a finite number to be near to, got {goal}")
        for method, row in values.items():
            value = row.get(column)
            if value is not None and not math.isfinite(value):
                raise ValueError(
                    f"{method}, {column}: expected a finite value, or None where there is none, got {value}"
                )
