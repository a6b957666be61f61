"""Order: whether methods stand as a paper has them, column by column, whatever the scale of their numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

TIE = 1e-9
"""Numbers that differ by less are equal."""


@dataclass(frozen=True)
class Order:
    """Whether a column's rows stand in the paper's order.

    Args:
        column: as printed.
        block: part of the table and backbone that the rows share.
        rows: how many rows have both numbers.
        pairs: how many pairs of rows the paper tells apart.
        agreeing: how many of these pairs are in the same order here.
        tau: Kendall's tau-b; None where all rows are equal on one side.
    """

    column: str
    block: str
    rows: int
    pairs: int
    agreeing: int
    tau: float | None


def order_of(column: str, block: str, rows: Sequence[tuple[Hashable, float, float]]) -> Order | None:
    """Return the order of one column over rows of one block (Kendall 1945); None where the paper tells none apart.

    Args:
        column: as printed.
        block: what its rows share.
        rows: of each, which row of ours it is, our number, the published one. Two published rows that are compared
            with the same row of ours are no pair.

    >>> order_of("BLEU", "", [("mle", 1.0, 30.0), ("trime", 2.0, 31.0), ("histalign", 1.5, 32.0)]).agreeing
    2
    """
    agreeing = disagreeing = tied_here = tied_there = 0
    for (row_a, ours_a, theirs_a), (row_b, ours_b, theirs_b) in combinations(rows, 2):
        if row_a == row_b:
            continue
        here, there = _sign(ours_a - ours_b), _sign(theirs_a - theirs_b)
        agreeing += here * there > 0
        disagreeing += here * there < 0
        tied_here += here == 0 and there != 0
        tied_there += there == 0 and here != 0
    pairs = agreeing + disagreeing + tied_here
    if not pairs:
        return None
    tau = None
    scale = (pairs * (agreeing + disagreeing + tied_there)) ** 0.5
    if scale:
        tau = (agreeing - disagreeing) / scale
    return Order(column, block, len(rows), pairs, agreeing, tau)


def _sign(difference: float) -> int:
    if abs(difference) < TIE:
        return 0
    return 1 if difference > 0 else -1
