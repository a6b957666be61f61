"""Preceding targets: what a slice is told of the targets before each of its positions, beside loops over lists."""

from __future__ import annotations

import pytest

from bench.models.core.states import IGNORED, States, slices
from bench.models.core.target_lookup import earlier_targets, preceding_targets
from tests.models import still
from tests.models.still import KINDS

ROWS = [
    [1, 7, 5, 7, 6, 7, 5],
    [1, 4, 4, 4],
    [1, 9, 8, 9, 9, 3, 8, 2],
    [1, 3],
]


def states(kind: str) -> States:
    """Rows that repeat tokens; the first token of a decoder-only row is a prompt."""
    labels = ROWS
    if kind == "gpt2":
        labels = [[IGNORED, *row[1:]] for row in ROWS]
    return still.backbone(kind).states(still.rows_of(ROWS, labels))


def by_hand(kind: str) -> list[list[int]]:
    """The targets before each position with a target, in order, row after row."""
    before = []
    for row in states(kind).targets.tolist():
        real = [token for token in row if token != IGNORED]
        before += [real[:place] for place in range(len(real))]
    return before


@pytest.mark.parametrize("size", [3, 99])
@pytest.mark.parametrize("kind", KINDS)
def test_each_earlier_token_counts_once(kind: str, size: int) -> None:
    """Slices of 3 positions cut rows in two."""
    found = []
    for rows in slices(states(kind), size):
        tokens, is_earlier = earlier_targets(rows)
        found += [at[mask].tolist() for at, mask in zip(tokens, is_earlier, strict=True)]
    assert found == [list(dict.fromkeys(before)) for before in by_hand(kind)]


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("window", [1, 2, 3, 99])
@pytest.mark.parametrize("kind", KINDS)
def test_a_window_has_the_nearest_first(kind: str, window: int, distinct: bool) -> None:
    """Without the position's own target; a token that is said twice counts once, at its nearest place, if asked."""
    found, targets = [], []
    for rows in slices(states(kind), 3):
        preceding = preceding_targets(rows, window, distinct=distinct)
        found += [at[~mask].tolist() for at, mask in zip(preceding.tokens, preceding.left_out, strict=True)]
        targets += rows.targets.tolist()
    expected = []
    for before, own in zip(by_hand(kind), targets, strict=True):
        near = [token for token in before[::-1][:window] if token != own]
        if distinct:
            near = list(dict.fromkeys(near))
        expected.append(near)
    assert found == expected
