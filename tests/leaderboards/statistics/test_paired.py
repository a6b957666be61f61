"""leaderboards/statistics/paired.py: t intervals over seeds, against SciPy's tests, and Holm's correction."""

import pytest
from scipy import stats

from bench.leaderboards.statistics.paired import holm, paired_difference, seed_effect, unpaired_difference


def test_a_paired_difference_is_scipys_paired_t_test_over_the_seeds_in_common() -> None:
    ours, theirs = {0: 5.0, 1: 6.5, 2: 5.9, 3: 7.1, 9: 100.0}, {3: 4.0, 2: 4.1, 1: 5.0, 0: 4.9, 8: -100.0}
    effect = paired_difference(ours, theirs)
    assert effect is not None
    assert list(effect.by_seed) == [0, 1, 2, 3]
    expected = stats.ttest_rel([ours[seed] for seed in range(4)], [theirs[seed] for seed in range(4)])
    interval = expected.confidence_interval(0.95)
    assert effect.p == pytest.approx(expected.pvalue)
    assert (effect.interval.low, effect.interval.high) == pytest.approx((interval.low, interval.high))


def test_two_seeds_give_a_mean_and_neither_interval_nor_p() -> None:
    effect = seed_effect({0: 1.0, 1: 2.0})
    assert (effect.mean, effect.interval.low, effect.interval.high, effect.p) == (1.5, None, None, None)


def test_seeds_that_do_not_vary_give_an_interval_without_width() -> None:
    alike, nothing = seed_effect(dict.fromkeys(range(3), 2.0)), seed_effect(dict.fromkeys(range(3), 0.0))
    assert (alike.interval.low, alike.interval.high, alike.p) == (2.0, 2.0, 0.0)
    assert (nothing.interval.low, nothing.interval.high, nothing.p) == (0.0, 0.0, 1.0)


def test_a_number_that_is_not_finite_is_refused() -> None:
    for by_seed in ({}, {0: 1.0, 1: float("nan")}):
        with pytest.raises(ValueError, match="expected one finite number or more"):
            seed_effect(by_seed)


def test_methods_without_a_seed_in_common_are_not_compared() -> None:
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests() -> None:
    assert holm([0.02, 0.01]) == [0.02, 0.02]
    assert holm([0.6, 0.7, 0.8]) == [1.0, 1.0, 1.0]
    assert holm([]) == []


def test_an_unpaired_difference_is_scipys_welch_interval() -> None:
    ours, theirs = [5.0, 6.5, 5.9, 7.1], [1.0, 1.2, 0.9, 1.4, 4.0]
    interval = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    found = unpaired_difference(ours, theirs)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert unpaired_difference(ours, [1.0, 2.0]).low is None
    assert unpaired_difference([2.0] * 3, [1.0] * 3).low == 1.0
