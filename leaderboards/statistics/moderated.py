"""Moderated t: what few seeds say of an effect, with a variance that all contrasts of a column inform (Smyth 2004).

Two or three seeds hardly tell a variance, and a plain t pays for that: at two seeds it needs 12.7 standard errors. The
contrasts of a column are noisy in similar ways. So their variances are taken as draws from one prior,
`1 / sigma^2 ~ chi^2(d0) / (d0 s0^2)`, whose degrees d0 and variance s0^2 come from the column itself. A contrast with
variance s^2 on d degrees then has `(d0 s0^2 + d s^2) / (d0 + d)` on `d0 + d` degrees.

Three things differ from the paper, because simulated errors of verdicts were above their bound without them. All make
d0 smaller, and so intervals wider:

- The spread of the log variances is taken at the upper end of its confidence interval, `widening`. A dozen contrasts
  cannot show that their variances are alike, and where they are not, the noisiest contrast would pay for it.
- All contrasts have one baseline in common, so their variances are not independent. The degrees never exceed those of
  the pooled variance, `limit`.
- Fewer than `FEWEST` contrasts get the plain t.

The error is that of a contrast of the column, whichever it is. Of the contrast whose row is noisiest it is larger: with
a log-sd of 1 between rows, 5.7 % at two seeds where 2.5 % are meant.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from bench.leaderboards.statistics.intervals import LEVEL, Interval
from bench.leaderboards.statistics.special import t_quantile, t_tail, trigamma, trigamma_inverse

__all__ = [
    "CAUTION",
    "CORRELATION",
    "FEWEST",
    "ROUNDING",
    "Contrast",
    "Effect",
    "contrast_of",
    "limit",
    "limited_prior",
    "moderate",
    "prior_of",
    "squeezed",
    "widening",
]

CAUTION = 1.6448536269514727
"""Normal quantile of the confidence, 95 %, with which the spread of log variances is below what is taken for it."""
ROUNDING = 1e-12
"""A variance below this share of the column's largest is what rounding leaves of 0."""
FEWEST = 6
"""Fewer contrasts than this are not squeezed: they cannot tell a prior."""
CORRELATION = 0.5
"""Of two contrasts with one baseline, where all rows are as noisy."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contrast:
    """A row less its baseline over the seeds that both have.

    Args:
        mean: over seeds, positive in the claimed direction.
        variance: of one seed's difference, with n - 1.
        seeds: their number, at least 2.
        item_variance: variance of the mean that comes from which test items were drawn, the same for every seed
            (`item_variance.shared_item_variance`); 0 where the claim is about these items.
        items: independent groups of test items behind it.

    Raises:
        ValueError: fewer than 2 seeds, or numbers that are no variance.
    """

    mean: float
    variance: float
    seeds: int
    item_variance: float = 0.0
    items: int = 0

    def __post_init__(self) -> None:
        if self.seeds < 2 or not math.isfinite(self.mean):
            raise ValueError(f"expected a finite mean of 2 seeds or more, got {self.mean} of {self.seeds}")
        if not (0 <= self.variance < math.inf and 0 <= self.item_variance < math.inf):
            raise ValueError(f"expected variances of at least 0, got {self.variance} and {self.item_variance}")
        if self.item_variance > 0 and self.items < 2:
            raise ValueError(f"expected 2 groups of items or more behind an item variance, got {self.items}")

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the variance."""
        return self.seeds - 1


