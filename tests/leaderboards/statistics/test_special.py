"""Student's t against closed forms and values of mpmath at 30 digits."""

import math

import pytest

from bench.leaderboards.statistics.special import t_quantile, t_tail


@pytest.mark.parametrize("t", [0.0, 0.01, 0.7, 1.9, 4.3, 60.0])
def test_tails_of_one_and_two_degrees_are_their_closed_forms(t):
    assert float(t_tail(t, 1)) == pytest.approx(1 - 2 / math.pi * math.atan(t), rel=1e-10)
    assert float(t_tail(-t, 2)) == pytest.approx(2 / (t**2 + 2 + t * math.sqrt(t**2 + 2)), rel=1e-10)


@pytest.mark.parametrize(
    ("degrees", "t", "tail"),
    [
        (1.5, 3.0, 0.133547754254913265),
        (3.2, 2.5, 0.0824417371617475158),
        (7.7, 0.4, 0.700022935624155235),
        (64.3, 4.0, 0.000166172109393629815),
        (250.5, 1.2, 0.231273004683192476),
    ],
)
def test_tails_of_real_degrees(degrees, t, tail):
    assert float(t_tail(t, degrees)) == pytest.approx(tail, rel=1e-10)
    assert float(t_quantile(tail, degrees)) == pytest.approx(t, rel=1e-9)


def test_very_many_degrees_are_a_normal_variable():
    assert float(t_tail(2.5, 19_999)) == pytest.approx(float(t_tail(2.5, 20_001)), rel=1e-5)
    assert float(t_tail(2.5, math.inf)) == pytest.approx(math.erfc(2.5 / math.sqrt(2)), rel=1e-12)
    assert float(t_quantile(0.05, 1e9)) == pytest.approx(1.959963984540054, rel=1e-7)


def test_impossible_degrees_and_levels_are_refused():
    with pytest.raises(ValueError, match="expected an alpha between 0 and 1"):
        t_quantile(0.0, 3)
    with pytest.raises(ValueError, match="degrees above 0"):
        t_quantile(0.05, [3, 0])
