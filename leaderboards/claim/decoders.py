"""Decoders of claims: what a decoder gives maximum likelihood of the gain that a claim speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.leaderboards.claim.claim_files import Claim
from bench.leaderboards.claim.verdicts import Paper
from bench.leaderboards.quality_diversity.comparison import Share
from bench.leaderboards.quality_diversity.section import Section

__all__ = ["with_decoders"]

COLUMNS = {"self-bleu": "self-bleu-2", "distinct": "self-bleu-2", "rep": "seq-rep-4", "seq-rep": "seq-rep-4"}
"""What columns of claims begin with, to the column in which decoders are compared."""


def with_decoders(paper: Paper, found: Sequence[Section]) -> Paper:
    """Return a paper whose claims of less repetition or blandness say what decoders have of the gain.

    Args:
        paper: with its verdicts.
        found: `quality_diversity.section.sections` of a store in which models wrote under every decoder.
    """
    verdicts = []
    for verdict in paper.verdicts:
        of_task = [section for section in found if section.table.task == verdict.run.task]
        verdicts.append(replace(verdict, decoders=_line(verdict.claim, of_task)))
    return replace(paper, verdicts=verdicts)


def _line(claim: Claim, found: Sequence[Section]) -> str:
    """Return what is said of a claim; nothing where its methods were not compared, or on several models of them."""
    column = COLUMNS.get(claim.column.rpartition("-")[0] or claim.column, "")
    if claim.than is None or not column:
        return ""
    shares = []
    for section in found:
        for objective in section.objectives:
            if (objective.method, objective.baseline) == (claim.better.method, claim.than.method):
                shares += [share for share in objective.shares if share.axes.column == column]
    if len(shares) != 1:
        return ""
    return _said(shares[0])


def _said(share: Share) -> str:
    ratio = ""
    if share.is_bounded:
        ratio = f", {share.said} of the gain with nothing trained"
    return f"decoders, in {share.axes.column} at equal {share.axes.at}: {share.verdict}{ratio}"
