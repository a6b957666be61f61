"""Share of an effect: Fieller's interval by hand, by its definition, and where there is none."""

import numpy as np
import pytest

from bench.leaderboards.statistics.moderated import contrast_of, moderate
from bench.leaderboards.statistics.share import (
    EXPLAINED,
    fieller,
    share_of_effect,
    squeezed_covariance,
    with_noisy_control,
)
from bench.leaderboards.statistics.special import t_quantile

EFFECT, CONTROL = [4.0, 5.0, 3.5, 4.5], [2.0, 2.2, 1.5, 2.6]


def test_fieller_by_hand():
    """t^2 / n is 1: 15 r^2 - 15 r + 3 = 0."""
    low, high = fieller(2.0, 4.0, (np.array(1.0), np.array(0.5), np.array(1.0)), 4, 2.0)
    assert (float(low), float(high)) == pytest.approx(((7.5 - 11.25**0.5) / 15, (7.5 + 11.25**0.5) / 15))


def test_an_end_is_where_the_contrast_of_that_share_has_a_p_of_alpha():
    share = share_of_effect(CONTROL, EFFECT)
    assert share.value == pytest.approx(sum(CONTROL) / sum(EFFECT))
    assert share.low < share.value < share.high
    for end in (share.low, share.high):
        rest = [control - end * effect for control, effect in zip(CONTROL, EFFECT, strict=True)]
        assert moderate([contrast_of(rest)])[0].p == pytest.approx(0.05, rel=1e-6)


def test_an_effect_that_may_be_nothing_has_no_share():
    share = share_of_effect([1.0, 1.2, 0.9], [1.0, -1.0, 0.5])
    assert share.value == pytest.approx(3.1 / 0.5)
    assert (share.low, share.high) == (None, None)
    assert share_of_effect([1.0, 1.0], [2.0, 2.0]).low is None


def test_a_control_that_does_not_vary_is_as_noisy_as_the_effect():
    """TRIME is at 100 % with every seed; the ends are those of two contrasts of one variance that do not covary."""
    effect = [94.0, 96.0, 95.0]
    share = share_of_effect([100.0] * 3, effect)
    low, high = fieller(100.0, 95.0, (np.array(1.0), np.array(0.0), np.array(1.0)), 3, t_quantile(0.05, 2))
    assert (share.low, share.high) == pytest.approx((float(low), float(high)))
    assert share.low > EXPLAINED
    assert share_of_effect([100.0, 100.0 + 1e-13, 100.0], effect).low == pytest.approx(share.low)
    assert share_of_effect([70.0] * 3, effect).low < EXPLAINED
    assert share_of_effect([100.0] * 3, [95.0] * 3).low is None, "nothing varies"


def test_a_control_that_does_not_vary_has_the_noise_of_its_column_where_that_has_a_prior():
    column = [contrast_of([one, one + 0.3]) for one in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)]
    (control, both, effect), _ = squeezed_covariance((0.0, 0.0, 0.02), 1, 4.0, 0.045)
    assert with_noisy_control((control, both, effect)) == (control, both, effect)
    assert share_of_effect([4.0, 4.0], [4.0, 4.2], column).low > share_of_effect([4.0, 4.0], [4.0, 4.2]).low


def test_a_column_of_quiet_contrasts_narrows_the_interval_of_two_seeds():
    column = [contrast_of([one, one + 0.3]) for one in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)]
    alone = share_of_effect([3.0, 3.3], [4.0, 4.1])
    among = share_of_effect([3.0, 3.3], [4.0, 4.1], column)
    assert alone.low is None or among.low > alone.low
    assert among.low < 0.75 < among.high


def test_a_squeezed_matrix_has_the_squeezed_variances_and_half_of_the_prior_as_covariance():
    (control, both, effect), degrees = squeezed_covariance((1.0, 0.2, 3.0), 4, 12.0, 2.0)
    assert (float(control), float(both), float(effect)) == pytest.approx((1.75, 0.8, 2.25))
    assert float(degrees) == 16


def test_unlike_seeds_are_refused():
    with pytest.raises(ValueError, match="expected the same seeds"):
        share_of_effect([1.0, 2.0], [1.0, 2.0, 3.0])
