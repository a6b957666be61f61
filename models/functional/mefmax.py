"""MefMax: cut the vocabulary into frequency classes that are as even as they can be.

F2-Softmax (Choi et al. 2020) section 3.3, eq. 5 and 6 and Algorithm 1. Tokens are sorted by frequency and cut into K
runs of about equal mass; the K whose classes and whose tokens within classes are most uniform wins.

    U(x)     = entropy of x / log of the number of values of x                          (eq. 6)
    score(K) = U(masses of the classes) + mean over classes c of U(tokens of c)         (eq. 5)

The mass of a class is the sum of its tokens' counts.

Shapes: V tokens, K classes. Class 0 holds the most frequent tokens.
"""

import math
from bisect import bisect_right
from functools import partial
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]

_TIE = 1e-12  # scores nearer than this are equal: rounding must not choose between candidates


class Classes(NamedTuple):
    """Frequency classes of a vocabulary."""

    boundaries: tuple[int, ...]  # [K-1] ranks of falling frequency at which a new class begins
    of_token: Tensor  # [V] int64 class of each token


def mefmax(counts: Tensor, variant: Literal["paper", "released"] = "paper") -> Classes:
    """Choose the number of frequency classes and their boundaries.

    A candidate K puts a boundary behind the first token at which the cumulative count exceeds j/K of the total, for
    j = 1..K-1, and is scored by eq. 5: U(classes) + mean over classes of U(tokens of the class), where U is entropy
    over its maximum. K runs from 1 to total / largest count; the smallest K with the highest score wins.

    Left open by the paper and settled here: of a single number U is 1 (so a table of equal counts keeps one class);
    targets are j/K and not sums of 1/K, whose rounding would add an empty class; tokens that never occur belong to the
    last class.

    Args:
        counts: `[V]` how often each token occurs, any numeric dtype, at least one above 0, in any order.
        variant: `released` cuts as the program of repository 211c53a does: each boundary comes before the token that
            would take the class beyond its part, the rest of the mass is shared out anew after each cut, K starts at 2,
            U(classes) leaves one token out of the last class and is multiplied by the mean. Where that program fails
            (one token has more than half of the mass) there is one class; a token that never occurs counts once, as in
            its vocabulary.

    Returns:
        The classes, on the counts' device; equal counts are ordered by token id.

    >>> classes = mefmax(torch.tensor([1, 50, 30, 20, 10, 5, 5, 2]))
    >>> classes.boundaries, classes.of_token
    ((2,), tensor([1, 0, 0, 1, 1, 1, 1, 1]))
    """
    falling, order = _falling(counts)
    if variant == "paper":
        boundaries = _paper(falling)
    else:
        boundaries = _released(falling.clip(min=1))
    return _classes(order, boundaries, counts.device)


