"""Near copies: the shares of words in the nearest training row, on a few values."""

from __future__ import annotations

import random

from bench.verify.leaks import NEAR, nearest_shares, share_from


def test_nearest_shares_are_those_that_comparing_every_pair_finds() -> None:
    draw = random.Random(0)
    words = [f"w{number}" for number in range(60)]
    rows = [set(draw.sample(words, draw.randint(8, 16))) for _ in range(80)]
    others = [set(draw.sample(words, draw.randint(10, 40))) for _ in range(60)]
    expected = [max(len(row & other) / len(row) for other in others) for row in rows]
    found = nearest_shares(rows, others)
    for near in NEAR:
        assert [share >= near for share in found] == [share >= near for share in expected]
    assert 0 < share_from(max(NEAR), found) < share_from(min(NEAR), found) < 1


def test_a_row_of_ten_words_may_lack_three() -> None:
    row = set("abcdefghij")
    assert nearest_shares([row], [set("abcdefgxyz")]) == [0.7]
    assert nearest_shares([row], [set("abcdefxyz"), set("ghij")]) == [0]
