"""Intervals of a mean over seeds and of a value over items.

Two variances are kept apart. Seeds (training noise): Student's t, because a bootstrap of few seeds is much too narrow
(coverage of a nominal 95 % at n = 3: t 95 %, percentile bootstrap 73 %). Items (which examples were drawn): bootstrap.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bench.leaderboards.statistics.constants import LEVEL, MIN_SEEDS
from bench.metrics.sums import Form, Sums, values_of

__all__ = ["Interval", "SeedMean", "bootstrap", "seed_mean"]

ROUNDS = 2000
"""Bootstrap samples: the ends of a 95 % interval are then good to about a twentieth of its width."""


@dataclass(frozen=True)
class SeedMean:
    """Mean over seeds; `half` is half the width of its interval, None under `MIN_SEEDS` seeds."""

    mean: float
    half: float | None
    n: int


@dataclass(frozen=True)
class Interval:
    """A value with an interval; `low` and `high` are None where there is too little to give one."""

    value: float
    low: float | None
    high: float | None


def seed_mean(values: Sequence[float], level: float = LEVEL) -> SeedMean:
    """Return the mean over seeds and the half width of its Student-t interval: `t(n - 1) * s / sqrt(n)`.

    Exact for normal noise (Student 1908): it covers 95 % at n = 3 too.

    Raises:
        ValueError: no value, or one that is not finite: a diverged seed is not a number.

    >>> interval = seed_mean([20.0, 21.0, 22.0])
    >>> interval.mean, round(interval.half, 4), seed_mean([20.0, 21.0]).half
    (21.0, 2.4841, None)
    """
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"expected one finite value or more, got {list(values)}")
    n, mean = len(values), statistics.fmean(values)
    if n < MIN_SEEDS:
        return SeedMean(mean, None, n)
    return SeedMean(mean, _student_t(n - 1, level) * _deviation(values) / math.sqrt(n), n)


def _deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; exactly 0 of equal values, and much sooner than `statistics.stdev`."""
    shifted = [value - values[0] for value in values]
    mean = statistics.fmean(shifted)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in shifted) / (len(values) - 1))


@lru_cache(maxsize=256)
def _student_t(degrees: int, level: float) -> float:
    """Return the t that a Student-t variable stays within, on both sides, with probability `level`."""
    from scipy.special import stdtrit  # a table of one seed does without its fifth of a second

    return -float(stdtrit(degrees, (1 - level) / 2))


def bootstrap(ours: Sums, theirs: Sums | None = None, level: float = LEVEL, rounds: int = ROUNDS) -> Interval:
    """Return the value of a column, or the difference of two, with its percentile bootstrap interval over items.

    It covers about what it says for some fifty items or more that are drawn on their own; it is too narrow for fewer,
    for heavy tails, and where items come in groups (the sentences of one table).

    Args:
        ours: sufficient statistics by item; with fewer than 2 items there is no interval.
        theirs: of the same items, to be taken away; None for the value alone.
        level: probability of covering.
        rounds: bootstrap samples. Their draws are the same in every call.

    >>> interval = bootstrap(Sums(Form("mean", 100.0), [[1, 1]] * 60 + [[0, 1]] * 40))
    >>> interval.value, interval.low < 52, 68 < interval.high
    (60.0, True, True)
    """
    sides = [side for side in (ours, theirs) if side is not None]
    if theirs is not None and (ours.form, len(ours)) != (theirs.form, len(theirs)):
        raise ValueError(
            f"expected the same items and one form, got {len(ours)} of {ours.form} and {len(theirs)} of {theirs.form}"
        )

    def difference(totals: Sequence[np.ndarray], form: Form) -> np.ndarray:
        first, *others = [values_of(total, form) for total in totals]
        return first - others[0] if others else first

    value = float(difference([side.total for side in sides], ours.form))
    n = len(ours)
    if n < 2 or not math.isfinite(value):
        return Interval(value, None, None)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=rounds)  # how often each item is drawn
    samples = difference([drawn @ side.values for side in sides], ours.form)
    low, high = np.quantile(samples[np.isfinite(samples)], [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