def fixed_eq_token(counts: Tensor, number: int) -> Classes:
    """Cut the vocabulary into so many classes of equally many tokens, give or take one (section 4.4.1).

    Args:
        counts: `[V]` how often each token occurs, in any order, at least one above 0.
        number: of classes, from 1 to V.

    >>> fixed_eq_token(torch.tensor([1, 50, 30, 20, 10, 5, 5, 2]), 3).boundaries
    (2, 5)
    """
    return _classes(frequency_order(counts), np.arange(1, number) * len(counts) // number, counts.device)


def fixed_eq_freq(counts: Tensor, number: int) -> Classes:
    """Cut the vocabulary into so many classes of about equal mass (section 4.4.1).

    Boundaries are those of Algorithm 1 for K = number, so MefMax's own number gives MefMax's classes. Beyond its range
    (a token with more than 1/K of the mass) a boundary that has no token left before it moves on by one, so that every
    class has a token.

    Args:
        counts: `[V]` how often each token occurs, in any order, at least one above 0.
        number: of classes, from 1 to V.

    >>> counts = torch.tensor([1, 50, 30, 20, 10, 5, 5, 2])
    >>> [fixed_eq_freq(counts, number).boundaries for number in (2, 3, 4)]
    [(2,), (1, 3), (1, 2, 3)]
    """
    falling, order = _falling(counts)
    cuts = _cuts(_Table(falling).mass, number, drop_empty=False)
    steps = np.arange(number - 1)
    cuts = np.maximum.accumulate(cuts - steps) + steps  # each boundary at least one rank behind the boundary before
    return _classes(order, np.minimum(cuts, len(counts) - steps[::-1] - 1), counts.device)


def frequency_order(counts: Tensor) -> Tensor:
    """Token ids by falling count, `[V]`, on the CPU; equal counts by id. Classes are runs of it.

    >>> frequency_order(torch.tensor([1, 5, 2, 5]))
    tensor([1, 3, 2, 0])
    """
    return _falling(counts)[1]


def _falling(counts: Tensor) -> tuple[Array, Tensor]:
    """Counts from the largest on, `[V]` float64, and their tokens, `[V]`."""
    values, order = counts.detach().cpu().double().sort(descending=True, stable=True)
    return values.numpy(), order


def _classes(order: Tensor, boundaries: Array, device: torch.device) -> Classes:
    """Give every token its class, from tokens by falling count [V] and boundaries [K-1]."""
    of_token = torch.empty_like(order)
    of_token[order] = torch.bucketize(torch.arange(len(order)), torch.from_numpy(boundaries), right=True)
    return Classes(tuple(boundaries.tolist()), of_token.to(device))


def _paper(counts: Array) -> Array:
    """Algorithm 1 with eq. 5 over falling counts, `[K-1]`."""
    table = _Table(counts)
    best, chosen = 0.0, np.zeros(0, dtype=np.int64)
    for classes in range(1, table.most_classes + 1):
        boundaries = _cuts(table.mass, classes)
        ends = table.ends(boundaries)
        score = _evenness(np.diff(table.mass[ends])) + table.mean_uniformity(ends)
        if score > best + _TIE:
            best, chosen = score, boundaries
        if best > 2 - _TIE:  # nothing is more uniform
            break
    return chosen


def _cuts(mass: Array, classes: int, drop_empty: bool = True) -> Array:
    """Boundaries of a candidate K, behind the first token at which the mass exceeds j/K; exact for whole counts.

    Args:
        mass: `[V+1]` sum of the first i counts.
        classes: K.
        drop_empty: whether boundaries behind which no mass is left are dropped.
    """
    targets = np.arange(1, classes) * mass[-1] / classes
    cuts = np.searchsorted(mass, targets, side="right")
    if drop_empty:
        return cuts[mass[cuts] < mass[-1]]
    return cuts


def _released(counts: Array) -> Array:
    """The authors' choice over falling counts, `[K-1]`."""
    table = _Table(counts)
    shares = np.cumsum(counts / table.mass[-1]).tolist()
    best, chosen = 0.0, np.zeros(0, dtype=np.int64)
    for classes in range(2, table.most_classes + 1):
        boundaries = np.array(released_cuts(shares, classes))
        ends = table.ends(boundaries)
        masses = np.diff(table.mass[ends])
        masses[-1] -= counts[boundaries[-1]]
        score = _evenness(masses) * table.mean_uniformity(ends)
        if score > best + _TIE:
            best, chosen = score, boundaries
    return chosen


def released_cuts(shares: list[float], classes: int) -> list[int]:
    """Boundaries of a candidate K as the authors' program sets them, from cumulative shares of falling counts.

    A class takes its part of the mass that the classes before it have left: tokens until one would take it beyond that
    part, at least one. A class that has its part exactly is full, and not beyond it. Sums are those of the authors, in
    the same order, so that rounding decides here as it does there.

    Args:
        shares: `[V]` cumulative shares of the mass, the last about 1.
        classes: K.

    >>> released_cuts([0.5, 0.8, 0.9, 1.0], 3)
    [1, 2]
    >>> released_cuts([0.25, 0.5, 0.75, 1.0], 2)
    [2]
    """
    cuts: list[int] = []
    boundary, taken = 0, 0.0  # the boundary before, and the share of the mass before it
    part = 1.0 / classes
    for classes_left in range(classes - 1, 0, -1):
        beyond = bisect_right(shares, part, key=partial(add, -taken))
        boundary = max(boundary + 1, beyond)
        cuts.append(boundary)
        taken = shares[boundary - 1]
        part = (1.0 - taken) / classes_left
    return cuts


class _Table:
    """Falling counts with prefix sums, which make the entropy of any class a difference of two entries."""

    def __init__(self, counts: Array) -> None:
        self.size = len(counts)
        self.mass = np.concatenate([[0.0], np.cumsum(counts)])  # [V+1] sum of the first i counts c
        self.c_log_c = np.concatenate([[0.0], np.cumsum(_c_log_c(counts))])  # [V+1] sum of the first i c log c
        # Line 3 of Algorithm 1: with more classes than this, two targets j/K would fall on the same token.
        self.most_classes = int(self.mass[-1] / counts[0])

    def ends(self, boundaries: Array) -> Array:
        """Boundaries with 0 and V, `[K+1]`."""
        return np.concatenate([[0], boundaries, [self.size]])

    def mean_uniformity(self, ends: Array) -> float:
        """Mean over classes of U of their tokens, eq. 6; entropy of a class = log mass - (sum of c log c) / mass."""
        masses, sizes = np.diff(self.mass[ends]), np.diff(ends)
        entropy = np.log(masses) - np.diff(self.c_log_c[ends]) / masses
        return float(np.where(sizes > 1, entropy / np.log(np.maximum(sizes, 2)), 1.0).mean())


def _evenness(masses: Array) -> float:
    """U of the classes' masses, eq. 6."""
    if len(masses) == 1:
        return 1.0
    return float(-_c_log_c(masses / masses.sum()).sum()) / math.log(len(masses))


def _c_log_c(values: Array) -> Array:
    """Each value times its logarithm, 0 for 0."""
    return values * np.log(np.maximum(values, np.finfo(np.float64).tiny))
