"""Agreement of raters: Krippendorff's alpha for nominal and ordinal answers, with missing ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["alpha", "coincidences"]

Units = Iterable[Sequence[Hashable]]
"""For each rated unit the answers of all raters; missing ones are left out."""


def alpha(units: Units, order: Sequence[Hashable], level: Literal["nominal", "ordinal"] = "nominal") -> float | None:
    """Return Krippendorff's alpha: 1 - observed / expected disagreement (Krippendorff 2011, sections C and D).

    Args:
        units: answers by unit; a unit with one answer says nothing of agreement and is left out.
        order: every answer there can be, lowest first where the level is ordinal.
        level: `nominal`, any two unlike answers disagree alike; `ordinal`, the more the more answers lie between.

    Returns:
        1 for perfect agreement, 0 for chance; None where no unit has two answers or all answers are the same one.

    Raises:
        ValueError: an answer that is not in `order`.

    >>> alpha([["a", "a"], ["b", "b"], ["b"]], "ab"), alpha([["a", "a"]], "ab")
    (1.0, None)
    """
    table = coincidences(units, order)
    margins, n = table.sum(axis=0), float(table.sum())
    distance = 1 - np.eye(len(margins))
    if level == "ordinal":
        distance = _ordinal(margins)
    expected = float((np.outer(margins, margins) * distance).sum())
    if not expected:
        return None
    return 1 - (n - 1) * float((table * distance).sum()) / expected


def coincidences(units: Units, order: Sequence[Hashable]) -> NDArray[np.float64]:
    """Return how often one answer met another in a unit, `[answers, answers]`: each pair counts 1 / (answers - 1).

    >>> coincidences([["a", "a", "b"]], "ab").tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    places = {answer: i for i, answer in enumerate(order)}
    table = np.zeros((len(places), len(places)))
    for unit in units:
        if unknown := [answer for answer in unit if answer not in places]:
            raise ValueError(f"expected answers of {list(order)}, got {unknown[0]!r}")
        if len(unit) > 1:
            counts = np.bincount([places[answer] for answer in unit], minlength=len(places)).astype(np.float64)
            table += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return table


def _ordinal(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared number of answers between two, counting half of either's own, `[answers, answers]`."""
    middles = np.cumsum(margins) - margins / 2
    squared: NDArray[np.float64] = (middles[:, None] - middles[None, :]) ** 2
    return squared
