"""Wins: over how many of the shown columns each row of a table beats each other one (F2-Softmax, Table 9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.value_statistics import ValueStatistics, Wins
from bench.leaderboards.table import Table

__all__ = ["wins_of"]


def wins_of(
    table: Table, values: Sequence[Mapping[str, ValueStatistics]], markable: Mapping[str, Collection[int]]
) -> Wins | None:
    """Return how many of the shown columns each row wins, ties and loses against each other; rows of a group tie.

    Args:
        table: as it is shown.
        values: what is known of the values of each row, by column.
        markable: by column, the rows that may be marked; a column with none has no vote.

    Returns:
        None where fewer than two rows or no column can be compared.
    """
    goals = _goals(table, [column for column in table.columns if markable.get(column)])
    means = {row.id: row.means(goals) for row in table.rows}
    if len(means) < 2 or not goals:
        return None
    groups = {row.id: statistics for row, statistics in zip(table.rows, values, strict=True)}

    def tied(ours: str, theirs: str, column: str) -> bool:
        our_group = groups[ours].get(column, ValueStatistics()).group
        return our_group is not None and our_group == groups[theirs].get(column, ValueStatistics()).group

    matrix: dict[str, dict[str, list[int]]] = {row.id: {} for row in table.rows}
    for duel in views.pairwise(means, goals, tied=tied):
        matrix[duel.first][duel.second] = [duel.wins, duel.ties, duel.losses]
        matrix[duel.second][duel.first] = [duel.losses, duel.ties, duel.wins]
    return Wins(list(goals), matrix)


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
