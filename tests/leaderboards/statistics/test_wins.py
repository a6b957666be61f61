"""Wins: every entry of the matrix is what a duel of the two rows says."""

from __future__ import annotations

import random

import pytest

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.value_statistics import ValueStatistics
from bench.leaderboards.statistics.wins import wins_of
from bench.leaderboards.table import Table

COLUMNS = {"bleu": True, "ppl": False, "rep": None}


def table_of(draw: random.Random, rows: int) -> tuple[Table, list[dict[str, ValueStatistics]]]:
    """A table of random values, some missing, some equal, some in conflict, and random groups."""
    made, known = [], []
    for number in range(rows):
        row, statistics = TableRow("mle", "b", "greedy", {"n": number}), {}
        for column, higher in COLUMNS.items():
            if draw.random() < 0.8:
                value = round(draw.uniform(0, 2), draw.choice([0, 1, 12]))
                row.values[column] = Value({0: value}, higher, "s", conflict=draw.random() < 0.1)
                statistics[column] = ValueStatistics(group=draw.choice([None, 0, 1]))
        made.append(row)
        known.append(statistics)
    return Table("x", "test", 3, {}, made, list(COLUMNS), (), "small", True), known


@pytest.mark.parametrize("seed", range(12))
def test_the_matrix_is_that_of_all_duels(seed: int) -> None:
    table, known = table_of(random.Random(seed), 9)
    groups = dict(zip((row.id for row in table.rows), known, strict=True))
    goals: dict[str, views.Goal] = {"bleu": "higher", "ppl": "lower"}

    def tied(first: str, second: str, column: str) -> bool:
        group = groups[first][column].group
        return group is not None and group == groups[second][column].group

    wins = wins_of(table, known, dict.fromkeys(COLUMNS, {0}))
    assert wins is not None
    assert sorted(wins.columns) == sorted(goals)
    means = {row.id: row.means(goals) for row in table.rows}
    for duel in views.pairwise(means, goals, tied=tied):
        assert wins.matrix[duel.first][duel.second] == [duel.wins, duel.ties, duel.losses]
        assert wins.matrix[duel.second][duel.first] == [duel.losses, duel.ties, duel.wins]
    assert all(row not in others for row, others in wins.matrix.items())


def test_rows_of_two_backbones_are_not_compared() -> None:
    table, known = table_of(random.Random(0), 5)
    for row, backbone in zip(table.rows, ("a", "a", "b", "b", ""), strict=True):
        row.backbone = backbone
    wins = wins_of(table, known, dict.fromkeys(COLUMNS, {0}))
    assert wins is not None
    places = {row.id: place for place, row in enumerate(table.rows)}
    against = {places[row]: sorted(places[other] for other in others) for row, others in wins.matrix.items()}
    assert against == {0: [1, 4], 1: [0, 4], 2: [3, 4], 3: [2, 4], 4: [0, 1, 2, 3]}


def test_nothing_to_compare_is_none() -> None:
    table, known = table_of(random.Random(0), 1)
    assert wins_of(table, known, dict.fromkeys(COLUMNS, {0})) is None
    table, known = table_of(random.Random(0), 4)
    assert wins_of(table, known, {}) is None
