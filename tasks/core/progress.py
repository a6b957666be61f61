"""Progress of long work on the rows of a task."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

EVERY = 1_024  # rows

OnRows = Callable[[str, int, int], None]
"""Called with the name of the work, such as `exemplars`, the rows that are done and all rows; 0 where unknown."""

T = TypeVar("T")


def no_progress(what: str, done: int, of: int) -> None:
    """Report nothing."""


def counted(rows: Iterable[T], what: str, of: int, on_rows: OnRows) -> Iterator[T]:
    """Yield rows, and report progress after every thousand of them and at the end.

    >>> list(counted("ab", "rows read", 2, print))
    rows read 2 2
    ['a', 'b']
    """
    done = 0
    for done, row in enumerate(rows, 1):
        yield row
        if done % EVERY == 0:
            on_rows(what, done, of)
    if done % EVERY:
        on_rows(what, done, of)
