"""Axes: straight maps from numbers to places of a drawing, and round numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "ticks"]


@dataclass(frozen=True)
class Axis:
    """A straight map from numbers to places.

    Args:
        low, high: the least and the largest number.
        start, end: their places in pixels.

    >>> Axis(0, 10, 100, 200).at(5)
    150.0
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a number."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)

    @staticmethod
    def around(values: Sequence[float], start: float, end: float) -> Axis:
        """Return an axis a little longer than the values are spread."""
        low, high = min(values), max(values)
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        return Axis(low - room, high + room, start, end)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two, about so many.

    >>> ticks(0.3, 9.7)
    [2.0, 4.0, 6.0, 8.0]
    """
    step = 10.0 ** math.floor(math.log10((high - low) / about))
    for factor in (5, 2):
        if (high - low) / (step * factor) >= about - 1:
            step *= factor
            break
    first = math.ceil(low / step)
    return [round(n * step, 10) for n in range(first, math.floor(high / step) + 1)]
