"""Predictions: what the rungs below say of the difference of two methods at an upper rung.

The difference is the mean that will be seen at the upper rung, over the seeds planned there. Its distribution is made
from the highest rung below, where the difference is d with a squared error e^2 over the seeds (`pairs.column_effects`)
and the methods' means have the spread S (`spread_of`):

- Seed noise below. True differences are taken as normal around 0, with the variance t^2 of `true_variance_of`. So the
  true difference below is expected at k d with variance k e^2, where k = t^2 / (t^2 + e^2). Two methods that seeds do
  not tell apart get a probability near 1/2.
- Change between rungs. From one size to another the true difference moves by a normal step of variance
  B U log10(larger / smaller). U = (S^2 + d^2 / 2) / 2 is the pair's unit, S^2 on average. B, the between-rung variance,
  is a mean of what the steps among the rungs below show and of `USUAL`, which counts as much as the steps of `WEIGHT`
  methods. A step shows the mean over pairs of the squared change of d / S, less the squared errors, in their unit, over
  the logarithm of the sizes; it counts as that of one method less than it has. With one rung below B is `USUAL`.
- Seed noise above. The seeds of the upper rung are taken to be as noisy as those below.

The difference is then a Student t around k d whose variance is the sum of the three, with the degrees of freedom of the
error below. The probability is that of a value above 0. For the interval, which holds 80 %, the spread may go on as it
did between the two highest rungs below, and is then multiplied by exp(g), at most 4 and at least 1/4; or it may stay.
All is multiplied by exp(g / 2), halfway between, and k d g / 2 counts as one more standard error. With one rung below
g is 0.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from bench.leaderboards.ladder.pairs import Pair, column_effects, reversed_effect
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.statistics.moderated import Effect
from bench.leaderboards.statistics.special import t_quantile, t_tail

__all__ = ["COVERED", "USUAL", "WEIGHT", "ColumnPredictions", "Prediction", "between_rungs", "predict"]

COVERED = 0.8
"""Share of the differences that intervals are meant to hold."""
USUAL = 0.5
"""Between-rung variance of a tenfold size where no step was seen, in S^2: chosen before any ladder was run.

