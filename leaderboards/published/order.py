"""Order: whether methods stand as a paper has them, column by column, whatever the scale of their numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Order:
    """Whether a column's rows stand in the paper's order.

    Args:
        block: part of the table and backbone that the rows share.
        rows: of which both have a number.
        pairs: of rows that the paper tells apart; `agreeing` of them are in the same order here.
        tau: Kendall's tau-b; None where all rows are equal on one side.
    """

    column: str
    block: str
    rows: int
    pairs: int
    agreeing: int
    tau: float | None


def order_of(column: str, block: str, held: Sequence[tuple[Hashable, float, float]]) -> Order | None:
    """Return the order of one column over rows of one block (Kendall 1945); None where the paper tells none apart.

    Args:
        column: as printed.
        block: what its rows share.
        held: which row of ours, our number, the published one. Lines that are one row of ours are no pair.

    >>> order_of("BLEU", "", [("mle", 1.0, 30.0), ("trime", 2.0, 31.0), ("histalign", 1.5, 32.0)]).agreeing
    2
    """
    agreeing = against = tied_here = tied_there = 0
    for (row, ours, theirs), (other, our_other, their_other) in combinations(held, 2):
        if row == other:
            continue
        here, there = _sign(ours - our_other), _sign(theirs - their_other)
        agreeing += here * there > 0
        against += here * there < 0
        tied_here += here == 0 != there
        tied_there += there == 0 != here
    if not (pairs := agreeing + against + tied_here):
        return None
    below = (pairs * (agreeing + against + tied_there)) ** 0.5
    return Order(column, block, len(held), pairs, agreeing, (agreeing - against) / below if below else None)


def _sign(difference: float) -> int:
    return 0 if abs(difference) < 1e-9 else 1 if difference > 0 else -1
