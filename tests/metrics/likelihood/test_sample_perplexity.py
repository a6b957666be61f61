"""Sample perplexity: the judge is a distribution, knows human text, and is the same for all who are judged."""

import math

import pytest

from bench.metrics.likelihood.sample_perplexity import BigramCounts, sample_perplexity, sample_perplexity_scores

HUMAN = [[1, 2, 3, 1, 2], [1, 2, 4], [5]]


@pytest.mark.parametrize("before", [None, 1, 2, 4, 5, 9])
def test_the_judge_is_a_distribution_over_human_kinds_and_one_for_all_others(before: int | None) -> None:
    counts = BigramCounts(HUMAN)
    assert math.fsum(counts.probability(token, before) for token in (1, 2, 3, 4, 5, 9)) == pytest.approx(1, abs=1e-15)


def test_a_pair_that_people_write_is_worth_more_than_one_that_they_do_not() -> None:
    counts = BigramCounts(HUMAN)
    assert counts.probability(2, 1) > counts.probability(2, 3) > counts.probability(9, 3) > 0


def test_a_token_behind_one_that_nothing_followed_has_the_probability_of_the_token_alone() -> None:
    counts = BigramCounts(HUMAN)
    assert counts.probability(1, 5) == counts.probability(1, 77) == counts.probability(1)


def test_the_value_is_that_of_a_slow_count_by_hand() -> None:
    """Of [1, 2] and [9]: p(1), p(2 | 1) and p(9), with 9 tokens of 5 kinds; 2 follows 1 three times of three."""
    alone = [(count + 5 / 6) / 14 for count in (3, 3, 0)]  # of tokens 1, 2 and 9
    expected = alone[0] * (3 + alone[1]) / 4 * alone[2]
    assert sample_perplexity([[1, 2], [9]], HUMAN) == pytest.approx(expected ** (-1 / 3), rel=1e-14)


def test_rows_of_tasks_without_continuations_have_no_value_and_say_why() -> None:
    (score,) = sample_perplexity_scores([{"id": "a", "token_ids": [1]}], {"a": {}})
    assert score.value is None
    assert score.signature.endswith("not applicable: rows without reference_ids")
