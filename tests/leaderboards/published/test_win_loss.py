"""Table 9 of F2-Softmax from scores of table 2: the paper's own scores give the paper's counts, all but one pair."""

from dataclasses import replace

import pytest

from bench.leaderboards.published.papers import paper_table
from bench.leaderboards.published.reproduction import NOT_COMPARABLE, reproduce
from bench.leaderboards.published.win_loss import LACKING, fill_win_loss_table
from bench.leaderboards.statistics.intervals import SeedMean

GREEDY, DUELS, RANKS = (paper_table(f"f2softmax/{name}") for name in ("table2", "table9a", "table9b"))
ODD = ("MLE beats UL-token", "Melo-Lyrics")
"""The pair that the paper's own scores contradict."""


def scores(but=lambda cell: False):
    """Table 2 as if ours were what is printed, except some cells that we lack."""
    found = reproduce(GREEDY, [], "paper")
    rows = []
    for row in found.rows:
        rows.append(tuple(as_printed(reproduced, but) for reproduced in row))
    return replace(found, rows=tuple(rows))


def as_printed(reproduced, but):
    if reproduced.cell.value is None or but(reproduced.cell):
        return reproduced
    return replace(reproduced, ours=SeedMean(reproduced.cell.value, None, 1))


def shown(table, held):
    return fill_win_loss_table(reproduce(table, [], "paper"), held)


def test_the_papers_scores_give_the_papers_duels():
    found = shown(DUELS, scores())
    wins = {(row[0].cell.row, row[0].cell.part): row[0] for row in found.rows}
    assert len(wins) == 20
    for name, one in wins.items():
        assert (one.verdict, one.ours.n) == (NOT_COMPARABLE, 1)
        if one.ours.mean != one.cell.value:  # ties give fewer, or the paper's own slip
            assert one.ours.mean < one.cell.value or name == ODD
    assert sum(one.ours.mean == one.cell.value for one in wins.values()) >= 15
    assert {one.delta for one in wins.values()} == {None}
    assert LACKING not in found.notes


def test_the_papers_scores_give_its_ranks():
    found = shown(RANKS, scores())
    first = {one.cell.column: one.ours.mean for one in found.rows[0]}
    assert found.rows[0][0].cell.method == "f2softmax"
    assert first == {"Rank": 1, "Wins": 7, "Losses": 1}


@pytest.mark.parametrize(
    "but",
    [
        lambda cell: cell.method == "mle" and cell.column == "KLD" and cell.task == "lyrics",
        lambda cell: cell.row == "Human" and cell.task == "lyrics",
    ],
)
def test_without_a_score_there_is_no_count(but):
    found = shown(DUELS, scores(but))
    lacking = [row[0].cell for row in found.rows if row[0].ours is None]
    assert lacking
    assert {cell.task for cell in lacking} == {"lyrics"}
    assert LACKING in found.notes
    assert all(one.ours is None for row in shown(RANKS, scores(but)).rows for one in row)
