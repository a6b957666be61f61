"""Intervals and tests of means over seeds, Holm's correction, and intervals of values over items.

Two variances are kept apart. Seeds (training noise): Student's t, because a bootstrap of few seeds is much too narrow
(coverage of a nominal 95 % at n = 3: t 95 %, percentile bootstrap 73 %). Items (which examples were drawn): bootstrap.
SciPy is imported inside the functions: a board of one seed does without its fifth of a second.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bench.leaderboards.row import mean_of
from bench.leaderboards.statistics.constants import LEVEL, MIN_SEEDS, SLACK
from bench.metrics.sums import Sums, values_of

ROUNDS = 2000
"""Bootstrap samples: the ends of a 95 % interval are then good to about a twentieth of its width."""


@dataclass(frozen=True)
class Interval:
    """A value with an interval; `low` and `high` are None where there is too little to give one."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SeedMean:
    """The mean of one number for each seed, with its 95 % t interval and its test; None under `MIN_SEEDS` seeds.

    Args:
        by_seed: the numbers.
        mean: over seeds.
        error: the standard error of the mean.
    """

    by_seed: Mapping[int, float]
    mean: float
    error: float | None

    @property
    def n(self) -> int:
        """Number of seeds."""
        return len(self.by_seed)

    @property
    def half(self) -> float | None:
        """Half the width of the interval: `t(n - 1) * s / sqrt(n)`."""
        return None if self.error is None else _student_t(self.n - 1) * self.error

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.half is None else self.mean + self.half

    @property
    def p(self) -> float | None:
        """The two-sided p-value of a mean of 0; where no seed differs from another it is 0, or 1 for a mean of 0."""
        if not self.error:
            return None if self.error is None else float(self.mean == 0)
        from scipy.special import stdtr

        return float(2 * stdtr(self.n - 1, -abs(self.mean) / self.error))


def seed_mean(numbers: Mapping[int, float] | Sequence[float]) -> SeedMean:
    """Return the mean over seeds. Its interval is exact for normal noise (Student 1908) and covers 95 % at n = 3 too.

    Args:
        numbers: one for each seed.

    Raises:
        ValueError: no value, or one that is not finite: a diverged seed is not a number.

    >>> found = seed_mean({0: 1.0, 1: 2.0, 2: 3.0})
    >>> found.mean, round(found.low, 3), round(found.high, 3), round(found.p, 4), seed_mean([1.0, 2.0]).half
    (2.0, -0.484, 4.484, 0.0742, None)
    """
    by_seed = numbers if isinstance(numbers, Mapping) else dict(enumerate(numbers))
    values = list(by_seed.values())
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"expected one finite value or more, got {values}")
    n, mean = len(values), mean_of(values)
    return SeedMean(by_seed, mean, None if n < MIN_SEEDS else _deviation(values) / math.sqrt(n))


def _deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; exactly 0 of equal values, and much sooner than `statistics.stdev`."""
    shifted = [value - values[0] for value in values]
    try:
        mean = statistics.fmean(shifted)
        return math.sqrt(math.fsum((value - mean) ** 2 for value in shifted) / (len(values) - 1))
    except OverflowError:  # of a perplexity of 1e160
        return _deviation([value / 2.0**900 for value in values]) * 2.0**900


@lru_cache(maxsize=256)
def _student_t(degrees: float) -> float:
    """Return the t that a Student-t variable stays within, on both sides, with probability `LEVEL`."""
    from scipy.special import stdtrit

    return -float(stdtrit(degrees, (1 - LEVEL) / 2))


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> SeedMean | None:
    """Return ours less theirs over the seeds that both have; None where they have no seed in common.

    A seed trains both methods of a pair from the same initial weights and in the same order of batches, so that their
    difference varies less between seeds than either value. Differences that rounding alone tells apart are made equal.

    >>> paired_difference({0: 5.0, 1: 6.0}, {1: 4.0, 2: 9.0}).by_seed
    {1: 2.0}
    >>> paired_difference({0: 0.3, 1: 0.7}, {0: 0.1 + 0.2, 1: 0.7}).by_seed
    {0: 0.0, 1: 0.0}
    """
    by_seed = {seed: value - theirs[seed] for seed, value in sorted(ours.items()) if seed in theirs}
    slack = SLACK * min((max(abs(ours[seed]), abs(theirs[seed])) for seed in by_seed), default=0.0)
    if by_seed and max(by_seed.values()) - min(by_seed.values()) <= slack:
        first = next(iter(by_seed.values()))
        by_seed = dict.fromkeys(by_seed, first if abs(first) > slack else 0.0)
    return seed_mean(by_seed) if by_seed else None


def welch_interval(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the mean of ours less that of theirs with the interval of Welch (1947), for rows that share no seeds.

    >>> interval = welch_interval([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    >>> interval.value, round(interval.low, 3), round(interval.high, 3)
    (2.0, -0.484, 4.484)
    """
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    if min(len(ours), len(theirs)) < MIN_SEEDS:
        return Interval(difference, None, None)
    errors = [statistics.variance(values) / len(values) for values in (ours, theirs)]
    half = 0.0
    if any(errors):
        degrees = [len(values) - 1 for values in (ours, theirs)]
        joint = sum(errors) ** 2 / sum(error**2 / n for error, n in zip(errors, degrees, strict=True))
        half = _student_t(joint) * math.sqrt(sum(errors))
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


def bootstrap(ours: Sums, theirs: Sums | None = None, rounds: int = ROUNDS) -> Interval:
    """Return the value of a column, or the difference of two, with its percentile bootstrap interval over items.

    It covers about what it says for some fifty items or more that are drawn on their own; it is too narrow for fewer,
    for heavy tails, and where items come in groups (the sentences of one table). `scipy.stats.bootstrap` would draw the
    items themselves; drawing how often each is taken makes a sample one row of a matrix product.

    Args:
        ours: sufficient statistics by item; with fewer than 2 items there is no interval.
        theirs: of the same items, to be taken away; None for the value alone.
        rounds: bootstrap samples. Their draws are the same in every call.

    >>> from bench.metrics.sums import Form
    >>> interval = bootstrap(Sums(Form("mean", 100.0), [[1, 1]] * 60 + [[0, 1]] * 40))
    >>> interval.value, interval.low < 52, 68 < interval.high
    (60.0, True, True)
    """
    sides = [side for side in (ours, theirs) if side is not None]
    if theirs is not None and (ours.form, len(ours)) != (theirs.form, len(theirs)):
        raise ValueError(
            f"expected the same items and one form, got {len(ours)} of {ours.form} and {len(theirs)} of {theirs.form}"
        )

    def difference(totals: Sequence[np.ndarray]) -> np.ndarray:
        first, *others = [values_of(total, ours.form) for total in totals]
        return first - others[0] if others else first

    value = float(difference([side.total for side in sides]))
    n = len(ours)
    if n < 2 or not math.isfinite(value):
        return Interval(value, None, None)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=rounds)  # how often each item is drawn
    samples = difference([drawn @ side.values for side in sides])
    low, high = np.quantile(samples[np.isfinite(samples)], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))
