"""Pairs of methods on a rung: the difference over seeds, how far it can be trusted, and whether its order is known.

A difference is taken seed by seed, over the seeds that both methods have, and is positive where the first method is the
better one. Its error is that of the house: a moderated t over all pairs of the rung's column (`statistics.moderated`).

An order is established where the two-sided p of the difference is at most `ALPHA / 2` after Holm (1979) over all pairs
of all metrics and rungs of the ladder. The other half of ALPHA is for trends (`transfer`). So the chance that a ladder
says anything wrong of an order or of a trend is at most ALPHA, however many metrics and rungs it has. The pairs of a
column are not independent, and there are more of them than the moderated t was simulated for; so the whole rule is
simulated (tests/benchmarks/ladder_errors.py). Fewer metrics leave more power to each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.statistics.moderated import Contrast, Effect, contrast_of, moderate
from bench.leaderboards.statistics.significance import holm
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = [
    "ORDERS",
    "Pair",
    "PairEffect",
    "PairEffects",
    "column_effects",
    "differences",
    "pair_effects",
    "reversed_effect",
]

ORDERS = ALPHA / 2
"""Chance that any order of a ladder is said to be known and is the other way round, or is none."""
Pair = tuple[str, str]
"""Two methods."""


@dataclass(frozen=True)
class PairEffect:
    """Two methods on one rung in one metric.

    Args:
        effect: the first less the second, positive where the first is better.
        p: two-sided p of no difference, after Holm over the ladder.
    """

    effect: Effect
    p: float

    @property
    def direction(self) -> int:
        """1 where the first method is known to be better, -1 where the second is, 0 where the order is open."""
        if self.p > ORDERS:
            return 0
        if self.effect.mean > 0:
            return 1
        return -1


@dataclass(frozen=True)
class PairEffects:
    """All pairs of a ladder.

    Args:
        by_column: by metric and name of the rung, then by pair.
    """

    by_column: Mapping[tuple[str, str], Mapping[Pair, PairEffect]]

    def get(self, metric: str, rung: str, first: str, second: str) -> PairEffect | None:
        """Return the effect of the first method less the second; None where fewer than 2 seeds are common to both."""
        column = self.by_column.get((metric, rung), {})
        if (first, second) in column:
            return column[first, second]
        if (second, first) in column:
            found = column[second, first]
            return PairEffect(reversed_effect(found.effect), found.p)
        return None

    def established(self, metric: str, rung: str) -> list[Pair]:
        """Return the pairs of a column whose order is established, the better method first."""
        pairs = []
        for (first, second), found in self.by_column.get((metric, rung), {}).items():
            if found.direction > 0:
                pairs.append((first, second))
            elif found.direction < 0:
                pairs.append((second, first))
        return pairs


def pair_effects(ladder: Ladder) -> PairEffects:
    """Return the effects of all pairs of a ladder that have 2 seeds or more in common."""
    columns = {}
    for metric in ladder.metrics:
        for rung in ladder.rungs:
            columns[metric, rung.name] = column_effects(rung, metric, ladder.sign(metric))
    effects = [effect for column in columns.values() for effect in column.values()]
    adjusted = iter(holm([effect.p for effect in effects]))
    by_column = {}
    for place, column in columns.items():
        by_column[place] = {pair: PairEffect(effect, next(adjusted)) for pair, effect in column.items()}
    return PairEffects(by_column)


def column_effects(rung: Rung, metric: str, sign: int) -> dict[Pair, Effect]:
    """Return the moderated effects of all pairs of methods of a rung in a metric, by pair in the order of names.

    Args:
        rung: of the ladder.
        metric: one of its metrics.
        sign: 1 where a higher value is better, -1 where a lower one is.
    """
    contrasts: dict[Pair, Contrast] = {}
    for first, second in combinations(sorted(rung.of(metric)), 2):
        found = differences(rung, metric, sign, (first, second))
        if len(found) > 1:
            contrasts[first, second] = contrast_of(list(found.values()))
    return dict(zip(contrasts, moderate(list(contrasts.values())), strict=True))


def differences(rung: Rung, metric: str, sign: int, pair: Pair) -> dict[int, float]:
    """Return the first method's value less the second's, by seed that both have; positive where the first is better.

    >>> rung = Rung("0.1M", 100_000, 1.0, {"bleu": {"mle": {0: 3.0, 1: 4.0}, "trime": {1: 6.0}}})
    >>> differences(rung, "bleu", 1, ("trime", "mle"))
    {1: 2.0}
    """
    values = rung.of(metric)
    ours, theirs = values.get(pair[0], {}), values.get(pair[1], {})
    return {seed: sign * (ours[seed] - theirs[seed]) for seed in sorted(set(ours) & set(theirs))}


def reversed_effect(effect: Effect) -> Effect:
    """Return the same effect of the second method less the first."""
    return replace(effect, mean=-effect.mean + 0.0)
