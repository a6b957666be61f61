"""bench/audit: near copies, missing seeds, and trials that are the first of a sequence, each on a few values."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from bench.audit.across import check_copies, missing_seeds
from bench.audit.near_copies import NEAR, nearest_shares, share_from
from bench.audit.searches import are_at
from bench.base.space import LEARNING_RATE, Choices, Dimension, LogUniform, Uniform, points

DIMENSIONS: dict[str, Dimension] = {
    "learning rate": LEARNING_RATE["optim.lr"],
    "range": Uniform(0, 2),
    "logarithmic": LogUniform(1e-3, 1),
    "choices": Choices(0, 0.5, 1),
}


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


@pytest.mark.parametrize("own", [3e-4, 0.00123, 5])
@pytest.mark.parametrize("name", DIMENSIONS)
def test_trials_of_a_sequence_are_told_from_trials_with_gaps(name: str, own: float) -> None:
    dimension = DIMENSIONS[name]
    shares = [share for (share,) in points("mle", 1, 18)]
    values = [str(dimension.at(share, own)) for share in shares]
    for number in range(1, 19):
        assert are_at(dimension, shares[:number], values[:number])
    assert not are_at(dimension, shares[:6], values[1:7])
    assert not are_at(dimension, shares[:2], ["best", values[1]])
    nearly = str(1.03 * float(values[5]) + 0.001)
    assert not are_at(dimension, shares[:6], [*values[:5], nearly])


def test_a_seed_is_missing_where_half_of_the_other_methods_have_it() -> None:
    seeds = {"mle": {0, 1, 2}, "f2softmax": {0, 2}, "face": {0, 1, 2, 3}, "trime": {0, 1, 2}}
    of_two = [missing_seeds("gigaword", name, {"mle": {0, 1}, "trime": {0}}) for name in ("mle", "trime")]
    assert [len(list(found)) for found in of_two] == [0, 1]
    (found,) = missing_seeds("gigaword", "f2softmax", seeds)
    assert found.level == "question"
    assert found.text == "f2softmax has no seed 1, which 3 of 3 other methods have"
    assert not list(missing_seeds("gigaword", "mle", seeds))  # seed 3 is of one method in three


@pytest.mark.parametrize(
    ("other", "level"),
    [
        ({"method": "trime.released", "method_options": {"variant": "released"}}, "question"),
        ({"method": "histalign", "code": "histalign"}, "alarm"),
        ({"seed": 1}, "alarm"),
    ],
)
def test_the_same_weights_are_an_alarm_but_for_two_settings_of_one_objective(other: dict[str, Any], level: str) -> None:
    cells: Any = [stored_cell("a"), stored_cell("b", **other)]
    (found,) = check_copies(cells)
    assert (found.level, found.check) == (level, "copies")
    assert "its weights are those of" in found.text


def stored_cell(key: str, code: str = "trime", **config: Any) -> SimpleNamespace:
    """A trained cell without rows; all of them have one checkpoint."""
    settings = {"method": "trime", "method_options": {}, "seed": 0} | config
    record = {"key": key, "method": {"class": code, "version": 2}, "model": {"checkpoint_sha256": "0"}}
    return SimpleNamespace(is_trained=True, record=record, config=settings, rows=[], place=key)
