"""Student's t over seeds: means and differences, paired by seed or not, with intervals and p-values; Holm's correction.

A seed trains both methods of a pair from the same initial weights and in the same order of batches, so that their
difference varies less between seeds than either value. Fewer than `MIN_SEEDS` seeds give no interval and no p-value.
SciPy is imported inside the functions, since a board of one seed needs none of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards.statistics.constants import LEVEL, MIN_SEEDS
from bench.leaderboards.statistics.intervals import Interval

__all__ = ["MIN_SEEDS", "SeedEffect", "holm", "paired_difference", "seed_effect", "unpaired_difference"]


@dataclass(frozen=True)
class SeedEffect:
    """The mean of one number for each seed.

    Args:
        interval: the mean, with its t interval.
        p: two-sided, of a mean of 0; None with fewer than `MIN_SEEDS` seeds.
        by_seed: the numbers.
    """

    interval: Interval
    p: float | None
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return self.interval.value


def seed_effect(by_seed: Mapping[int, float], level: float = LEVEL) -> SeedEffect:
    """Return the mean over seeds with its t interval, `mean +- t(n - 1) * s / sqrt(n)`, and its p-value.

    Where no seed differs from another, both ends are the mean, and p is 0 unless the mean is 0.

    Raises:
        ValueError: no seed, or a number that is not finite.

    >>> effect = seed_effect({0: 1.0, 1: 2.0, 2: 3.0})
    >>> effect.mean, round(effect.interval.low, 3), round(effect.interval.high, 3), round(effect.p, 4)
    (2.0, -0.484, 4.484, 0.0742)
    """
    values = list(by_seed.values())
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"expected one finite number or more, got {values}")
    n, mean = len(values), statistics.fmean(values)
    if n < MIN_SEEDS:
        return SeedEffect(Interval(mean, None, None), None, by_seed)
    from scipy.special import stdtr, stdtrit

    error = statistics.stdev(values) / math.sqrt(n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    p = float(mean == 0)
    if error:
        p = float(2 * stdtr(n - 1, -abs(mean) / error))
    return SeedEffect(Interval(mean, mean - half, mean + half), p, by_seed)


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> SeedEffect | None:
    """Return ours less theirs over the seeds that both have; None where they have no seed in common.

    >>> paired_difference({0: 5.0, 1: 6.0}, {1: 4.0, 2: 9.0}).by_seed
    {1: 2.0}
    """
    by_seed = {seed: value - theirs[seed] for seed, value in sorted(ours.items()) if seed in theirs}
    if not by_seed:
        return None
    return seed_effect(by_seed)


def unpaired_difference(ours: Sequence[float], theirs: Sequence[float], level: float = LEVEL) -> Interval:
    """Return the mean of ours less that of theirs with the interval of Welch (1947), for rows that share no seeds.

    >>> interval = unpaired_difference([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (2.0, -0.484, 4.484)
    """
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    if min(len(ours), len(theirs)) < MIN_SEEDS:
        return Interval(difference, None, None)
    from scipy.special import stdtrit

    errors = [statistics.variance(values) / len(values) for values in (ours, theirs)]
    if not any(errors):
        return Interval(difference, difference, difference)
    parts = zip(errors, (ours, theirs), strict=True)
    degrees = sum(errors) ** 2 / sum(error**2 / (len(values) - 1) for error, values in parts)
    half = float(stdtrit(degrees, (1 + level) / 2)) * math.sqrt(sum(errors))
    return Interval(difference, difference - half, difference + half)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down rule (1979), in the order given.

    Rejecting where the result is at most alpha keeps the chance of any false rejection in the family at alpha.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
