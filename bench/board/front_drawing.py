"""Drawings of fronts: for each objective its front beside its baseline's, every other setting as a small dot."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.board.svg import COLOURS, Axis, Canvas, Drawing
from bench.errors import MissingError
from bench.leaderboards.quality_diversity.comparison import CLAIMED
from bench.leaderboards.quality_diversity.curves import Axes, Reached, axis_name
from bench.leaderboards.quality_diversity.section import Objective, Section

__all__ = ["draw_fronts"]

WIDTH, PANEL, LEFT, RIGHT = 760, 300, 70, 20
OURS, THEIRS = COLOURS[1], COLOURS[0]


def draw_fronts(sections: Sequence[Section], axes: Axes = CLAIMED[0]) -> Drawing:
    """Return a panel for each objective of all sections: means over seeds in two columns.

    An objective that shares no setting or no seed with its baseline has no point and no panel.

    Raises:
        MissingError: no objective shares a setting and a seed with its baseline.
    """
    drawn = []
    for section in sections:
        for objective in section.objectives:
            if axes in objective.pairs and objective.pairs[axes].ours.seeds:
                drawn.append((section, objective))
    if not drawn:
        raise MissingError(
            "no objective has points under a setting and a seed that its baseline has too; bench tradeoff --run makes "
            "them, and bench tradeoff says what is missing"
        )
    canvas = Canvas(WIDTH, PANEL * len(drawn))
    for number, (section, objective) in enumerate(drawn):
        _panel(canvas, PANEL * number, section, objective, axes)
    return canvas.drawing(f"fronts of objectives and of maximum likelihood: {axes.column} by {axes.at}")


def _panel(canvas: Canvas, top: float, section: Section, objective: Objective, axes: Axes) -> None:
    """Draw an objective and its baseline below a place."""
    pair = objective.pairs[axes]
    means = [(_means(pair.theirs), pair.theirs.front), (_means(pair.ours), pair.ours.front)]
    places = [place for found, _ in means for place in found.values()]
    across = Axis.around([x for x, _ in places], LEFT, WIDTH - RIGHT)
    upwards = Axis.around([y for _, y in places], top + PANEL - 50, top + 45)
    canvas.text(10, top + 18, f"{objective.method} beside {objective.baseline}: {section.table.title}", bold=True)
    canvas.text(10, top + 34, f"{axis_name(axes.column)}, lines are fronts; {section.conditions}", size=11)
    canvas.across(across, top + PANEL - 50)
    canvas.upwards(upwards, LEFT)
    canvas.text((LEFT + WIDTH - RIGHT) / 2, top + PANEL - 12, axis_name(axes.at), anchor="middle")
    for (found, front), name, colour in zip(means, (objective.baseline, objective.method), (THEIRS, OURS), strict=True):
        for setting, (x, y) in found.items():
            canvas.dot(
                across.at(x),
                upwards.at(y),
                colour,
                f"{name} {setting}: {axis_name(axes.at)} {x:.2f}, {axis_name(axes.column)} {y:.2f}",
            )
        line = sorted(found[setting] for setting in front)
        canvas.line([(across.at(x), upwards.at(y)) for x, y in line], colour, 2)
    for place, (name, colour) in enumerate(((objective.baseline, THEIRS), (objective.method, OURS))):
        canvas.box(WIDTH - 190, top + 46 + 18 * place, 12, 10, colour)
        canvas.text(WIDTH - 172, top + 55 + 18 * place, name, size=11)


def _means(reached: Reached) -> dict[str, tuple[float, float]]:
    """Return each setting's mean over seeds."""
    found = {}
    for setting, by_seed in reached.points.items():
        xs, ys = zip(*by_seed.values(), strict=True)
        found[setting] = (statistics.fmean(xs), statistics.fmean(ys))
    return found