@dataclass(frozen=True)
class Effect:
    """A mean over seeds and how far it can be trusted.

    Args:
        mean: over seeds, positive in the claimed direction.
        error: standard error of the mean; 0 where nothing varies, and then nothing is said.
        degrees: of freedom of the standard error, a real number.
        variance: of one seed's difference, squeezed.
        seeds: their number.
        item_variance: part of the squared error that no number of seeds makes smaller.
    """

    mean: float
    error: float
    degrees: float
    variance: float
    seeds: int
    item_variance: float = 0.0

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the two-sided interval `mean +- t(degrees) * error`; it has no ends where the error is 0.

        Seeds that give one value to the last digit are a column too coarse to show noise. They prove nothing.
        """
        if not self.error:
            return Interval(self.mean, None, None)
        half = float(t_quantile(1 - level, self.degrees)) * self.error
        return Interval(self.mean, self.mean - half, self.mean + half)

    @property
    def p(self) -> float:
        """Two-sided p of an effect of 0; 1 where the error is 0."""
        return self.p_against(0.0)

    def p_equivalent(self, smallest: float) -> float:
        """Return p of an effect at least as large as `smallest`, on either side; 1 where the mean is.

        Two one-sided tests (Schuirmann 1987), doubled: at most alpha where the whole interval of level 1 - alpha is
        nearer to 0 than `smallest`.
        """
        if abs(self.mean) >= smallest:
            return 1.0
        return self.p_against(math.copysign(smallest, self.mean))

    def p_against(self, value: float) -> float:
        """Return the two-sided p of an effect of `value`; 1 where the error is 0."""
        if not self.error:
            return 1.0
        return float(t_tail((self.mean - value) / self.error, self.degrees))


def contrast_of(differences: Sequence[float], item_variance: float = 0.0, items: int = 0) -> Contrast:
    """Return the contrast of each seed's difference, positive in the claimed direction.

    Raises:
        ValueError: fewer than 2 seeds, or a difference that is not finite.

    >>> contrast_of([1.0, 2.0, 3.0])
    Contrast(mean=2.0, variance=1.0, seeds=3, item_variance=0.0, items=0)
    """
    if len(differences) < 2 or not all(map(math.isfinite, differences)):
        raise ValueError(f"expected the finite differences of 2 seeds or more, got {list(differences)}")
    mean, variance = statistics.fmean(differences), statistics.variance(differences)
    return Contrast(mean, variance, len(differences), item_variance, items)


def moderate(contrasts: Sequence[Contrast]) -> list[Effect]:
    """Return the effect of each contrast of a column, with their variances squeezed towards each other.

    The squared error is `variance / seeds + item_variance`. Its degrees are those of the first part, or of the second
    where it has fewer: never more than the sum has. (Those of Satterthwaite 1946 are too many where two seeds happen to
    be alike: the simulation was wrong up to four times too often.) Fewer than
    `FEWEST` contrasts get the plain t.

    Args:
        contrasts: of one column, one for each trained row but the baseline; they may have unlike numbers of seeds.

    >>> effect, = moderate([contrast_of([1.0, 2.0, 3.0])])
    >>> effect.degrees, round(effect.interval().low, 4)
    (2.0, -0.4841)
    """
    if not contrasts:
        return []
    variances = [contrast.variance for contrast in contrasts]
    after, degrees = squeezed(variances, [contrast.degrees for contrast in contrasts])
    effects = []
    for contrast, variance, free in zip(contrasts, after.tolist(), degrees.tolist(), strict=True):
        squared = variance / contrast.seeds + contrast.item_variance
        if contrast.item_variance:
            free = min(free, contrast.items - 1)
        effects.append(
            Effect(contrast.mean, math.sqrt(squared), free, variance, contrast.seeds, contrast.item_variance)
        )
    return effects


def squeezed(variances: ArrayLike, degrees: ArrayLike) -> tuple[Floats, Floats]:
    """Return the squeezed variances and their degrees of freedom.

    `(d0 s0^2 + d s^2) / (d0 + d)` and `d0 + d` (Smyth 2004, section 3), with d0 no larger than leaves `limit` degrees.

    Args:
        variances: [..., contrasts] of one column; leading axes are columns of their own.
        degrees: broadcast against them, at least 1.
    """
    variances, degrees = _checked(variances, degrees)
    d0, variance = limited_prior(variances, degrees)
    share = d0 / (d0 + degrees)
    return share * variance[..., None] + (1 - share) * variances, d0 + degrees


def limited_prior(variances: ArrayLike, degrees: ArrayLike) -> tuple[Floats, Floats]:
    """Return d0 of each contrast, at most what leaves `limit` degrees, and s0^2 of the column.

    Arguments as for `squeezed`.
    """
    variances, degrees = _checked(variances, degrees)
    prior_degrees, prior_variance = prior_of(variances, degrees)
    most = np.maximum(limit(degrees)[..., None] - degrees, 0)
    return np.minimum(prior_degrees[..., None], most), prior_variance


def limit(degrees: ArrayLike) -> Floats:
    """Return the degrees of freedom of the pooled variance of contrasts that share a baseline.

    Each contrast has the baseline's noise in it. With rows as noisy as each other, two contrasts correlate by 1/2 and
    their sums of squares by 1/4, over the seeds that both have. Satterthwaite (1946) gives
    `(sum d)^2 / (sum d + sum over pairs of 2 * min(d, d') / 4)`: d for one contrast, 3.2 d for 12, never more than 4 d.

    >>> float(limit([1] * 12))
    3.2
    """
    degrees = np.asarray(degrees, dtype=np.float64)
    both = np.minimum(degrees[..., :, None], degrees[..., None, :]) * CORRELATION**2
    own = degrees.sum(-1)
    shared = both.sum((-1, -2)) - CORRELATION**2 * own
    return np.asarray(own**2 / (own + shared))


def prior_of(variances: ArrayLike, degrees: ArrayLike, cautious: bool = True) -> tuple[Floats, Floats]:
    """Return the prior's degrees d0 and variance s0^2, by moments of the log variances (Smyth 2004, section 6.2).

    With `e = log s^2 - digamma(d/2) + log(d/2)` over the contrasts, d0 solves
    `trigamma(d0/2) = variance of e - mean of trigamma(d/2)`, and `s0^2 = exp(mean of e + digamma(d0/2) - log(d0/2))`.
    Where the right side is not above 0 the variances are as alike as chance makes them: d0 is infinite, and s0^2 is
    the pooled variance, which few contrasts tell better than the mean of their logarithms.

    A variance of 0 is a column too coarse to show noise (two accuracies of 100 items), no sign that there is none. It
    takes no part, and neither does one below `ROUNDING` of the column's largest. Where fewer than `FEWEST` variances
    are left there is no prior: d0 is 0.

    Args:
        variances: [..., contrasts] of one column.
        degrees: broadcast against them, at least 1.
        cautious: whether the variance of e is multiplied by `widening`; without it the estimate is Smyth's.

    Returns:
        d0 and s0^2, both of the leading axes.
    """
    variances, degrees = _checked(variances, degrees)
    used = (variances > ROUNDING * variances.max(-1, keepdims=True)) & (variances > 0)
    count = used.sum(-1)
    weights = used / np.maximum(count, 1)[..., None]
    e = np.log(np.where(used, variances, 1.0)) - digamma(degrees / 2) + np.log(degrees / 2)
    mean = np.asarray((weights * e).sum(-1))
    moment = (used * (e - mean[..., None]) ** 2).sum(-1) / np.maximum(count - 1, 1)
    chance = (weights * trigamma(degrees / 2)).sum(-1)
    pooled = np.asarray((used * degrees * variances).sum(-1) / np.maximum((used * degrees).sum(-1), 1))
    estimate = _degrees_of(np.asarray(moment - chance))
    unlike = np.isfinite(estimate)
    half = estimate[unlike] / 2
    pooled[unlike] = np.exp(mean[unlike] + digamma(half) - np.log(half))
    if cautious:
        estimate = _degrees_of(np.asarray(moment * widening(np.maximum(count, 2)) - chance))
    return np.where(count >= FEWEST, estimate, 0.0), pooled


def _degrees_of(excess: Floats) -> Floats:
    """Return d0 with `trigamma(d0 / 2) = excess`; infinite where the excess is not above 0."""
    degrees = np.full(excess.shape, math.inf)
    above = excess > 0
    degrees[above] = 2 * trigamma_inverse(excess[above])
    return degrees


def widening(contrasts: ArrayLike) -> Floats:
    """Return what a variance over so many contrasts is multiplied by for the upper end of its confidence interval.

    `(contrasts - 1) / chi^2`, with the lower quantile of chi^2 by Wilson and Hilferty (1931).

    >>> [round(float(factor), 2) for factor in widening([4, 12, 100])]
    [9.14, 2.41, 1.28]
    """
    degrees = np.asarray(contrasts, dtype=np.float64) - 1
    part = 2 / (9 * degrees)
    return np.asarray((1 - part - CAUTION * np.sqrt(part)) ** -3)


def _checked(variances: ArrayLike, degrees: ArrayLike) -> tuple[Floats, Floats]:
    both = np.broadcast_arrays(np.asarray(variances, dtype=np.float64), np.asarray(degrees, dtype=np.float64))
    variances, degrees = both
    if not (variances.ndim and variances.size and np.all(variances >= 0) and np.all(degrees >= 1)):
        raise ValueError(f"expected variances of at least 0 with a degree or more, got {variances} with {degrees}")
    return variances, degrees
