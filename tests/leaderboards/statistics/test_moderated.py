"""The moderated t against Smyth's formulas, worked with mpmath at 30 digits for eight variances of 5 seeds."""

import math
import statistics

import numpy as np
import pytest

from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.statistics.moderated import (
    Contrast,
    contrast_of,
    limit,
    limited_prior,
    moderate,
    prior_of,
    squeezed,
    widening,
)

VARIANCES = [1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 8.0, 16.0]
D0, S0 = 49.2703461899615585, 5.13573893016338417
CAUTIOUS = 2.05162169927591538
"""d0 with trigamma(d0 / 2) = 3.248886 * 0.686361 - 0.644934, where 3.248886 widens a variance of eight."""


def test_the_prior_is_that_of_smyth():
    """The logarithms are 0, 1, 2 (four times), 3 and 4 times log 2: their variance is 10/7 log(2)^2 = 0.686361."""
    d0, variance = prior_of(VARIANCES, 4, cautious=False)
    assert (float(d0), float(variance)) == pytest.approx((D0, S0), rel=1e-9)


def test_a_cautious_prior_has_fewer_degrees_and_the_same_variance():
    assert float(widening(8)) == pytest.approx(3.24888572846809422, rel=1e-12)
    d0, variance = prior_of(VARIANCES, 4)
    assert (float(d0), float(variance)) == pytest.approx((CAUTIOUS, S0), rel=1e-9)


def test_variances_are_squeezed_by_their_degrees():
    after, degrees = squeezed(VARIANCES, 4)
    expected = [2.40209883454522558, 3.06307868404219684, *[4.38503838303613935] * 4]
    expected += [7.02895778102402437, 12.3167965769997944]
    assert after == pytest.approx(expected, rel=1e-9)
    assert degrees == pytest.approx([4 + CAUTIOUS] * 8, rel=1e-9)


def test_interval_and_p_are_those_of_the_squeezed_variance():
    effect = moderate([Contrast(3.0, variance, 5) for variance in VARIANCES])[1]
    interval = effect.interval()
    assert effect.error == pytest.approx(0.782697730166914032, rel=1e-9)
    assert (interval.low, interval.high) == pytest.approx((1.08876082302302489, 4.91123917697697512), rel=1e-9)
    assert effect.p == pytest.approx(0.00849008685531766538, rel=1e-9)
    assert effect.interval(0.99).low < interval.low


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_contrasts_get_the_plain_t(count):
    values = [[1.0, 2.0, 4.0], [2.0, 2.5, 1.0], [0.0, 9.0, 3.0], *([[1.0, 2.0, 1.5]] * 4)][:count]
    for effect, own in zip(moderate([contrast_of(one) for one in values]), values, strict=True):
        plain = seed_mean(own)
        assert (effect.degrees, effect.variance) == (2, statistics.variance(own))
        assert effect.interval().high - effect.mean == pytest.approx(plain.half, rel=1e-9)


def test_like_variances_are_pooled_as_far_as_a_shared_baseline_allows():
    d0, variance = prior_of([2.0, 2.1, 1.9, 2.05, 1.95, 2.0, 1.9, 2.1], 4)
    assert (float(d0), float(variance)) == (math.inf, pytest.approx(2.0))
    after, degrees = squeezed([2.0, 2.1, 1.9, 2.05, 1.95, 2.0, 1.9, 2.1], 4)
    most = (8 * 4) ** 2 / (8 * 4 + 56 * 4 / 4)
    assert float(limit([4] * 8)) == degrees[0] == pytest.approx(most)
    assert after[1] == pytest.approx(((most - 4) * 2.0 + 4 * 2.1) / most)


def test_the_limit_is_between_one_contrast_and_four():
    assert float(limit([7])) == 7
    assert float(limit([1] * 12)) == pytest.approx(3.2)
    assert float(limit([2] * 1000)) == pytest.approx(8, rel=5e-3)
    assert float(limit([1, 1, 19])) > 19


def test_the_pooled_variance_has_the_degrees_that_limit_says():
    """Var of a pooled variance on d degrees is 2 sigma^4 / d: here of 12 contrasts with one baseline, three seeds."""
    rows = np.random.default_rng(0).standard_normal((20_000, 13, 3))
    pooled = (rows[:, 1:] - rows[:, :1]).var(-1, ddof=1).mean(1) / 2
    assert 2 / pooled.var() == pytest.approx(float(limit([2] * 12)), rel=0.05)


def test_a_variance_of_nothing_borrows_that_of_the_others_or_says_nothing():
    column = [Contrast(1.0, 0.0, 2), *(Contrast(1.0, variance, 2) for variance in VARIANCES)]
    first = moderate(column)[0]
    d0, variance = limited_prior([contrast.variance for contrast in column], 1)
    _, of_others = prior_of(VARIANCES, 1)
    assert float(variance) == float(of_others)
    assert first.variance == pytest.approx(float(d0[0] / (d0[0] + 1) * variance))
    assert moderate([Contrast(1.0, 1e-30, 2), *column[1:]])[0].variance == pytest.approx(first.variance)
    for alone in ([column[0]], [column[0]] * 6):
        effect = moderate(alone)[0]
        assert (effect.interval().low, effect.interval().high, effect.p) == (None, None, 1.0)


def test_columns_are_squeezed_each_on_its_own():
    both = [VARIANCES, [0.5, 3.0, 3.0, 5.0, 2.0, 9.0, 1.0, 8.0]]
    after, degrees = squeezed(both, 4)
    for place, variances in enumerate(both):
        alone = squeezed(variances, 4)
        assert after[place] == pytest.approx(alone[0], rel=1e-12)
        assert degrees[place] == pytest.approx(alone[1], rel=1e-12)


def test_an_item_variance_is_added_and_takes_no_degrees_away_but_its_own():
    column = [Contrast(3.0, variance, 5) for variance in VARIANCES]
    with_items = [Contrast(3.0, variance, 5, item_variance=0.5, items=40) for variance in VARIANCES]
    few_items = [Contrast(3.0, variance, 5, item_variance=0.5, items=4) for variance in VARIANCES]
    plain, wide, few = (moderate(contrasts)[0] for contrasts in (column, with_items, few_items))
    assert wide.error**2 == pytest.approx(plain.error**2 + 0.5)
    assert (wide.degrees, few.degrees) == (plain.degrees, 3)


def test_equivalence_is_the_interval_inside_the_range():
    effect = moderate([contrast_of([0.1, 0.2, -0.1, 0.0])])[0]
    for smallest in (0.05, 0.2, 0.25, 0.3, 1.0):
        for level in (0.9, 0.95, 0.99):
            interval = effect.interval(level)
            inside = -smallest < interval.low and interval.high < smallest
            assert (effect.p_equivalent(smallest) < 1 - level) == inside


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: contrast_of([1.0]), "2 seeds or more"),
        (lambda: contrast_of([1.0, math.nan]), "finite differences"),
        (lambda: Contrast(1.0, -1.0, 3), "at least 0"),
        (lambda: Contrast(1.0, 1.0, 1), "2 seeds or more"),
        (lambda: Contrast(1.0, 1.0, 3, item_variance=1.0), "groups of items"),
        (lambda: squeezed([1.0, -1.0], 2), "at least 0"),
        (lambda: squeezed([], 2), "expected variances"),
    ],
)
def test_what_is_no_contrast_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
