"""Student's t on both sides, and the inverse of the trigamma function; SciPy has the functions behind them.

SciPy is imported in the functions: it takes a fifth of a second, and a table of one seed needs none of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["t_quantile", "t_tail", "trigamma", "trigamma_inverse"]

MAX_STEPS = 60
"""Limit of Newton's steps; about six are taken."""
Floats = NDArray[np.float64]


def trigamma(x: ArrayLike) -> Floats:
    """Return the second derivative of the log gamma function, for x above 0."""
    from scipy.special import polygamma

    return np.asarray(polygamma(1, x))


def trigamma_inverse(y: ArrayLike) -> Floats:
    """Return the x above 0 whose trigamma is y, for y above 0.

    Newton's method for `1 / trigamma(x) = 1 / y` from `x = 1/2 + 1/y`: the function is convex and nearly straight, so
    that every step comes from the same side and a few are enough (Smyth 2004, appendix).

    >>> round(float(trigamma_inverse(np.pi**2 / 2)), 12)
    0.5
    """
    from scipy.special import polygamma

    y = np.asarray(y, dtype=np.float64)
    x: Any = 0.5 + 1 / y
    for _ in range(MAX_STEPS):
        value = trigamma(x)
        step = value * (1 - value / y) / polygamma(2, x)
        x = x + step
        if np.all(np.abs(step) <= 1e-14 * x):
            break
    return np.asarray(x)


def t_tail(t: ArrayLike, degrees: ArrayLike) -> Floats:
    """Return the probability that a Student-t variable is at least as far from 0 as `t`, on both sides.

    Args:
        t: any shape.
        degrees: above 0, any real number or infinite; broadcast against `t`.

    >>> round(float(t_tail(4.302653, 2)), 7), round(float(t_tail(1.959964, np.inf)), 7)
    (0.05, 0.05)
    """
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(degrees, -np.abs(t)))


def t_quantile(alpha: float, degrees: ArrayLike) -> Floats:
    """Return the t that a Student-t variable exceeds, on both sides, with probability `alpha`.

    Args:
        alpha: 0.05 for the 97.5 % quantile.
        degrees: above 0, any real number or infinite.

    Raises:
        ValueError: an alpha that is not between 0 and 1, or degrees that are not above 0.

    >>> [round(float(t), 6) for t in t_quantile(0.05, [1, 2, 9, np.inf])]
    [12.706205, 4.302653, 2.262157, 1.959964]
    """
    if not 0 < alpha < 1 or not np.all(np.asarray(degrees) > 0):
        raise ValueError(f"expected an alpha between 0 and 1 and degrees above 0, got {alpha} and {degrees!r}")
    from scipy.special import stdtrit

    return np.asarray(-stdtrit(degrees, alpha / 2))
