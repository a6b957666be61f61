"""leaderboards/statistics/tuning.py: against all draws there are, and against simulation."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest

from bench.leaderboards.statistics.tuning import (
    budget_orders,
    expected_best,
    expected_maximum,
    first_changes,
    selection_gain,
)


@pytest.mark.parametrize("losses", [[1.0], [3.0, 1.0, 2.0], [2.0, 2.0, 5.0, 1.5]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_expected_best_is_the_mean_over_all_draws(losses: list[float], k: int) -> None:
    draws = [min(draw) for draw in itertools.product(losses, repeat=k)]
    assert expected_best(losses, k) == pytest.approx(statistics.fmean(draws))


def test_a_trial_that_diverged_is_infinitely_bad() -> None:
    assert math.isinf(expected_best([1.0, None], 1))
    assert math.isinf(expected_best([None], 4))


def test_no_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="0 trials"):
        expected_best([], 1)
    with pytest.raises(ValueError, match="k = 0"):
        expected_best([1.0], 0)
    with pytest.raises(ValueError, match="k >= 1"):
        expected_maximum(0)


@pytest.mark.parametrize(("k", "known"), [(2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi)), (10, 1.538753)])
def test_expected_maximum_is_the_known_value(k: int, known: float) -> None:
    assert expected_maximum(k) == pytest.approx(known, abs=1e-6)


def test_selection_alone_yields_what_a_simulation_says() -> None:
    draw = random.Random(7)
    gains = []
    for _ in range(4000):
        method = max(draw.gauss(20, 0.5) for _ in range(18))
        baseline = max(draw.gauss(20, 0.5) for _ in range(3))
        gains.append(method - baseline)
    error = statistics.stdev(gains) / math.sqrt(len(gains))
    assert selection_gain(18, 3, 0.5) == pytest.approx(statistics.fmean(gains), abs=3 * error)
    assert selection_gain(3, 3, 0.5) == 0


def test_the_order_changes_where_the_curves_cross() -> None:
    orders = budget_orders({"steady": [2.0, 2.0, 2.0], "lucky": [1.0, 4.0, 4.0], "short": [9.0, 9.0]})
    assert orders == [("steady", "lucky", "short"), ("steady", "lucky", "short")]
    orders = budget_orders({"steady": [2.0] * 6, "lucky": [1.0] + [3.0] * 5})
    assert first_changes(orders)[0] == (1, ("steady", "lucky"))
    assert first_changes(orders)[1][1] == ("lucky", "steady")
