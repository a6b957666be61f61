"""Frequency groups: golden sets, borders, ties, what is refused."""

import random
from fractions import Fraction

import pytest

from bench.metrics.diversity.frequency_groups import frequency_group_scores, group_of_tokens
from tests.metrics.diversity_cases import GOLDEN, golden


def frequency_groups(texts, train_counts):
    group = group_of_tokens(train_counts)
    row = {"id": "a", "groups": [sum(group[token] == n for text in texts for token in text) for n in range(4)]}
    return [score.value for score in frequency_group_scores([row], {"a": {}})]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, _, expected = golden(name)
    counts = [1 / rank for rank in range(1, 401)]
    found = frequency_groups(texts, counts)
    assert [share / 100 for share in found] == pytest.approx(expected["freq_groups"], abs=1e-14)
    assert sum(found) == pytest.approx(100)


@pytest.mark.parametrize("scale", [1, 3, 10**12])
def test_borders_are_exact(scale):
    """Ten equal counts reach every border; as floats, 0.1 added up falls short of some and passes others."""
    assert group_of_tokens([scale] * 10).tolist() == [0] * 4 + [1] * 3 + [2] * 2 + [3]


def test_groups_follow_the_counts_wherever_the_ids_are():
    """Token by token in exact fractions, the most frequent first."""
    rng = random.Random(0)
    for _ in range(30):
        counts = [rng.randint(0, 9) for _ in range(rng.randint(1, 40))] + [5]
        reached, expected = Fraction(0), [-1] * len(counts)
        for token in sorted(range(len(counts)), key=lambda token: (-counts[token], token)):
            reached += Fraction(counts[token], sum(counts))
            expected[token] = sum(reached > Fraction(tenths, 10) for tenths in (4, 7, 9))
        assert group_of_tokens(counts).tolist() == expected
        assert frequency_groups([[token] for token in range(len(counts))], counts) == pytest.approx(
            [100 * expected.count(group) / len(counts) for group in range(4)]
        )


def test_rows_are_scored_by_their_counts():
    rows = [{"id": "a", "groups": [3, 1, 0, 0]}, {"id": "b", "groups": [1, 2, 0, 1]}]
    found = frequency_group_scores(rows, {"a": {}, "b": {}})
    assert [(score.name, score.value) for score in found] == [
        ("frequency/frequent", 50.0), ("frequency/medium", 37.5), ("frequency/rare", 0.0), ("frequency/very_rare", 12.5)
    ]  # fmt: skip
    (score, *_) = frequency_group_scores([{"id": "a"}], {"a": {}})
    assert score.value is None
    assert score.signature.endswith("not applicable: rows without counts of frequency groups")
    (score, *_) = frequency_group_scores([{"id": "a", "groups": [0, 0, 0, 0]}], {"a": {}})
    assert score.value is None
    assert score.signature.endswith("not applicable: no generated token")
    with pytest.raises(ValueError, match="in all 2 rows or in none; 1 rows have none"):
        frequency_group_scores([{"id": "a"}, {"id": "b", "groups": [1, 0, 0, 0]}], {"a": {}, "b": {}})