Over nearly such a step, from 150M to 1B parameters, DataDecide reports that 80 % of pairs keep their order (Magnusson
et al. 2025). Differences have a variance of 2 S^2 before a step, and that share if noise and change add 1 S^2. Half of
it is taken to be change.
"""
WEIGHT = 2
"""Methods whose steps `USUAL` counts for."""
MOST_GROWTH = math.log(4)
"""A spread is taken to go on to four times or a quarter of itself at the most."""
NORMAL_MEDIAN = 0.9538725524
"""Median distance of two normal variables, in their standard deviation."""
Column = Mapping[Pair, Effect]
"""The effects of all pairs on one rung in one metric."""


@dataclass(frozen=True)
class Prediction:
    """What is expected of one pair of methods.

    Args:
        metric: of the ladder.
        better, than: the methods; differences are the first less the second, positive where the first is better.
        claim: name of the claim it is about; empty for a plain pair.
        probability: that the difference at the upper rung is above 0.
        difference: expected, in the metric's unit.
        low, high: ends of its 80 % interval.
    """

    metric: str
    better: str
    than: str
    claim: str
    probability: float
    difference: float
    low: float
    high: float


class ColumnPredictions:
    """The predictions of one metric.

    Args:
        ladder: the rungs below.
        metric: of the ladder.
        decades: log10 of the upper size over the highest one below.
        seeds: planned at the upper rung.
    """

    def __init__(self, ladder: Ladder, metric: str, decades: float, seeds: int) -> None:
        self.metric, self.decades, self.seeds = metric, decades, seeds
        columns = [column_effects(rung, metric, ladder.sign(metric)) for rung in ladder.rungs]
        sizes = [math.log10(rung.parameters) for rung in ladder.rungs]
        steps = [later - earlier for earlier, later in pairwise(sizes)]
        self.effects = columns[-1]
        self.spread = spread_of(self.effects)
        self.true_variance = true_variance_of(self.effects)
        self.between = between_rungs(columns, steps)
        self.growth = 0.0
        if steps:
            self.growth = _limited(growth_of(columns[-2], columns[-1]) / steps[-1] * decades)

    def has(self, pair: Pair) -> bool:
        """Return whether there is an effect of a pair, in either order."""
        return pair in self.effects or (pair[1], pair[0]) in self.effects

    def of(self, pair: Pair, claim: str = "") -> Prediction:
        """Return what is expected of a pair."""
        effect = self.effects.get(pair)
        if effect is None:
            effect = reversed_effect(self.effects[pair[1], pair[0]])
        step = self.between * self.decades * step_unit(self.spread, effect.mean)
        added = step + effect.variance / self.seeds
        numbers = predict(effect, self.true_variance, added, self.growth)
        return Prediction(self.metric, *pair, claim, *numbers)


def predict(
    effect: Effect, true_variance: float, added_variance: float, growth: float = 0.0
) -> tuple[float, float, float, float]:
    """Return probability, expected difference, and both ends of its 80 % interval.

    Args:
        effect: of the pair on the highest rung below.
        true_variance: of true differences over the pairs of that rung.
        added_variance: of the step to the upper rung and of its seeds.
        growth: logarithm of what differences are multiplied with, if their spread goes on as between the rungs below.

    >>> effect = Effect(mean=1.0, error=1.0, degrees=4.0, variance=3.0, seeds=3)
    >>> [round(number, 3) for number in predict(effect, 1.0, 0.5)]
    [0.678, 0.5, -1.033, 2.033]
    """
    squared = effect.error**2
    trust = 0.0
    if true_variance and squared:
        trust = true_variance / (true_variance + squared)
    expected, error = trust * effect.mean, math.sqrt(trust * squared + added_variance)
    if not error:
        return 0.5 + 0.5 * _sign(expected), expected, expected, expected
    tail = float(t_tail(expected / error, effect.degrees)) / 2
    probability = tail
    if expected > 0:
        probability = 1 - tail
    factor = math.exp(growth / 2)
    half = _quantile(effect.degrees) * factor * math.hypot(error, expected * growth / 2)
    return probability, factor * expected, factor * expected - half, factor * expected + half


@lru_cache(maxsize=1024)
def _quantile(degrees: float) -> float:
    """Return the t of the interval; the pairs of a column mostly have the same degrees."""
    return float(t_quantile(1 - COVERED, degrees))


def between_rungs(columns: Sequence[Column], steps: Sequence[float]) -> float:
    """Return the between-rung variance B of a tenfold size, in the unit of a pair's step.

    Args:
        columns: effects of each rung below, smallest first.
        steps: between each rung and the next, log10 of their sizes' ratio.
    """
    total, weight = USUAL * WEIGHT, float(WEIGHT)
    for (before, after), step in zip(pairwise(columns), steps, strict=True):
        squares = _squared_steps(before, after)
        if squares:
            methods = {method for pair in before.keys() & after.keys() for method in pair}
            total += (len(methods) - 1) * statistics.fmean(squares) / step
            weight += len(methods) - 1
    return max(0.0, total / weight)


def _squared_steps(before: Column, after: Column) -> list[float]:
    """Return, of every pair on both rungs, the squared change of its difference less the noise, in its step's unit."""
    spread_before, spread_after = spread_of(before), spread_of(after)
    if not (spread_before and spread_after):
        return []
    squares = []
    for pair in sorted(before.keys() & after.keys()):
        one, other = before[pair], after[pair]
        change = other.mean / spread_after - one.mean / spread_before
        noise = (other.error / spread_after) ** 2 + (one.error / spread_before) ** 2
        squares.append((change**2 - noise) / step_unit(1.0, one.mean / spread_before))
    return squares


def spread_of(column: Column) -> float:
    """Return the standard deviation S of the methods' means, from the median difference of two of them.

    Two normal means differ by `NORMAL_MEDIAN` S in the median. A few methods far from all others change it little where
    the others are spread; where those are close together, one can multiply it.
    """
    if not column:
        return 0.0
    return statistics.median(abs(effect.mean) for effect in column.values()) / NORMAL_MEDIAN


def true_variance_of(column: Column) -> float:
    """Return the variance of true differences: the mean of the squared ones less that of their squared errors."""
    if not column:
        return 0.0
    return max(0.0, statistics.fmean(effect.mean**2 - effect.error**2 for effect in column.values()))


def step_unit(spread: float, difference: float) -> float:
    """Return the unit of the variance of a pair's step: half of it S^2, half of it from its own difference.

    Over normal means it is S^2 on average.
    """
    return (spread**2 + difference**2 / 2) / 2


def growth_of(before: Column, after: Column) -> float:
    """Return the logarithm of how much larger the spread is after a step; 0 where a rung has none."""
    one, other = spread_of(before), spread_of(after)
    if not (one and other):
        return 0.0
    return math.log(other / one)


def _limited(growth: float) -> float:
    """Return a growth of at most `MOST_GROWTH` in either direction: methods that meet on one rung do not stay alike."""
    return max(-MOST_GROWTH, min(MOST_GROWTH, growth))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
