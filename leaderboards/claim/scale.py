"""Scale: whether stored rows are those of a paper's table, so that sizes of effects can be compared."""

from __future__ import annotations

from dataclasses import replace

from bench.leaderboards.claim.claim_files import Claim, Run
from bench.leaderboards.claim.estimands import printed_cell
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

__all__ = ["at_papers_scale", "backbone_of", "off_scale"]

PAPER = "paper"
"""The preset of the papers' own settings."""


def backbone_of(claim: Claim) -> str:
    """Return the backbone of a claim's cell, or nothing."""
    if claim.cells is None:
        return ""
    return printed_cell(claim.cells, claim.cells.better).backbone


def at_papers_scale(claim: Claim, run: Run, preset: str) -> tuple[Claim, Run]:
    """Return a claim and its run as they are looked for in a preset.

    A file's runs and settings are those of small runs. In the papers' preset a claim that has a cell is about the task
    of that cell, with the settings of its recipe; a control that is only a setting falls away.
    """
    if preset != PAPER or claim.cells is None:
        return claim, run
    cell = printed_cell(claim.cells, claim.cells.better)
    than = claim.than
    if than is not None:
        than = replace(than, where={})
    controls = tuple(control for control in claim.controls if not control.where)
    of_paper = replace(claim, better=replace(claim.better, where={}), than=than, controls=controls)
    return of_paper, replace(run, task=cell.task, where={}, sets=())


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
    if table.preset != PAPER:
        return f"preset {table.preset}, not the paper's"
    if cell.task != table.task:
        return f"task {table.task}, and the paper's is {cell.task or 'not one of ours'}"
    if cell.backbone != row.backbone:
        return f"backbone {row.backbone}, and the paper's is {cell.backbone}"
    if table.watermark:
        return table.watermark
    return cell.why_not
