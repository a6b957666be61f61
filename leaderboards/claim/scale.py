"""Scale: whether stored rows are those of a paper's table, so that sizes of effects can be compared."""

from __future__ import annotations

from bench.leaderboards.claim.claim_files import Claim
from bench.leaderboards.claim.estimands import printed_cell
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

__all__ = ["off_scale"]


def off_scale(claim: Claim, table: Table, row: TableRow) -> str:
    """Return why the size of a claim's effect cannot be compared with the paper's, or nothing.

    Outside the paper's scale only direction and mechanism are judged. A row is on it where the claim prints a size, and
    task, backbone, preset, data and split are those of its cell.

    Args:
        claim: the claim.
        table: where its rows are.
        row: the row it is about.
    """
    if claim.estimand == "sign" or claim.published is None:
        return "the paper prints no size"
    if claim.cells is None:
        return "the size is not of a cell of a table"
    cell = printed_cell(claim.cells, claim.cells.better)
    if table.preset != "paper":
        return f"preset {table.preset}, not the paper's"
    if cell.task != table.task:
        return f"task {table.task}, and the paper's is {cell.task or 'not one of ours'}"
    if cell.backbone != row.backbone:
        return f"backbone {row.backbone}, and the paper's is {cell.backbone}"
    if table.watermark:
        return table.watermark
    return cell.why_not
