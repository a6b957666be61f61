"""Even points: as many points of a line as there is room for, its ends among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["even_points"]

T = TypeVar("T")


def even_points(line: Sequence[T], most: int) -> list[T]:
    """Return at most so many points of a line, evenly, first and last among them.

    >>> even_points(range(100), 4), even_points([1, 2], 4)
    ([0, 33, 66, 99], [1, 2])
    """
    if len(line) <= most:
        return list(line)
    last = len(line) - 1
    return [line[round(place * last / (most - 1))] for place in range(most)]
