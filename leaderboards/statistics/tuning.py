"""Tuning: what a search over settings yields, and what of it is selection alone.

Dodge, Gururangan, Card, Schwartz and Smith 2019, Show Your Work: with n trials in hand, the expected best of k of them
says how a method does under a smaller budget, and whether another budget would have ranked the methods otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

__all__ = ["budget_orders", "expected_best", "expected_maximum", "selection_gain"]

REACH, PARTS = 10.0, 4000
"""The integral of the expected maximum: standard deviations to either side, and parts of the midpoint rule."""


def expected_best(losses: Sequence[float | None], k: int) -> float:
    """Return the expected lowest of k losses that are drawn, with replacement, from those of n trials.

    sum over i of loss_(i) * (((n - i + 1) / n)^k - ((n - i) / n)^k), with loss_(1) <= ... <= loss_(n): Dodge et al.
    2019, eq. 7, for a loss in place of a score.

    Args:
        losses: validation NLL of each trial; None for one that diverged or failed, which is infinitely bad.
        k: how many are drawn.

    Returns:
        The expectation, infinite while all k may have failed.

    Raises:
        ValueError: there is no trial, or k is less than 1.

    >>> expected_best([3.0, 1.0], 1), expected_best([3.0, 1.0], 2)
    (2.0, 1.5)
    """
    if not losses or k < 1:
        raise ValueError(f"expected a trial or more and k >= 1, got {len(losses)} trials and k = {k}")
    ordered = sorted(math.inf if loss is None else loss for loss in losses)
    n = len(ordered)
    total = 0.0
    for place, loss in enumerate(ordered):
        share = ((n - place) / n) ** k - ((n - place - 1) / n) ** k
        total += loss * share
    return total


def budget_orders(trials: Mapping[str, Sequence[float | None]]) -> list[tuple[str, ...]]:
    """Return the order of methods by expected best for each number of trials that all of them have, from one trial on.

    Args:
        trials: validation NLL of each trial, by method.

    >>> budget_orders({"a": [2.0, 2.0], "b": [1.0, 4.0]})
    [('a', 'b'), ('b', 'a')]
    """
    most = min(map(len, trials.values()), default=0)
    orders = []
    for k in range(1, most + 1):
        expected = {method: expected_best(losses, k) for method, losses in trials.items()}
        orders.append(tuple(sorted(expected, key=expected.__getitem__)))
    return orders


def expected_maximum(k: int) -> float:
    """Return the expected largest of k independent standard normal draws, in standard deviations.

    The integral of x * k * density(x) * distribution(x)^(k - 1), by the midpoint rule; to 1e-9 of the known values.

    Raises:
        ValueError: k is less than 1.

    >>> round(expected_maximum(1), 6), round(expected_maximum(2), 6), round(expected_maximum(3), 6)
    (0.0, 0.56419, 0.846284)
    """
    if k < 1:
        raise ValueError(f"expected k >= 1, got {k}")
    normal, width = NormalDist(), 2 * REACH / PARTS
    middles = (-REACH + (part + 0.5) * width for part in range(PARTS))
    total = math.fsum(x * normal.pdf(x) * normal.cdf(x) ** (k - 1) for x in middles)
    return round(k * total * width, 12) + 0.0


def selection_gain(trials: int, baseline_trials: int, sd: float) -> float:
    """Return what a method gains over its baseline by more trials alone, where neither settings nor methods matter.

    The published number of each is then the best of as many draws of one distribution. It is an upper bound where what
    was chosen is trained anew on other seeds, which have not been selected.

    Args:
        trials: of the method.
        baseline_trials: of the baseline.
        sd: standard deviation of one training's number over seeds, in the unit of the number.
    """
    return (expected_maximum(trials) - expected_maximum(baseline_trials)) * sd


def first_changes(orders: Sequence[tuple[str, ...]]) -> list[tuple[int, tuple[str, ...]]]:
    """Return each number of trials from which on the order is another one, with that order; the first is 1.

    >>> first_changes([("a", "b"), ("a", "b"), ("b", "a")])
    [(1, ('a', 'b')), (3, ('b', 'a'))]
    """
    changes = []
    numbered = itertools.groupby(enumerate(orders, start=1), key=lambda pair: pair[1])
    for order, group in numbered:
        changes.append((next(group)[0], order))
    return changes
