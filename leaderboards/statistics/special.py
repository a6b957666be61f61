"""Special functions: gamma functions, tails and quantiles of Student's t for any real degrees, and the tail of F.

The package depends on NumPy and not on SciPy. Equations: Abramowitz and Stegun 1964, chapters 6 and 26.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["digamma", "f_tail", "t_quantile", "t_tail", "trigamma", "trigamma_inverse"]

SHIFT = 12
"""Series at infinity are used this far to the right: they are then good to the last digits of a float."""
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
"""The numbers B2, B4, ... of the series."""
LARGE = 20_000.0
"""More degrees than this are a normal variable with a correction of first order."""
STEPS = 60
"""At most so many steps of Newton; six or so are taken."""
KEPT = 4096
"""At most so many numbers of degrees are remembered."""
Floats = NDArray[np.float64]


def digamma(x: ArrayLike) -> Floats:
    """Return the derivative of the log gamma function (6.3.5 and 6.3.18), for x above 0.

    >>> round(float(digamma(0.5)), 12)
    -1.963510026021
    """
    x = np.asarray(x, dtype=np.float64)
    below = sum(1 / (x + k) for k in range(SHIFT))
    y = x + SHIFT
    series = sum(number / (2 * k * y ** (2 * k)) for k, number in enumerate(BERNOULLI, 1))
    return np.asarray(np.log(y) - 1 / (2 * y) - series - below)


def trigamma(x: ArrayLike) -> Floats:
    """Return the second derivative of the log gamma function (6.4.6 and 6.4.12), for x above 0.

    >>> round(float(trigamma(0.5)) - math.pi**2 / 2, 12)
    0.0
    """
    x = np.asarray(x, dtype=np.float64)
    below = sum(1 / (x + k) ** 2 for k in range(SHIFT))
    y = x + SHIFT
    series = sum(number / y ** (2 * k + 1) for k, number in enumerate(BERNOULLI, 1))
    return np.asarray(1 / y + 1 / (2 * y**2) + series + below)


def tetragamma(x: Floats) -> Floats:
    """Return the third derivative of the log gamma function (6.4.6 and 6.4.13), for x above 0."""
    below = sum(2 / (x + k) ** 3 for k in range(SHIFT))
    y = x + SHIFT
    series = sum((2 * k + 1) * number / y ** (2 * k + 2) for k, number in enumerate(BERNOULLI, 1))
    return np.asarray(-1 / y**2 - 1 / y**3 - series - below)


def trigamma_inverse(y: ArrayLike) -> Floats:
    """Return the x above 0 whose trigamma is y, for y above 0.

    Newton's method for `1 / trigamma(x) = 1 / y` from `x = 1/2 + 1/y`: the function is convex and nearly straight, so
    that every step comes from the same side and a few are enough (Smyth 2004, appendix).

    >>> round(float(trigamma_inverse(math.pi**2 / 2)), 12)
    0.5
    """
    y = np.asarray(y, dtype=np.float64)
    x = 0.5 + 1 / y
    for _ in range(STEPS):
        value = trigamma(x)
        step = value * (1 - value / y) / tetragamma(x)
        x = x + step
        if np.all(np.abs(step) <= 1e-14 * x):
            break
    return np.asarray(x)


def t_tail(t: ArrayLike, degrees: ArrayLike) -> Floats:
    """Return the chance that a Student-t variable is at least as far from 0 as `t`, on both sides (26.5.27).

    Args:
        t: any shape.
        degrees: above 0, any real number or infinite; broadcast against `t`.

    >>> round(float(t_tail(4.302653, 2)), 7), round(float(t_tail(1.959964, math.inf)), 7)
    (0.05, 0.05)
    """
    t, degrees = np.broadcast_arrays(np.abs(np.asarray(t, dtype=np.float64)), np.asarray(degrees, dtype=np.float64))
    tail = np.empty(t.shape)
    large = degrees > LARGE
    tail[~large] = _beta_tail(t[~large], degrees[~large])
    tail[large] = _normal_tail(t[large] * (1 - (t[large] ** 2 + 1) / (4 * degrees[large])))
    return tail


def t_quantile(alpha: float, degrees: ArrayLike) -> Floats:
    """Return the t that a Student-t variable is beyond, on both sides, with probability `alpha`.

    Newton's method for the logarithm of the tail over the logarithm of t, which is nearly a straight line.

    Args:
        alpha: 0.05 for the 97.5 % quantile.
        degrees: above 0, any real number or infinite.

    Raises:
        ValueError: an alpha that is not between 0 and 1, or degrees that are not above 0.

    >>> [round(float(t), 6) for t in t_quantile(0.05, [1, 2, 9, math.inf])]
    [12.706205, 4.302653, 2.262157, 1.959964]
    """
    degrees = np.asarray(degrees, dtype=np.float64)
    if not 0 < alpha < 1 or not np.all(degrees > 0):
        raise ValueError(f"expected an alpha between 0 and 1 and degrees above 0, got {alpha} and {degrees}")
    distinct, places = np.unique(degrees, return_inverse=True)
    if distinct.size == 1:
        return np.full(degrees.shape, _quantile_of(alpha, distinct.item()))
    return np.asarray(_quantiles(alpha, distinct)[places].reshape(degrees.shape))


def f_tail(f: float, between: int, within: int) -> float:
    """Return the chance that an F variable is above `f` (26.6.2).

    Args:
        f: at least 0.
        between, within: degrees of freedom of the numerator and of the denominator.

    >>> round(f_tail(5.14325, 2, 6), 5), round(f_tail(18.51282, 1, 2), 5)
    (0.05, 0.05)
    """
    share = within / (within + between * f)
    if not share:
        return 0.0
    a, b = np.array([within / 2]), np.array([between / 2])
    x, log_beta = np.array([share]), _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    if share < (a[0] + 1) / (a[0] + b[0] + 2):
        return float(_beta_below(x, a, b, log_beta)[0])
    return 1 - float(_beta_below(1 - x, b, a, log_beta)[0])


@lru_cache(maxsize=KEPT)
def _quantile_of(alpha: float, degrees: float) -> float:
    """Return the quantile of one number of degrees: tables ask for the same one again and again."""
    return float(_quantiles(alpha, np.array([degrees]))[0])


def _quantiles(alpha: float, degrees: Floats) -> Floats:
    """Return the quantile of each number of degrees."""
    log_t = np.zeros(degrees.shape)
    for _ in range(STEPS):
        t = np.exp(log_t)
        tail = t_tail(t, degrees)
        step = (np.log(tail) - math.log(alpha)) * tail / (2 * t * _density(t, degrees))
        log_t = log_t + np.clip(step, -1, 3)
        if np.all(np.abs(step) < 1e-12):
            break
    return np.exp(log_t)


def _density(t: Floats, degrees: Floats) -> Floats:
    """Return the density of Student's t."""
    finite = np.minimum(degrees, LARGE**2)
    power = (finite + 1) / 2 * np.log1p(t**2 / finite)
    return np.asarray(np.exp(-power - np.log(finite) / 2 - _log_beta_half(finite / 2)))


