"""Wins: over how many of the shown columns each row of a table beats each other one (F2-Softmax, Table 9)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.value_statistics import ValueStatistics, Wins
from bench.leaderboards.table import Table

__all__ = ["wins_of"]

TOLERANCE = 1e-9
"""A smaller difference is a tie, as in `views.pairwise`."""


def wins_of(
    table: Table, values: Sequence[Mapping[str, ValueStatistics]], markable: Mapping[str, Collection[int]]
) -> Wins | None:
    """Return how many of the shown columns each row wins, ties and loses against each other; rows of a group tie.

    Rows of two backbones are not compared.

    Args:
        table: as it is shown.
        values: what is known of the values of each row, by column.
        markable: by column, the rows that may be marked; a column with none has no vote.

    Returns:
        None where fewer than two rows or no column can be compared.
    """
    goals = _goals(table, [column for column in table.columns if markable.get(column)])
    ids = [row.id for row in table.rows]
    if len(ids) < 2 or not goals:
        return None
    merits = np.array([_merits(row, goals) for row in table.rows])  # [rows, columns]
    groups = np.array([_groups(statistics, goals) for statistics in values])  # [rows, columns]
    matrix = {}
    places_of = _ranked_together(table)
    for place, name in enumerate(ids):
        ahead = merits[place] - merits  # [rows, columns], NaN where one of the two has no value
        in_group = (groups[place] == groups) & (groups >= 0)
        ties = (np.abs(ahead) <= TOLERANCE) | (in_group & ~np.isnan(ahead))
        wins, losses = (ahead > 0) & ~ties, (ahead < 0) & ~ties
        counts = np.stack([wins.sum(axis=1), ties.sum(axis=1), losses.sum(axis=1)], axis=1).tolist()  # [rows, 3]
        matrix[name] = {ids[other]: counts[other] for other in sorted(places_of[place] - {place})}
    return Wins(list(goals), matrix)


def _ranked_together(table: Table) -> dict[int, set[int]]:
    """Return by place the places of the rows that a row is ranked with: those of its backbone, and untrained ones."""
    together: dict[int, set[int]] = {place: set() for place in range(len(table.rows))}
    for block in table.blocks.values():
        for place in block:
            together[place] |= set(block)
    return together


def _merits(row: TableRow, goals: Mapping[str, views.Goal]) -> list[float]:
    """Return numbers that are higher for the better value of each column, NaN where there is none."""
    merits = []
    for column, mean in row.means(goals).items():
        if mean is None:
            merits.append(math.nan)
        else:
            merits.append(views.merit(mean, goals[column]))
    return merits


def _groups(statistics: Mapping[str, ValueStatistics], goals: Mapping[str, views.Goal]) -> list[int]:
    """Return the tie group of each column, -1 where there is none."""
    groups = []
    for column in goals:
        group = statistics.get(column, ValueStatistics()).group
        if group is None:
            group = -1
        groups.append(group)
    return groups


def _goals(table: Table, columns: Sequence[str]) -> dict[str, views.Goal]:
    """Return which way is better for each column that has a better way."""
    goals: dict[str, views.Goal] = {}
    for row in table.rows:
        for column in columns:
            if column not in row.values:
                continue
            if row.values[column].higher_is_better is True:
                goals[column] = "higher"
            elif row.values[column].higher_is_better is False:
                goals[column] = "lower"
    return goals
