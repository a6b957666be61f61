"""Decisions: whether the order of methods on a rung is their order on a larger one.

Decision accuracy is the share of pairs of methods that both rungs order alike (Magnusson et al. 2025, DataDecide, who
ask it of data sets). A decision is made by one metric on the lower rung, and judged by the same or another one on the
upper rung.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from bench.leaderboards.ladder.ceiling import reseeding_ceiling
from bench.leaderboards.ladder.pairs import Pair, PairEffects
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.published.order import order_of
from bench.leaderboards.statistics.seed_spread import spread_ratio

__all__ = ["Decisions", "Regret", "accuracy_between", "decide_between", "decisions_of", "rung_pairs", "signal_to_noise"]

COIN = 0.5
"""The smallest ceiling: seeds order the methods of a rung no better than a coin."""


@dataclass(frozen=True)
class Regret:
    """What is lost at the upper rung by the method that is best on the lower one.

    Args:
        chosen: the best methods of the lower rung by their means; several where they are equal.
        value: the best mean of the upper rung less that of the chosen method, in the metric's unit, at least 0; a mean
            over those chosen. The best of noisy means is above what a new draw would give, and so is this.
        in_seeds: the same in standard deviations of one seed, pooled over the methods of the upper rung; None where
            the seeds show none.
    """

    chosen: tuple[str, ...]
    value: float
    in_seeds: float | None


@dataclass(frozen=True)
class Decisions:
    """What a metric on a lower rung says of a metric on an upper rung.

    Args:
        metric: that decides on the lower rung.
        target: that judges on the upper rung.
        lower, upper: names of the rungs.
        pairs: of methods that both rungs have and the upper one tells apart.
        accuracy: share of them that the lower rung orders alike, a pair that is equal there counting 1/2; None without
            pairs.
        established: how many of them are established at the upper rung (`pairs.PairEffect.direction`).
        accuracy_established: the same share of these.
        ceiling: what reseeding allows (`ceiling.reseeding_ceiling`).
        ceiling_established: the same for the established pairs; None without any.
        tau: Kendall's tau-b of the means; None where one rung tells no methods apart.
        regret: None without methods that both rungs have.
    """

    metric: str
    target: str
    lower: str
    upper: str
    pairs: int
    accuracy: float | None
    established: int
    accuracy_established: float | None
    ceiling: float | None
    ceiling_established: float | None
    tau: float | None
    regret: Regret | None

    @property
    def share(self) -> float | None:
        """Decision accuracy over its ceiling; above 1 where the rungs agree better than two draws are expected to.

        None where seeds order the methods of the upper rung no better than a coin.
        """
        return _ratio(self.accuracy, self.ceiling)

    @property
    def share_established(self) -> float | None:
        """The same over the established pairs."""
        return _ratio(self.accuracy_established, self.ceiling_established)


def decisions_of(ladder: Ladder, effects: PairEffects) -> list[Decisions]:
    """Return the decisions by each metric for itself, between all pairs of rungs."""
    found = []
    for lower, upper in rung_pairs(ladder):
        found += [decide_between(ladder, effects, (lower, upper), metric, metric) for metric in ladder.metrics]
    return found


def rung_pairs(ladder: Ladder) -> Iterator[tuple[Rung, Rung]]:
    """Yield neighbouring rungs from below, then those further apart."""
    count = len(ladder.rungs)
    for apart in range(1, count):
        for place in range(count - apart):
            yield ladder.rungs[place], ladder.rungs[place + apart]


def decide_between(
    ladder: Ladder, effects: PairEffects, rungs: tuple[Rung, Rung], metric: str, target: str
) -> Decisions:
    """Return what a metric on the lower of two rungs says of a target metric on the upper one."""
    lower, upper = rungs
    before = _oriented(ladder, lower, metric)
    after = _oriented(ladder, upper, target)
    both = sorted(set(before) & set(after))
    told_apart = _told_apart(before, after)
    known = [pair for pair in effects.established(target, upper.name) if set(pair) <= set(both)]
    order = order_of(metric, "", [(method, before[method], after[method]) for method in both])
    tau = None
    if order is not None:
        tau = order.tau
    return Decisions(
        metric=metric,
        target=target,
        lower=lower.name,
        upper=upper.name,
        pairs=len(told_apart),
        accuracy=_accuracy(told_apart, before, after),
        established=len(known),
        accuracy_established=_accuracy(known, before, after),
        ceiling=reseeding_ceiling(upper, target, told_apart),
        ceiling_established=reseeding_ceiling(upper, target, known),
        tau=tau,
        regret=_regret(before, after, upper.of(target)),
    )


def _ratio(accuracy: float | None, ceiling: float | None) -> float | None:
    """Return the share; None where the ceiling is a coin's, since there is no order that a lower rung could know."""
    if accuracy is None or ceiling is None or ceiling <= COIN:
        return None
    return accuracy / ceiling


def accuracy_between(ladder: Ladder, rungs: tuple[Rung, Rung], metric: str, target: str) -> float | None:
    """Return decision accuracy over all pairs alone, as in `decide_between`."""
    before, after = _oriented(ladder, rungs[0], metric), _oriented(ladder, rungs[1], target)
    return _accuracy(_told_apart(before, after), before, after)


def signal_to_noise(rung: Rung, metric: str) -> float | None:
    """Return the standard deviation of the methods' means over that of one seed (`seed_spread.spread_ratio`).

    None with fewer than 2 methods of 2 seeds; infinite where the seeds show no noise.
    """
    groups = [list(by_seed.values()) for by_seed in rung.of(metric).values() if len(by_seed) > 1]
    if len(groups) < 2:
        return None
    return spread_ratio(groups)


def _oriented(ladder: Ladder, rung: Rung, metric: str) -> dict[str, float]:
    """Return the methods' means, higher where better."""
    return {method: ladder.sign(metric) * mean for method, mean in rung.means(metric).items()}


def _told_apart(before: Mapping[str, float], after: Mapping[str, float]) -> list[Pair]:
    """Return the pairs of methods of both rungs that are not equal on the upper one."""
    both = sorted(set(before) & set(after))
    return [pair for pair in combinations(both, 2) if after[pair[0]] != after[pair[1]]]


def _accuracy(pairs: Iterable[Pair], before: Mapping[str, float], after: Mapping[str, float]) -> float | None:
    """Return the share of pairs, all of them told apart after, that were ordered alike before."""
    right = []
    for first, second in pairs:
        product = (before[first] - before[second]) * (after[first] - after[second])
        if product == 0:
            right.append(0.5)
        else:
            right.append(float(product > 0))
    if not right:
        return None
    return statistics.fmean(right)


def _regret(
    before: Mapping[str, float], after: Mapping[str, float], seeds: Mapping[str, Mapping[int, float]]
) -> Regret | None:
    both = sorted(set(before) & set(after))
    if not both:
        return None
    best = max(before[method] for method in both)
    chosen = tuple(method for method in both if before[method] == best)
    value = max(after[method] for method in both) - statistics.fmean(after[method] for method in chosen)
    deviation = _seed_deviation([list(seeds[method].values()) for method in both])
    if not deviation:
        return Regret(chosen, value, None)
    return Regret(chosen, value, value / deviation)


def _seed_deviation(groups: Iterable[list[float]]) -> float:
    """Return the standard deviation of one seed, pooled over methods; 0 where no method has two seeds."""
    squares, degrees = 0.0, 0
    for group in groups:
        if len(group) > 1:
            squares += (len(group) - 1) * statistics.variance(group)
            degrees += len(group) - 1
    if not degrees:
        return 0.0
    return (squares / degrees) ** 0.5