def _log_beta_half(a: Floats) -> Floats:
    """Return the logarithm of the beta function of `a` and 1/2; of one number, once."""
    if a.size == 1:
        return np.full(a.shape, _log_beta_half_of(a.item()))
    return _log_beta_halves(a)


@lru_cache(maxsize=KEPT)
def _log_beta_half_of(a: float) -> float:
    return float(_log_beta_halves(np.array([a]))[0])


def _log_beta_halves(a: Floats) -> Floats:
    return np.asarray(_log_gamma(a) + math.lgamma(0.5) - _log_gamma(a + 0.5))


def _log_gamma(x: Floats) -> Floats:
    """Return the log gamma function (6.1.15 and 6.1.41)."""
    below = np.ones(x.shape)
    for k in range(SHIFT):
        below = below * (x + k)
    y = x + SHIFT
    series = sum(number / (2 * k * (2 * k - 1) * y ** (2 * k - 1)) for k, number in enumerate(BERNOULLI, 1))
    return np.asarray((y - 0.5) * np.log(y) - y + math.log(2 * math.pi) / 2 + series - np.log(below))


def _beta_tail(t: Floats, degrees: Floats) -> Floats:
    """Return the tail as a regularised incomplete beta function; of its two fractions, the one that ends soon."""
    tail = np.empty(t.shape)
    a, half = degrees / 2, np.full(t.shape, 0.5)
    whole = degrees + t**2
    direct = degrees / whole < (a + 1) / (a + 2.5)
    far = ~direct
    log_beta = _log_beta_half(a)
    tail[direct] = _beta_below((degrees / whole)[direct], a[direct], half[direct], log_beta[direct])
    tail[far] = 1 - _beta_below((t**2 / whole)[far], half[far], a[far], log_beta[far])
    return tail


def _beta_below(x: Floats, a: Floats, b: Floats, log_beta: Floats) -> Floats:
    """Return the regularised incomplete beta function as a continued fraction, from its far end (26.5.8).

    Args:
        x: from 0 to 1, small: below `(a + 1) / (a + b + 2)`.
        a, b: its parameters.
        log_beta: the logarithm of the beta function of `a` and `b`.
    """
    if not x.size:
        return np.empty(0)
    depth = _depth(max(a.max(), b.max()))
    fraction: Any
    if x.size == 1:  # the same operations on plain numbers, to the same bits, without the cost of arrays
        fraction = _fraction(x.item(), a.item(), b.item(), depth)
    else:
        fraction = _fraction(x, a, b, depth)
    with np.errstate(divide="ignore"):
        front = a * np.log(x) + b * np.log1p(-x) - log_beta
    return np.asarray(np.exp(front) / (a * fraction))


def _fraction(x: Any, a: Any, b: Any, depth: int) -> Any:
    """Return the continued fraction of numbers or of arrays, from its `depth`-th term."""
    fraction = 1.0
    for k in range(depth, 0, -1):
        m = k // 2
        if k % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        fraction = 1 + term / fraction
    return fraction


def _depth(largest: float) -> int:
    """Return how many terms a fraction needs: about the square root of its larger parameter."""
    return 20 + 2 * int(3 * math.sqrt(largest))


def _normal_tail(z: Floats) -> Floats:
    """Return the chance that a normal variable is at least as far from 0 as z."""
    return np.array([math.erfc(value / math.sqrt(2)) for value in z.ravel()]).reshape(z.shape)
