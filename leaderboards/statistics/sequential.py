"""Sequential looks: seeds until a claim is decided, without paying for having looked more than once.

Who adds seeds until an interval leaves 0 is wrong more often than the interval says. So the looks are fixed, and each
spends an equal part of alpha: over all of them an error is no likelier than alpha, by the sum of the parts (Bonferroni;
equal spending is the plainest of Lan and DeMets 1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.leaderboards.statistics.moderated import Effect
from bench.leaderboards.statistics.significance import holm
from bench.leaderboards.statistics.special import t_quantile
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["LOOKS", "POWER", "adjusted_over_looks", "last_look", "level_of_a_look", "next_look", "seeds_needed"]

LOOKS = (2, 3, 5, 8, 12, 20)
"""Numbers of seeds at which an open claim is judged again."""
POWER = 0.8
"""Chance of a decision that `seeds_needed` asks for."""
MOST = 1000
"""More seeds than this are not counted."""


def level_of_a_look(alpha: float = ALPHA) -> float:
    """Return the level of the interval at each look.

    It is the level also where nobody means to go on: nobody can show that he would not have. Seeds beyond a look wait
    for the next one (`last_look`).

    >>> round(level_of_a_look(), 5)
    0.99167
    """
    return 1 - alpha / len(LOOKS)


def adjusted_over_looks(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of a paper's claims, adjusted for the looks (times their number) and then by Holm (1979).

    Where one is at most alpha, the interval at `level_of_a_look(alpha)` leaves out 0.

    Args:
        p_values: two-sided, one of each tested claim of one paper, each from the seeds it has by now.

    >>> [round(p, 4) for p in adjusted_over_looks([0.001, 0.004, 0.5])]
    [0.018, 0.048, 1.0]
    """
    return holm([min(1.0, len(LOOKS) * p) for p in p_values])


def last_look(seeds: int) -> int | None:
    """Return how many of so many seeds may be judged; None before the first look.

    Who judges at every number of seeds looks nineteen times. Each claim's error then still stays below alpha in the
    simulation, but that of a paper after Holm does not.

    >>> last_look(1), last_look(3), last_look(4), last_look(25)
    (None, 3, 3, 20)
    """
    before = [look for look in LOOKS if look <= seeds]
    if not before:
        return None
    return before[-1]


def next_look(seeds: int) -> int | None:
    """Return the number of seeds at which to look next; None after the last look.

    >>> next_look(0), next_look(3), next_look(4), next_look(20)
    (2, 5, 5, None)
    """
    for look in LOOKS:
        if look > seeds:
            return look
    return None


def seeds_needed(effect: Effect, smallest: float | None = None, alpha: float = ALPHA) -> int | None:
    """Return an estimate of how many seeds, in all, would decide an open claim with a chance of `POWER`.

    It takes mean and variance as they are now for the true ones, and they are not: with few seeds it may be several
    times too small or too large. It is the least n with `t(level) + t(POWER)` standard errors between the mean and the
    nearest bound: 0, or, for an effect below the smallest one of interest, the end of its range.

    Args:
        effect: of the seeds so far.
        smallest: smallest effect of interest; None where none is stated.
        alpha: of all looks together.

    Returns:
        The seeds in all, more than there are; None where the items' share of the error leaves no such number, or one
        beyond a thousand.
    """
    distance = abs(effect.mean)
    if smallest is not None:
        distance = max(distance, smallest - distance)
    if not effect.error or not distance:
        return None
    low, high = effect.seeds, effect.seeds + 1
    while not _enough(effect, distance, high, alpha):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _enough(effect, distance, middle, alpha):
            high = middle
        else:
            low = middle
    return high


def _enough(effect: Effect, distance: float, seeds: int, alpha: float) -> bool:
    """Return whether so many seeds leave a chance of `POWER` to see that an effect is this far from a bound."""
    error = math.sqrt(effect.variance / seeds + effect.item_variance)
    degrees = effect.degrees + seeds - effect.seeds
    quantiles = t_quantile(1 - level_of_a_look(alpha), degrees) + t_quantile(2 * (1 - POWER), degrees)
    return distance >= float(quantiles) * error
