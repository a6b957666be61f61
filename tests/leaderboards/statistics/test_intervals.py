"""Intervals and tests over seeds and over items: SciPy's tests, coverage, refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from bench.leaderboards.statistics.intervals import (
    Interval,
    bootstrap,
    holm,
    paired_difference,
    seed_mean,
    welch_interval,
)
from bench.metrics.sums import Sums, bleu, mean, perplexity, ratio


def counted(values):
    return Sums(mean(1), np.c_[values, np.ones(len(values))])


def covered(truth, intervals):
    return np.mean([found.low <= truth <= found.high for found in intervals])


# Student t over seeds


@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_interval_over_seeds_covers_what_it_says(n):
    runs = np.random.default_rng(n).normal(20, 0.7, size=(4000, n)).tolist()
    found = [seed_mean(values) for values in runs]
    assert 0.935 <= np.mean([abs(one.mean - 20) <= one.half for one in found]) <= 0.965


def test_seed_mean_by_hand():
    found = seed_mean([20.0, 22.0, 24.0])
    assert (found.mean, found.n) == (22, 3)
    assert found.half == pytest.approx(4.302652729749464 * 2 / math.sqrt(3), rel=1e-12)
    assert seed_mean([1e308, 1e308, 1.1e308]).half == pytest.approx(seed_mean([1.0, 1.0, 1.1]).half * 1e308)
    few = seed_mean([1.0, 2.0])
    assert (few.mean, few.half, few.low, few.high, few.p) == (1.5, None, None, None, None)
    for mean_, p in ((2.0, 0.0), (0.0, 1.0)):
        alike = seed_mean([mean_] * 3)
        assert (alike.half, alike.low, alike.high, alike.p) == (0.0, mean_, mean_, p)


@pytest.mark.parametrize("values", [[], [1.0, math.nan, 2.0], [math.inf]])
def test_a_diverged_seed_is_not_a_number(values):
    with pytest.raises(ValueError, match="one finite value or more"):
        seed_mean(values)


def test_a_paired_difference_is_scipys_paired_t_test_over_the_seeds_in_common():
    ours, theirs = {0: 5.0, 1: 6.5, 2: 5.9, 3: 7.1, 9: 100.0}, {3: 4.0, 2: 4.1, 1: 5.0, 0: 4.9, 8: -100.0}
    effect = paired_difference(ours, theirs)
    assert list(effect.by_seed) == [0, 1, 2, 3]
    expected = stats.ttest_rel([ours[seed] for seed in range(4)], [theirs[seed] for seed in range(4)])
    interval = expected.confidence_interval(0.95)
    assert effect.p == pytest.approx(expected.pvalue)
    assert (effect.low, effect.high) == pytest.approx((interval.low, interval.high))
    assert paired_difference({0: 1.0}, {1: 1.0}) is None


def test_an_unpaired_difference_is_scipys_welch_interval():
    ours, theirs = [5.0, 6.5, 5.9, 7.1], [1.0, 1.2, 0.9, 1.4, 4.0]
    interval = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(0.95)
    found = welch_interval(ours, theirs)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert welch_interval(ours, [1.0, 2.0]).low is None
    assert welch_interval([2.0] * 3, [1.0] * 3).low == 1.0


def test_holm_multiplies_the_smallest_p_by_the_number_of_tests():
    assert holm([0.02, 0.01]) == [0.02, 0.02]
    assert holm([0.6, 0.7, 0.8]) == [1.0, 1.0, 1.0]
    assert holm([]) == []


# Bootstrap over items


def of_ratio(rng, n):
    below = rng.integers(1, 9, n)
    return Sums(ratio(1), np.c_[rng.binomial(below, 0.3), below])


def of_perplexity(rng, n):
    count = rng.integers(20, 60, n)
    return Sums(perplexity(), np.c_[count * rng.gamma(16, 2 / 16, n), count])


def of_bleu(rng, n):
    length = rng.integers(8, 20, n)
    one = rng.binomial(length, 0.6)
    two = rng.binomial(np.maximum(one - 1, 0), 0.5)
    return Sums(bleu((0.5, 0.5)), np.c_[one, two, length, length - 1, length, rng.integers(8, 21, n)])


@pytest.mark.slow
@pytest.mark.parametrize("make", [of_ratio, of_perplexity, of_bleu])
def test_the_bootstrap_covers_what_it_says(make):
    rng = np.random.default_rng(12)
    truth = make(rng, 400_000).value
    found = [bootstrap(make(rng, 100), rounds=500) for _ in range(2000)]
    assert 0.935 <= covered(truth, found) <= 0.965


@pytest.mark.slow
def test_the_bootstrap_of_a_difference_covers_what_it_says_and_is_narrower_than_two():
    rng, found, apart = np.random.default_rng(3), [], []
    for _ in range(2000):
        level = rng.normal(size=(80, 1)) * 2
        one, other = (counted((level + rng.normal(size=(80, 1)) + gap)[:, 0]) for gap in (0.5, 0))
        found.append(bootstrap(one, other, rounds=500))
        apart.append(found[-1].high - found[-1].low)
    assert 0.935 <= covered(0.5, found) <= 0.965
    assert np.mean(apart) < 0.55 * 2 * 1.96 * math.sqrt(2 * 5 / 80)


def test_the_bootstrap_of_a_mean_is_as_wide_as_its_standard_error_says():
    values = np.random.default_rng(1).normal(size=2000)
    found = bootstrap(counted(values))
    assert found == bootstrap(counted(values))
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / math.sqrt(2000), rel=0.08)


def test_too_little_gives_no_interval():
    assert bootstrap(counted([3.0])) == Interval(3, None, None)
    assert bootstrap(Sums(perplexity(), [[1e6, 1], [1, 1]])).low is None  # infinite
    assert bootstrap(counted([2.0] * 9)) == Interval(2, 2, 2)


def test_refuses_unlike_sides():
    for other in (counted([1]), Sums(mean(), [[1, 1], [0, 1]])):
        with pytest.raises(ValueError, match="the same items and one form, got 2 of"):
            bootstrap(counted([1, 2]), other)
