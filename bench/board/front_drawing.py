"""Drawings of fronts: for each objective its front beside its baseline's, every other setting as a speck."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from bench.board.svg import COLOURS, Axis, Canvas, Drawing
from bench.errors import MissingError
from bench.leaderboards.quality_diversity.comparison import CLAIMED
from bench.leaderboards.quality_diversity.curves import Axes, Reached, axis_name
from bench.leaderboards.quality_diversity.section import Objective, Section

__all__ = ["draw_fronts"]

ACROSS = 2
"""Panels beside each other."""
WIDTH, HEIGHT, HEAD = 400, 250, 62
"""Of a panel, and the height of what stands above those of a leaderboard."""
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 34, 34
WAYS = {1: "higher is better", -1: "lower is better"}
OURS, THEIRS = COLOURS[1], COLOURS[0]


def draw_fronts(sections: Sequence[Section], axes: Axes = CLAIMED[0]) -> Drawing:
    """Return a panel for each objective of all sections: means over seeds in two columns.

    An objective that shares no setting or no seed with its baseline has no point and no panel.

    Raises:
        MissingError: no objective shares a setting and a seed with its baseline.
    """
    drawn = []
    for section in sections:
        objectives = [one for one in section.objectives if axes in one.pairs and one.pairs[axes].ours.seeds]
        if objectives:
            drawn.append((section, objectives))
    if not drawn:
        raise MissingError(
            "no objective has points under a setting and a seed that its baseline has too; bench tradeoff --run makes "
            "them, and bench tradeoff says what is missing"
        )
    heights = [HEAD + HEIGHT * math.ceil(len(objectives) / ACROSS) for _, objectives in drawn]
    canvas, top = Canvas(ACROSS * WIDTH, sum(heights)), 0
    for (section, objectives), height in zip(drawn, heights, strict=True):
        _head(canvas, top, section, axes, objectives[0].pairs[axes].ours)
        for number, objective in enumerate(objectives):
            row, column = divmod(number, ACROSS)
            _panel(canvas, WIDTH * column, top + HEAD + HEIGHT * row, objective, axes)
        top += height
    return canvas.drawing(f"fronts of objectives and of maximum likelihood: {axes.column} by {axes.at}")


def _head(canvas: Canvas, top: float, section: Section, axes: Axes, reached: Reached) -> None:
    """Say what the panels below a place are of, and which colour is whose."""
    canvas.text(10, top + 18, f"{section.table.title}, {section.conditions}", bold=True)
    upwards = f"{axis_name(axes.column)} ({WAYS[reached.y_sign]}) upwards"
    across = f"{axis_name(axes.at)} ({WAYS[reached.x_sign]}) across"
    canvas.text(10, top + 36, f"{upwards}, {across}; a line is a front, specks are the other settings")
    for place, (name, colour) in enumerate((("maximum likelihood", THEIRS), ("the objective", OURS))):
        canvas.box(10 + 160 * place, top + 46, 12, 10, colour)
        canvas.text(28 + 160 * place, top + 55, name)


def _panel(canvas: Canvas, left: float, top: float, objective: Objective, axes: Axes) -> None:
    """Draw an objective and its baseline to the right of and below a place."""
    pair = objective.pairs[axes]
    sides = ((pair.theirs, objective.baseline, THEIRS), (pair.ours, objective.method, OURS))
    means = [_means(side) for side, _, _ in sides]
    places = [place for found in means for place in found.values()]
    across = Axis.around([x for x, _ in places], left + LEFT, left + WIDTH - RIGHT)
    upwards = Axis.around([y for _, y in places], top + HEIGHT - BOTTOM, top + TOP)
    canvas.text(left + 10, top + 20, f"{objective.method} beside {objective.baseline}", bold=True)
    canvas.across(across, top + HEIGHT - BOTTOM)
    canvas.upwards(upwards, left + LEFT)
    for found, (side, name, colour) in zip(means, sides, strict=True):
        others = [place for setting, place in found.items() if setting not in side.front]
        canvas.specks([(across.at(x), upwards.at(y)) for x, y in others], colour)
        line = sorted((found[setting], setting) for setting in side.front)
        canvas.line([(across.at(x), upwards.at(y)) for (x, y), _ in line], colour, 2)
        for (x, y), setting in line:
            said = f"{name} {setting}: {axis_name(axes.at)} {x:.2f}, {axis_name(axes.column)} {y:.2f}"
            canvas.dot(across.at(x), upwards.at(y), colour, said)


def _means(reached: Reached) -> dict[str, tuple[float, float]]:
    """Return each setting's mean over seeds."""
    found = {}
    for setting, by_seed in reached.points.items():
        xs, ys = zip(*by_seed.values(), strict=True)
        found[setting] = (statistics.fmean(xs), statistics.fmean(ys))
    return found
