"""Looks: which is next, what each may spend, and how many seeds an open claim would take."""

import pytest

from bench.leaderboards.statistics.moderated import Effect, contrast_of, moderate
from bench.leaderboards.statistics.sequential import (
    LOOKS,
    adjusted_over_looks,
    last_look,
    level_of_a_look,
    next_look,
    seeds_needed,
)
from bench.leaderboards.statistics.special import t_quantile


def test_looks_share_alpha():
    assert LOOKS == (2, 3, 5, 8, 12, 20)
    assert len(LOOKS) * (1 - level_of_a_look(0.05)) == pytest.approx(0.05)


def test_the_next_look_is_the_first_above():
    assert [next_look(seeds) for seeds in (0, 1, 2, 4, 19, 20, 50)] == [2, 2, 3, 5, 20, None, None]


def test_seeds_beyond_a_look_wait_for_the_next():
    assert [last_look(seeds) for seeds in (0, 1, 2, 4, 19, 20, 50)] == [None, None, 2, 3, 12, 20, 20]


def test_an_adjusted_p_at_alpha_has_an_interval_without_0():
    for values in ([1.0, 1.1, 1.3], [0.1, 0.9, 1.0], [2.0, 2.1, 2.2, 1.9]):
        effect = moderate([contrast_of(values)])[0]
        adjusted, other = adjusted_over_looks([effect.p, 0.7])
        assert other == 1.0
        assert adjusted == pytest.approx(min(1.0, 2 * 6 * effect.p))
        assert adjusted > 0.05 or effect.interval(level_of_a_look()).low > 0


def test_seeds_needed_are_the_fewest_that_reach_the_power():
    effect = Effect(mean=1.0, error=2.0 / 3**0.5, degrees=5.0, variance=4.0, seeds=3)
    needed = seeds_needed(effect)

    def enough(n):
        degrees = 5.0 + n - 3
        return float(t_quantile(1 - level_of_a_look(), degrees) + t_quantile(0.4, degrees)) * 2 / n**0.5 <= 1

    assert needed is not None
    assert enough(needed)
    assert not enough(needed - 1)


def test_a_stronger_effect_needs_fewer_seeds_and_a_bound_on_both_sides_may_need_fewer_still():
    def of(mean, item_variance=0.0):
        return Effect(mean, 0.5, 4.0, 1.0, 4, item_variance)

    needed = [seeds_needed(of(mean)) for mean in (0.2, 0.5, -0.5, 1.0)]
    assert needed[0] > needed[1] == needed[2] > needed[3]
    assert seeds_needed(of(0.2), smallest=1.2) == seeds_needed(of(1.0))
    assert seeds_needed(of(0.0)) is None
    assert seeds_needed(of(0.001)) is None


def test_no_number_of_seeds_helps_where_items_are_the_error():
    assert seeds_needed(Effect(1.0, 1.1, 4.0, 1.0, 4, item_variance=1.0)) is None
    assert seeds_needed(Effect(1.0, 0.0, 4.0, 0.0, 4)) is None
