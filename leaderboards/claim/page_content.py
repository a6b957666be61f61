"""The replication report as texts for the page: of each claim direction, size and control, and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.leaderboards.claim.counts import summary
from bench.leaderboards.claim.lines import evidence_lines, published_text, share_text
from bench.leaderboards.claim.verdicts import Paper, Verdict

__all__ = ["page_content"]


def page_content(papers: Sequence[Paper]) -> list[dict[str, Any]]:
    """Return what the page shows of each paper: JSON types only.

    Args:
        papers: with their verdicts.
    """
    return [_paper(paper) for paper in papers]


def _paper(paper: Paper) -> dict[str, Any]:
    claims, not_run = [], []
    for verdict in paper.verdicts:
        if verdict.kind == "not run":
            not_run.append(verdict.claim.says)
        else:
            claims.append(_claim(verdict))
    return {
        "paper": paper.file.name,
        "summary": summary(paper),
        "rebuttal": paper.file.rebuttal,
        "claims": claims,
        "not_run": not_run,
        "costs": list(paper.costs),
    }


def _claim(verdict: Verdict) -> dict[str, Any]:
    direction, size = "", ""
    if verdict.decision is not None:
        direction = verdict.decision.direction
        if not verdict.off_scale:
            size = verdict.decision.size
    return {
        "says": verdict.claim.says,
        "where": verdict.claim.paper,
        "verdict": verdict.kind,
        "direction": direction,
        "size": size,
        "control": _control(verdict),
        "paper": published_text(verdict.claim),
        "quote": verdict.claim.quote,
        "evidence": evidence_lines(verdict, short=True),
        "on": verdict.evidence.on,
    }


def _control(verdict: Verdict) -> str:
    """Return which controls explain a claim, or have most of its effect, or nothing."""
    if verdict.explained_by:
        return f"explained by {', '.join(verdict.explained_by)}"
    shares = {label: share for label, share in (verdict.shares or {}).items() if share.low is not None}
    if not shares:  # of an effect that may be 0 a share has no bound
        return ""
    label, share = max(shares.items(), key=lambda item: item[1].value)
    return f"{label} has {share_text(share.value)}"
