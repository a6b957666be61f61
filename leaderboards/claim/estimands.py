"""Estimands: what a claim is about, as a number of one seed, or of the cells that a paper prints."""

from __future__ import annotations

import math

from bench.errors import DataError
from bench.leaderboards.claim.claim_files import Cells, Claim
from bench.leaderboards.published.paper_files import PublishedCell
from bench.leaderboards.published.papers import paper_table

__all__ = ["effect_of", "printed_cell", "published_effect", "size_of"]


def effect_of(estimand: str, sign: int, ours: float, theirs: float, human: float | None = None) -> float | None:
    """Return the effect of one seed, positive in the claimed direction; None where it has no number.

    Args:
        estimand: of `ESTIMANDS`. The effect of a `ratio` is its logarithm, as far from 0 for half as for twice.
        sign: 1 where the higher value is claimed, -1 where the lower; of no account for `share`.
        ours: value of the row it is about.
        theirs: value of what it is compared with.
        human: value of human text, for `share`.

    >>> effect_of("difference", -1, 0.5, 2.0), effect_of("ratio", 1, 1.0, 0.0), round(effect_of("ratio", -1, 1, 2), 3)
    (1.5, None, 0.693)
    >>> effect_of("share", 1, 90.0, 70.0, human=80.0), effect_of("share", 1, 75.0, 70.0, human=80.0)
    (0.0, 0.5)
    """
    if estimand == "share":
        if human is None or theirs == human:
            return None
        return (abs(theirs - human) - abs(ours - human)) / abs(theirs - human)
    if estimand == "ratio":
        if ours <= 0 or theirs <= 0:
            return None
        return sign * math.log(ours / theirs) + 0.0
    return sign * (ours - theirs) + 0.0  # + 0.0 makes 0.0 of -0.0


def size_of(claim: Claim) -> float | None:
    """Return the size that a claim states, in the unit of its effects; None where it states none that is above 0."""
    if claim.published is None or claim.estimand == "sign" or claim.relation == "near":
        return None
    size = claim.published
    if claim.estimand == "ratio":
        size = claim.sign * math.log(claim.published)
    if size <= 0:
        return None
    return size


def published_effect(claim: Claim) -> float | None:
    """Return what `published` of a claim must be by its cells: its effect, or one cell's number with a bound.

    The effect of a `ratio` is printed as the ratio itself, ours over theirs.

    None where the claim has no cells.

    Raises:
        DataError: a cell that the paper's file does not have, or one without a number.
    """
    cells = claim.cells
    if cells is None:
        return None
    ours = _number(cells, cells.better)
    if not cells.than:
        return ours
    human = None
    if cells.human:
        human = _number(cells, cells.human)
    theirs = _number(cells, cells.than)
    if claim.estimand == "ratio":
        return ours / theirs
    return effect_of(claim.estimand, claim.sign, ours, theirs, human)


def printed_cell(cells: Cells, row: str) -> PublishedCell:
    """Return the cell of a claim's column in one row of its table.

    Raises:
        DataError: there is not exactly one.
    """
    found = []
    for line in paper_table(cells.table).rows:
        for cell in line:
            named = (cell.row, cell.column, cell.part) == (row, cells.column, cells.part)
            if named and cells.backbone in ("", cell.backbone):
                found.append(cell)
    if len(found) != 1:
        raise DataError(
            f"expected one cell '{cells.column}' of row '{row}', part '{cells.part}' in {cells.table}, got {len(found)}"
        )
    return found[0]


def _number(cells: Cells, row: str) -> float:
    """Return the number of one cell."""
    cell = printed_cell(cells, row)
    if cell.value is None:
        raise DataError(
            f"expected a number in {cells.table}, row '{row}', column '{cells.column}'; it prints '{cell.printed}'"
        )
    return cell.value
