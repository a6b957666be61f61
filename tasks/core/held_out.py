"""Held out: which training rows are used for validation and test where these splits have no file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bench.errors import DataError
from bench.tasks.core.pieces import pieces

__all__ = ["held_out", "place"]

RANGES = {"test": (0.00, 0.05), "valid": (0.05, 0.10)}
"""Where the hash of a held-out row lies between 0 and 1."""


def held_out(
    places: Iterable[float | None], splits: Sequence[str], where: object = "the rows", remedy: str = ""
) -> Mapping[int, str]:
    """Choose rows for splits that have no file of their own: 5 % for each, the rest is for training.

    A row's place decides where it goes, so that rows of one place go together, and a row stays where it is when others
    come or go. A split that no row falls to takes one place of the largest split, so that a handful is enough.

    Args:
        places: of each row, from `place`; None for one that is for training in any case.
        splits: of `valid` and `test`, those to choose for.
        where: the rows are, for messages.
        remedy: what to do about too few rows, for messages.

    Returns:
        The split of each row that is held out, by its number from 0.

    Raises:
        DataError: there are too few different places for the splits and training.
    """
    numbers: dict[float, list[int]] = {}
    for number, at in enumerate(places):
        if at is not None:
            numbers.setdefault(at, []).append(number)
    if len(numbers) <= len(splits):
        raise DataError(
            f"{where}: expected at least {len(splits) + 1} different rows, to hold out one for "
            f"{' and one for '.join(splits)}; found {len(numbers)}{remedy}"
        )
    split_of = {at: _split_at(at, splits) for at in numbers}
    for split in (*splits, "train"):
        if split not in split_of.values():
            largest = Counter(split_of.values()).most_common(1)[0][0]
            split_of[min(at for at in split_of if split_of[at] == largest)] = split
    return {number: split for at, split in split_of.items() if split != "train" for number in numbers[at]}


def _split_at(at: float, splits: Sequence[str]) -> str:
    """Return which of some splits, or of them and training, a place falls to."""
    for split in splits:
        low, high = RANGES[split]
        if low <= at < high:
            return split
    return "train"


def place(text: str) -> float:
    """Return the place of a text between 0 and 1; white space does not count.

    >>> 0 <= place("to be") == place(" to\\nbe ") < 1
    True
    """
    digest = hashlib.sha256()
    for piece in pieces(text, 4096):
        digest.update(piece.encode() + b" ")
    return int.from_bytes(digest.digest()[:6], "big") / 2**48
