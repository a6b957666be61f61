"""Content: the section as JSON has it: numbers by seed, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.leaderboards.quality_diversity.comparison import FrontDifference, Share
from bench.leaderboards.quality_diversity.section import Objective, Section

__all__ = ["content"]


def content(found: Sequence[Section]) -> list[dict[str, Any]]:
    """Return the sections as plain content."""
    return list(map(_section_content, found))


def _section_content(section: Section) -> dict[str, Any]:
    return {
        "title": section.table.title,
        "watermark": section.table.watermark,
        "backbone": section.backbone,
        "conditions": section.conditions,
        "passed_over": list(section.passed_over),
        "missing": list(section.missing),
        "objectives": [_objective_content(objective) for objective in section.objectives],
    }


def _objective_content(objective: Objective) -> dict[str, Any]:
    return {
        "method": objective.method,
        "baseline": objective.baseline,
        "why": objective.why,
        "gaps": list(objective.gaps),
        "shares": [_share_content(share) for share in objective.shares],
        "fronts": [_front_content(front) for front in objective.fronts],
    }


def _share_content(share: Share) -> dict[str, Any]:
    families = {name: asdict(interval) for name, interval in share.families.items()}
    ratio = None
    if share.share is not None:
        ratio = asdict(share.share)
    return {
        **asdict(share.axes),
        "gain": _keyed(share.gains.objective),
        "gain_of_decoders": _keyed(share.gains.decoders),
        "share": ratio,
        "at_least": share.gains.at_least,
        "said": share.said,
        "families": families,
        "verdict": share.verdict,
        "why": share.gains.why,
    }


def _front_content(front: FrontDifference) -> dict[str, Any]:
    return {
        **asdict(front.axes),
        "difference": _keyed(front.tradeoff.by_seed),
        "range": front.tradeoff.shared,
        "verdict": front.verdict,
    }


def _keyed(by_seed: Mapping[int, float]) -> dict[str, float]:
    return {str(seed): value for seed, value in sorted(by_seed.items())}
