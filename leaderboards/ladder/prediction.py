"""Predictions: what the rungs below say of the difference of two methods at an upper rung.

The difference is the mean that will be seen at the upper rung, over the seeds planned there. Its distribution is made
from the highest rung below, where the difference is d with a squared error e^2 over the seeds (`pairs.column_effects`)
and the methods' means have the standard deviation S:

- Seed noise below. True differences are taken as normal around 0, with variance t^2 = 2 S^2 less the mean of the
  squared errors over all pairs, at least 0. So the true difference below is expected at k d with variance k e^2, where
  k = t^2 / (t^2 + e^2). Two methods that seeds do not tell apart get a probability near 1/2.
- Change between rungs. From one size to another the true difference moves by a normal step of variance
  B S^2 log10(larger / smaller). B, the between-rung variance, is a mean of what the steps among the rungs below show
  and of `USUAL`, which counts as much as the steps of `WEIGHT` methods. A step shows the mean over the pairs of the
  squared change of d / S, less the squared errors, over the logarithm of the sizes; it counts as that of one method
  less than it has. With one rung below B is `USUAL`.
- Seed noise above. The seeds of the upper rung are taken to be as noisy as those below.

The forecast is a Student t around k d whose variance is the sum of the three, with the degrees of freedom of the error
below. The probability is that of a difference above 0, and the interval holds 80 %. The spread S is taken to stay:
where methods draw together as models grow, intervals are too wide.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from bench.leaderboards.ladder.pairs import Pair, column_effects, reversed_effect
from bench.leaderboards.ladder.scores import Ladder, Rung
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
        last, sign = ladder.rungs[-1], ladder.sign(metric)
        self.metric, self.seeds = metric, seeds
        self.effects = column_effects(last, metric, sign)
        self.spread = spread_of(last, metric)
        noise = 0.0
        if self.effects:
            noise = statistics.fmean(effect.error**2 for effect in self.effects.values())
        self.true_variance = max(0.0, 2 * self.spread**2 - noise)
        self.step_variance = between_rungs(ladder, metric) * self.spread**2 * decades

    def has(self, pair: Pair) -> bool:
        """Return whether there is an effect of a pair, in either order."""
        return pair in self.effects or (pair[1], pair[0]) in self.effects

    def of(self, pair: Pair, claim: str = "") -> Prediction:
        """Return what is expected of a pair."""
        effect = self.effects.get(pair)
        if effect is None:
            effect = reversed_effect(self.effects[pair[1], pair[0]])
        above = effect.variance / self.seeds
        numbers = predict(effect, self.true_variance, self.step_variance + above)
        return Prediction(self.metric, *pair, claim, *numbers)


def predict(effect: Effect, true_variance: float, added_variance: float) -> tuple[float, float, float, float]:
    """Return probability, expected difference, and both ends of its 80 % interval.

    Args:
        effect: of the pair on the highest rung below.
        true_variance: of true differences over the pairs of that rung.
        added_variance: of the step to the upper rung and of its seeds.

    >>> effect = Effect(mean=1.0, error=1.0, degrees=4.0, variance=3.0, seeds=3)
    >>> [round(number, 3) for number in predict(effect, 1.0, 0.5)]
    [0.678, 0.5, -1.033, 2.033]
    """
    squared = effect.error**2
    trust = 0.0
    if true_variance:
        trust = true_variance / (true_variance + squared)
    expected, error = trust * effect.mean, math.sqrt(trust * squared + added_variance)
    if not error:
        return 0.5 + 0.5 * _sign(expected), expected, expected, expected
    tail = float(t_tail(expected / error, effect.degrees)) / 2
    probability = tail
    if expected > 0:
        probability = 1 - tail
    half = float(t_quantile(1 - COVERED, effect.degrees)) * error
    return probability, expected, expected - half, expected + half


def between_rungs(ladder: Ladder, metric: str) -> float:
    """Return the between-rung variance B of a tenfold size, in S^2."""
    total, weight = USUAL * WEIGHT, float(WEIGHT)
    for lower, upper in zip(ladder.rungs, ladder.rungs[1:], strict=False):
        squares = _squared_steps(lower, upper, metric, ladder.sign(metric))
        if squares:
            counts = len(set(lower.of(metric)) & set(upper.of(metric))) - 1
            decades = math.log10(upper.parameters / lower.parameters)
            total += counts * statistics.fmean(squares) / decades
            weight += counts
    return max(0.0, total / weight)


def _squared_steps(lower: Rung, upper: Rung, metric: str, sign: int) -> list[float]:
    """Return, of every pair on both rungs, the squared change of its difference over the spread, less the noise."""
    before, after = column_effects(lower, metric, sign), column_effects(upper, metric, sign)
    spread_before, spread_after = spread_of(lower, metric), spread_of(upper, metric)
    if not (spread_before and spread_after):
        return []
    squares = []
    for pair in before.keys() & after.keys():
        one, other = before[pair], after[pair]
        change = other.mean / spread_after - one.mean / spread_before
        noise = (other.error / spread_after) ** 2 + (one.error / spread_before) ** 2
        squares.append(change**2 - noise)
    return squares


def spread_of(rung: Rung, metric: str) -> float:
    """Return the standard deviation of the methods' means; 0 with fewer than 2 methods."""
    means = list(rung.means(metric).values())
    if len(means) < 2:
        return 0.0
    return statistics.stdev(means)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
