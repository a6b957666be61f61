"""Item variance: what all seeds have in common, by hand for means, and by the jackknife for other forms."""

import numpy as np
import pytest

from bench.leaderboards.statistics.item_variance import shared_item_variance, shared_variance
from bench.metrics.sums import Sums, mean, perplexity, ratio

PLAIN = mean(1.0)


def runs(table, form=PLAIN):
    """By seed, sums of one value an item."""
    return {seed: Sums(form, [[value, 1] for value in values]) for seed, values in enumerate(table)}


def test_two_seeds_by_hand():
    """Deviations are (-1, 0, 1) and (-2, 0, 2): a covariance of 4 / 2 over items, for the mean of 3 items 2 / 3."""
    variance, rows = shared_item_variance(runs([[1, 2, 3], [2, 4, 6]]), runs([[0, 0, 0], [0, 0, 0]]))
    assert (variance, rows) == (pytest.approx(2 / 3), 3)


def test_only_what_seeds_have_in_common_counts():
    rng = np.random.default_rng(0)
    shared, single = rng.normal(0, 2, (400, 1, 50)), rng.normal(0, 3, (400, 5, 50))
    estimates = shared_variance(shared + single)
    assert estimates.shape == (400,)
    assert estimates.mean() == pytest.approx(2**2 / 50, rel=0.1)
    assert shared_variance(single).mean() < 0.2 * 2**2 / 50


def test_one_seed_or_one_item_tells_nothing():
    assert shared_item_variance(runs([[1, 2, 3]]), runs([[0, 0, 0]])) == (0.0, 3)
    assert shared_item_variance(runs([[1], [2]]), runs([[0], [0]])) == (0.0, 1)


def test_a_ratio_with_equal_denominators_is_a_mean():
    ours, theirs = [[1, 2, 3, 9], [2, 4, 6, 7]], [[1, 1, 0, 2], [0, 1, 1, 1]]
    plain = shared_item_variance(runs(ours), runs(theirs))
    assert shared_item_variance(runs(ours, ratio(1.0)), runs(theirs, ratio(1.0))) == pytest.approx(plain)


def test_the_log_of_a_perplexity_is_a_mean():
    """log of exp(sum / counts) is the mean of the log-likelihoods."""
    ours, theirs = [[1, 2, 3, 2], [2, 4, 6, 3]], [[1, 1, 2, 2], [3, 1, 1, 1]]
    plain = shared_item_variance(runs(ours), runs(theirs))
    logs = shared_item_variance(runs(ours, perplexity()), runs(theirs, perplexity()), logarithm=True)
    assert logs == pytest.approx(plain)
    assert logs[0] > 0


def test_other_items_and_seeds_are_refused():
    with pytest.raises(ValueError, match="a seed that both have"):
        shared_item_variance({0: Sums(mean(), [[1, 1]])}, {1: Sums(mean(), [[1, 1]])})
    with pytest.raises(ValueError, match="one number of rows"):
        shared_item_variance(runs([[1, 2]]), runs([[1, 2, 3]]))
    with pytest.raises(ValueError, match="above 0 for a ratio"):
        shared_item_variance(runs([[0, 0, 5], [0, 0, 5]]), runs([[1, 1, 1]] * 2), logarithm=True)
