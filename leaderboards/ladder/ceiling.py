"""The ceiling of decision accuracy: how often a second draw of seeds at the upper rung would agree with the first.

No smaller rung can be asked for more than the upper rung says of itself. Were all methods of the upper rung trained
again with as many new seeds, some pairs would change places; the ceiling is the share that would not, over both draws
and over the pairs that accuracy is a share of: those that the upper rung tells apart.

It is estimated from the seeds at hand by leaving seeds out. Two single seeds are two independent draws of one seed, so
the share of pairs that two of them order alike is without bias what reseeding allows with one seed. From one seed to n:

- two draws whose differences are normal over the pairs and correlate by r have the same sign in a share
  `1/2 + arcsin(r) / pi` (Sheppard 1899), which is solved for the correlation of one seed;
- means of n seeds correlate by `n r / (1 + (n - 1) r)` (Spearman 1910; Brown 1910).

Why not from a normal model of each pair alone: with nothing known of the true differences, two draws without any would
be said to agree in 70 % where they do in 50 %. Why not by halves of the seeds: three seeds have none.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from itertools import combinations

from bench.leaderboards.ladder.pairs import Pair, differences
from bench.leaderboards.ladder.scores import Rung

__all__ = ["reseeding_ceiling", "stepped_up"]


def reseeding_ceiling(rung: Rung, metric: str, pairs: Iterable[Pair] | None = None) -> float | None:
    """Return the share of pairs that a second draw of as many seeds would order alike, from 1/2 to 1.

    None where no pair of methods has 2 seeds in common.

    Args:
        rung: with the seeds.
        metric: by which methods are ordered.
        pairs: those that accuracy is a share of; None for all pairs of its methods.

    >>> rung = Rung("1M", 10**6, 1.0, {"bleu": {"mle": {0: 3.0, 1: 3.1}, "trime": {0: 5.0, 1: 4.0}}})
    >>> reseeding_ceiling(rung, "bleu")
    1.0
    """
    agreements, seeds = [], []
    if pairs is None:
        pairs = combinations(sorted(rung.of(metric)), 2)
    for pair in pairs:
        found = list(differences(rung, metric, 1, pair).values())
        if len(found) > 1:
            agreements.append(statistics.fmean(_alike(one, two) for one, two in combinations(found, 2)))
            seeds.append(len(found))
    if not agreements:
        return None
    return stepped_up(statistics.fmean(agreements), statistics.fmean(seeds))


def stepped_up(agreement: float, seeds: float) -> float:
    """Return the agreement of two draws of so many seeds from that of two single seeds; at least 1/2.

    >>> round(stepped_up(0.75, 1), 3), round(stepped_up(0.75, 3), 3), stepped_up(0.4, 3)
    (0.75, 0.842, 0.5)
    """
    single = math.sin(math.pi * (max(agreement, 0.5) - 0.5))
    several = seeds * single / (1 + (seeds - 1) * single)
    return 0.5 + math.asin(min(several, 1.0)) / math.pi


def _alike(one: float, two: float) -> float:
    """Return 1 where two differences have one sign, 0 where they have two, 1/2 where either is 0."""
    if one * two == 0:
        return 0.5
    return float(one * two > 0)
