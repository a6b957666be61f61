"""Groups: which training rows a row may not have as its exemplar, and which rows need not be searched for twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bench.tasks.exemplars.bag_of_words import Bags

__all__ = ["distinct", "groups_of", "lowest_allowed", "plain"]

Integers = npt.NDArray[np.int64]


def groups_of(
    train_sources: Sequence[str],
    sources: Sequence[str],
    own: bool,
    equal_sources: bool,
    targets: tuple[Sequence[str], Sequence[str]] | None,
) -> tuple[Integers, Integers]:
    """Return numbers [k, training rows] and [k, rows]: a training row with a number of the row's is excluded.

    Args:
        train_sources: of the training rows.
        sources: of the rows.
        own: the rows are the training rows.
        equal_sources: training rows whose source equals the row's are allowed.
        targets: of the training rows and of the rows, where equal ones exclude each other.
    """
    pairs: list[tuple[Integers, Integers]] = []
    if not equal_sources:
        pairs.append(_numbers(train_sources, sources, own))
    elif own:
        pairs.append((np.arange(len(sources)), np.arange(len(sources))))
    if targets is not None:
        pairs.append(_numbers(*targets, own))
    if not pairs:
        return np.zeros((0, len(train_sources)), np.int64), np.zeros((0, len(sources)), np.int64)
    return np.stack([groups for groups, _ in pairs]), np.stack([rows for _, rows in pairs])


def _numbers(train: Sequence[str], rows: Sequence[str], own: bool) -> tuple[Integers, Integers]:
    """Return a number for each training text and each row's, the same for equal texts, [training rows] and [rows]."""
    texts = _both(train, rows, own)
    numbers = _numbered(plain(text).encode("utf-8", "surrogatepass") for text in texts)
    if own:
        return numbers, numbers
    return numbers[: len(train)], numbers[len(train) :]


def _both(train: Sequence[str], rows: Sequence[str], own: bool) -> Iterator[str]:
    yield from train
    if not own:
        yield from rows


def _numbered(contents: Iterable[bytes]) -> Integers:
    """Return a number for each content, the same for equal ones."""
    digests = (hashlib.blake2b(content, digest_size=16).digest() for content in contents)
    _, numbers = np.unique(np.frombuffer(b"".join(digests), "S16"), return_inverse=True)
    return numbers


def plain(text: str) -> str:
    """Return a text without differences in white space."""
    return " ".join(text.split())


def distinct(bags: Bags, groups: Integers) -> tuple[Integers, Integers]:
    """Find rows that have the same bag and the same groups: they have the same exemplar and are equally good as one.

    Args:
        bags: of the rows.
        groups: their numbers, [k, rows].

    Returns:
        The first row of each kind, rising, [kinds]; and the kind of each row, [rows].

    >>> bags = Bags(np.array([0, 1, 2, 3]), np.array([4, 4, 4]), np.array([1, 1, 1]), np.array([1, 1, 1]))
    >>> [numbers.tolist() for numbers in distinct(bags, np.array([[7, 8, 7]]))]
    [[0, 1], [0, 1, 0]]
    """
    numbers = _numbered(_content(bags, groups, row) for row in range(len(bags.squared)))
    _, first, kind = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[kind]


def _content(bags: Bags, groups: Integers, row: int) -> bytes:
    """Return what a search knows of a row, as bytes."""
    start, stop = bags.starts[row], bags.starts[row + 1]
    words = bags.terms[start:stop].tobytes() + bags.counts[start:stop].tobytes()
    return words + bags.squared[row].tobytes() + groups[:, row].tobytes()


def lowest_allowed(groups: Integers) -> Integers:
    """Return a few training rows, rising: the lowest that any row may have is among them.

    For k = 2: if row 0 is excluded by one number, the answer is the first row that differs from it there (a), or, if a
    is excluded too, by its second number, the first that differs from row 0 in the first and from a in the second.

    Args:
        groups: numbers of the training rows, [k, training rows].
    """
    lowest = {0}
    for k in range(len(groups)):
        differs = groups[k] != groups[k, 0]  # [training rows]
        if differs.any():
            second = int(differs.argmax())
            lowest.add(second)
            for m in range(len(groups)):
                third = differs & (groups[m] != groups[m, second])
                if m != k and third.any():
                    lowest.add(int(third.argmax()))
    return np.array(sorted(lowest))
