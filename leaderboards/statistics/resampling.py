"""Resampling: whole numbers and rows drawn with replacement, the same on every machine and with every numpy.

Every draw comes from a bit generator's raw stream, which numpy promises to keep, so a page says the same tomorrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["draws", "resamples"]

CHUNK = 2**18
"""Numbers of a resampling matrix held at a time: 2 MiB."""
HELD = 2 * 10**6
"""Numbers that are held from one interval to the next, where a table has no more: 4 MB, two bytes each."""
Floats = NDArray[np.float64]
Counts = NDArray[np.integer]


def draws(shape: tuple[int, ...], n: int, seed: int) -> NDArray[np.int64]:
    """Return whole numbers below `n` of a shape, each as likely; the same on every machine and with every numpy.

    >>> draws((2, 3), 10, seed=0).shape
    (2, 3)
    """
    return _whole(np.random.PCG64(seed), math.prod(shape), n).reshape(shape)


def resamples(rounds: int, n: int, seed: int) -> Iterator[tuple[int, Floats]]:
    """Yield, in chunks, the first round and how often each of `n` rows is drawn in each round, `[chunk, n]`."""
    drawn: Iterable[tuple[int, Counts]] = _drawn_counts(rounds, n, seed)
    if rounds * n <= HELD:
        drawn = _held_counts(rounds, n, seed, CHUNK)
    for start, counts in drawn:
        yield start, counts.astype(np.float64)


@lru_cache(maxsize=1)
def _held_counts(rounds: int, n: int, seed: int, chunk: int) -> Sequence[tuple[int, Counts]]:
    drawn = _drawn_counts(rounds, n, seed)
    if n > np.iinfo(np.uint16).max:  # few rounds of many rows
        return list(drawn)
    return [(start, counts.astype(np.uint16)) for start, counts in drawn]


def _drawn_counts(rounds: int, n: int, seed: int) -> Iterator[tuple[int, Counts]]:
    """Draw what `resamples` yields, as whole numbers."""
    bits, chunk = np.random.PCG64(seed), max(1, CHUNK // n)
    for start in range(0, rounds, chunk):
        size = min(chunk, rounds - start)
        at = _whole(bits, size * n, n).reshape(size, n) + np.arange(size)[:, None] * n
        yield start, np.bincount(at.ravel(), minlength=size * n).reshape(size, n)


def _whole(bits: np.random.PCG64, size: int, n: int) -> NDArray[np.int64]:
    """The top 53 bits of each raw number as a share of `n`."""
    raw = np.asarray(bits.random_raw(size), dtype=np.uint64)
    return ((raw >> np.uint64(11)) * (n * 2.0**-53)).astype(np.int64)
