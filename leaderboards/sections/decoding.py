"""Decoding against training on the page: what decoders give of each objective's gain, with the points drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench.leaderboards.sections.markup import escaped, folded, section, wide_table
from bench.leaderboards.sections.scatter import Dot, scatter
from bench.leaderboards.sections.tradeoff import family_of, figure

__all__ = ["decoding_section"]

SAID = (
    "<p class=soft>Objectives and maximum likelihood under the same decoders. Share: what decoders give a model of "
    "maximum likelihood where it is of the objective's quality, over the objective's gain, with a 95 % interval over "
    "seeds. <b>explained</b>: decoding gives most of it; <b>training adds</b>: it does not.</p>"
)


def decoding_section(sections: Sequence[Mapping[str, Any]]) -> str:
    """Return the section, as `quality_diversity.page_content` has it; nothing without one."""
    if not sections:
        return ""
    return section("decoding", "Decoding against training", [SAID, *map(_one, sections)])


def _one(found: Mapping[str, Any]) -> str:
    """Return the drawing and the table of one leaderboard."""
    title = f"{found['title']} · {found['backbone']} · {found['conditions']}"
    compared = [objective for objective in found["objectives"] if not objective["why"]]
    lacking = [f"{objective['method']}: {objective['why']}" for objective in found["objectives"] if objective["why"]]
    parts = [f"<h3>{escaped(title)}</h3>"]
    if found["watermark"]:
        parts.append(f"<p class=mark>Not comparable with published numbers: {escaped(found['watermark'])}</p>")
    if found["drawn"]:
        parts.append(_figure(found))
    if compared:
        parts.append(_table(compared))
    if lacking:
        items = "".join(f"<li>{escaped(line)}" for line in lacking)
        parts.append(folded(f"{len(lacking)} objectives are not compared", f"<ul>{items}</ul>"))
    return "".join(parts)


def _figure(found: Mapping[str, Any]) -> str:
    """Return the front of every model as a line; baselines have marks for their decoders."""
    baselines = {objective["baseline"] for objective in found["objectives"]}
    methods = list(found["drawn"])
    families: list[str] = []
    dots, fronts = [], []
    for number, (method, points) in enumerate(found["drawn"].items()):
        for point in points:
            title = f"{method} {point['setting']}: {point['x']:.2f}, {point['y']:.2f}"
            dot = Dot(point["x"], point["y"], number, 0, title)
            if method in baselines:
                family = family_of(point["setting"])
                if family not in families:
                    families.append(family)
                dot = replace(dot, shape=families.index(family))
                dots.append(dot)
            fronts.append(dot)
    drawn = scatter(dots, (found["axes"][0], found["axes"][1]), lines=fronts, line_names=methods, level=found["human"])
    said = "means over seeds; a line is the front of one model, marks are the decoders of maximum likelihood"
    return figure(f"{escaped(found['axes'][1])} by {escaped(found['axes'][0])}, {said}", drawn, methods, families)


def _table(objectives: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    equal = sorted({share["at"] for objective in objectives for share in objective["shares"]})
    for objective in objectives:
        shares = objective["shares"]
        for place, share in enumerate(shares):
            name = ""
            if place == 0:
                beside = f"<span class=sub>beside {escaped(objective['baseline'])}</span>"
                name = f"<th scope=row rowspan={len(shares)}>{escaped(objective['method'])}{beside}"
            what = share["column"]
            if len(equal) > 1:
                what += f" at equal {share['at']}"
            said = escaped(share["said"] or "–")
            lines.append(
                f"<tr>{name}<td>{escaped(what)}<td class=num>{_gain(share)}<td class=num>{said}"
                f"<td><b>{escaped(share['verdict'])}</b>"
            )
    where = f", at equal {escaped(equal[0])}" if len(equal) == 1 else ""
    head = (
        f"<th scope=col>Objective<th scope=col>Gain in{where}<th scope=col class=num>Gain"
        "<th scope=col class=num>Share of decoders<th scope=col>Says"
    )
    return wide_table("Shares of decoders", "claims", head, "".join(lines))


def _gain(share: Mapping[str, Any]) -> str:
    """Return the mean gain over seeds."""
    by_seed = list(share["gain"].values())
    if not by_seed:
        return "–"
    return f"{sum(by_seed) / len(by_seed):+.2f}, n={len(by_seed)}"
