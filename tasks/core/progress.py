"""Progress: how far work on a task's rows is, told to whoever shows it or watches the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["OnRows", "counted", "tell_nobody"]

EVERY = 1_024  # rows

OnRows = Callable[[str, int, int], None]
"""Told what is made of rows, such as `exemplars`, for how many it is done, and of how many; 0 where nobody knows."""

T = TypeVar("T")


def tell_nobody(what: str, done: int, of: int) -> None:
    """Say nothing."""


def counted(rows: Iterable[T], what: str, of: int, tell: OnRows) -> Iterator[T]:
    """Yield rows, and tell every thousand of them and at the end.

    >>> list(counted("ab", "rows read", 2, print))
    rows read 2 2
    ['a', 'b']
    """
    done = 0
    for done, row in enumerate(rows, 1):
        yield row
        if done % EVERY == 0:
            tell(what, done, of)
    if done % EVERY:
        tell(what, done, of)
