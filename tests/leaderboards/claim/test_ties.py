"""leaderboards/claim/ties.py: a direction does not count where the setting of the losing side was picked by a tie."""

from __future__ import annotations

import pytest

from bench.base.ties import TIE
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.lines import verdict_line
from bench.leaderboards.claim.ties import margin
from bench.leaderboards.table import Table
from tests.leaderboards.claim.test_evidence import SIDES
from tests.leaderboards.claim.test_judge import claim, paper, rows, verdict_of

CLEAR, TIED = (5.0, 5.2, None, 5.9), (5.0, 5.0 + TIE / 2, 5.9)


def tried(**losses: tuple[float | None, ...]) -> Table:
    """Clear rows, `left` below `right`, with the losses of their trials."""
    built = rows()
    of_method = {SIDES[side].method: found for side, found in losses.items()}
    for row in built.rows:
        row.trial_losses = of_method.get(row.method, ())
        row.tried = 3
    return built


@pytest.mark.parametrize(
    ("relation", "losses", "kind"),
    [
        ("lower", {}, "established"),
        ("lower", {"left": CLEAR, "right": CLEAR}, "established"),
        ("lower", {"left": TIED, "right": CLEAR}, "established"),  # the winner has won with either of them, or more
        ("lower", {"left": CLEAR, "right": TIED}, "inconclusive"),
        ("higher", {"left": TIED, "right": CLEAR}, "inconclusive"),
        ("higher", {"left": CLEAR, "right": TIED}, "refuted"),
        ("lower", {"right": (5.0,)}, "established"),
        ("lower", {"right": (5.0, 5.0 + 2 * TIE)}, "established"),
    ],
)
def test_the_losing_side_has_a_setting_that_was_picked_clearly(
    relation: str, losses: dict[str, tuple[float | None, ...]], kind: str
) -> None:
    assert verdict_of(claim(relation), tried(**losses)).kind == kind


def test_a_tie_is_said_and_asks_for_trials_not_for_seeds() -> None:
    found = judge(paper(claim()), [tried(right=TIED)])
    (verdict,) = found.verdicts
    assert verdict_line(verdict) == (
        "inconclusive, direction established, the setting of mle was picked by 0.0050 nats, so the direction may be "
        "that of the setting: more trials would tell"
    )
    assert verdict.needs is None


@pytest.mark.parametrize(("tie_break", "kind"), [(CLEAR, "established"), (TIED, "inconclusive")])
def test_a_tie_break_stands_in_for_the_trials(tie_break: tuple[float | None, ...], kind: str) -> None:
    built = tried(right=TIED)
    for row in built.rows:
        if row.method == SIDES["right"].method:
            row.tie_break_losses = tie_break
    assert verdict_of(claim("lower"), built).kind == kind


def test_two_settings_with_the_very_same_loss_are_a_tie() -> None:
    assert verdict_of(claim("lower"), tried(right=(5.0, 5.0, 5.9))).kind == "inconclusive"


def test_a_margin_is_that_of_the_two_best() -> None:
    (row, *_) = tried(left=(5.9, None, 5.2, 5.0)).rows
    assert margin(row) == pytest.approx(0.2)
