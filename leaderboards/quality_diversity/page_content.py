"""Decoding against training as content for the page: what decoders give of each objective's gain, and the points."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.leaderboards.quality_diversity.comparison import CLAIMED
from bench.leaderboards.quality_diversity.content import content
from bench.leaderboards.quality_diversity.curves import Reached, axis_name
from bench.leaderboards.quality_diversity.section import Objective, Section
from bench.leaderboards.table import metric_name

__all__ = ["page_content"]

AXES = CLAIMED[0]
"""The columns that are drawn."""


def page_content(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return what the page shows of sections: `content`, and the front of each objective and of its baseline."""
    found = content(sections)
    for section, of_section in zip(sections, found, strict=True):
        of_section["axes"] = [axis_name(AXES.at), axis_name(AXES.column)]
        drawn: dict[str, list[dict[str, Any]]] = {}
        for objective in section.objectives:
            _add(drawn, objective)
        of_section["drawn"] = drawn
        of_section["human"] = _human(section)
    return found


def _human(section: Section) -> float | None:
    """Return what people's texts have in the column; they have no perplexity under a model of themselves.

    None where it is not known, or for texts of several lengths.
    """
    known = []
    for row in section.table.human:
        known += [value.mean for name, value in row.values.items() if metric_name(name) == AXES.column]
    if len(known) != 1:
        return None
    return known[0]


def _add(drawn: dict[str, list[dict[str, Any]]], objective: Objective) -> None:
    """Add the fronts of an objective and of its baseline to those drawn, a method once."""
    if AXES not in objective.pairs:
        return
    pair = objective.pairs[AXES]
    for method, side in ((objective.baseline, pair.theirs), (objective.method, pair.ours)):
        if side.seeds:
            drawn.setdefault(method, _points(side))


def _points(reached: Reached) -> list[dict[str, Any]]:
    """Return the settings of a front with their means over seeds in both columns."""
    points = []
    for setting in reached.front:
        by_seed = reached.points[setting]
        x = statistics.fmean(x for x, _ in by_seed.values())
        y = statistics.fmean(y for _, y in by_seed.values())
        points.append({"setting": setting, "x": x, "y": y})
    return points
