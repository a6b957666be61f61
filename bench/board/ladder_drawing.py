"""Drawing of a ladder: a panel for each metric, the methods' means against the parameters, with intervals.

Below them stands, for each pair of rungs, how often the lower one orders methods as the upper one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.board.decisions_drawing import draw_decisions
from bench.board.svg import COLOURS, Axis, Canvas, Drawing
from bench.errors import UsageError, did_you_mean
from bench.leaderboards.ladder.decisions import rung_pairs
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean

__all__ = ["draw_ladder"]

COLUMNS, ACROSS, LEFT, RIGHT = 3, 320, 60, 10
"""Panels beside each other at most, and in pixels their width, and of it what is left of and right of the lines."""
HEAD, DOWN, PANEL = 50, 270, 200
"""In pixels, above everything, from a panel to the one below, and what a panel has from its title to its axis."""
DECISIONS = 24
"""In pixels, from the last panel to those that say whether a lower rung decides as an upper one."""
NAMES, NAME = 6, 160
"""Names of methods in a line, and pixels for each."""
DASHES = ("", "6 3", "2 2")
"""Styles of lines, one after another where colours are used up."""
FAR = 4.0
"""A metric whose median is so many times as large on one rung as on another gets a logarithmic axis."""
VERY_FAR = 10.0
"""So does one whose methods' means are so far apart."""
BESIDE = 3.0
"""Pixels between the marks of two methods on one rung, so that intervals do not cover each other."""


@dataclass(frozen=True)
class Upwards:
    """The axis of a metric from below.

    Args:
        axis: of the values, or of their logarithms.
        logarithmic: whether it is of logarithms.
    """

    axis: Axis
    logarithmic: bool

    @staticmethod
    def around(ends: Sequence[float], means: Sequence[Sequence[float]], start: float, end: float) -> Upwards:
        """Return an axis of a metric: logarithmic where all is above 0 and rungs or methods are far apart.

        Args:
            ends: all ends of intervals.
            means: of the methods on each rung.
            start, end: places of the lowest and the highest in pixels.
        """
        medians = list(map(statistics.median, means))
        every = [mean for of_rung in means for mean in of_rung]
        far = max(medians) >= FAR * min(medians) or max(every) >= VERY_FAR * min(every)
        if min(ends) > 0 and far:
            return Upwards(Axis.around([math.log10(value) for value in ends], start, end), True)
        return Upwards(Axis.around(ends, start, end), False)

    def at(self, value: float) -> float:
        """Return the place of a value in pixels."""
        if self.logarithmic:
            return self.axis.at(math.log10(value))
        return self.axis.at(value)

    def draw(self, canvas: Canvas, x: float) -> None:
        """Draw it with its numbers."""
        if not self.logarithmic:
            canvas.upwards(self.axis, x)
            return
        canvas.line([(x, self.axis.start), (x, self.axis.end)])
        for tick in log_ticks(10**self.axis.low, 10**self.axis.high):
            canvas.line([(x - 4, self.at(tick)), (x, self.at(tick))])
            canvas.text(x - 7, self.at(tick) + 4, f"{tick:g}", anchor="end", size=11)


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten between two numbers above 0.

    >>> log_ticks(0.4, 30)
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    """
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [float(f"{digit}e{power}") for digit in (1, 2, 5)]
    return [tick for tick in found if low <= tick <= high]


def draw_ladder(findings: Findings, metrics: Sequence[str] = ()) -> Drawing:
    """Return the drawing of a ladder: a line for each method, 95 % intervals over seeds where there are three.

    Args:
        findings: of a ladder with a rung or more.
        metrics: to draw, from above; all with a better direction when empty.

    Raises:
        UsageError: no rungs, or a metric that the ladder does not have.
    """
    ladder = findings.ladder
    wanted = list(metrics) or ladder.metrics
    for metric in wanted:
        if metric not in ladder.metrics:
            raise UsageError(f"the ladder has no values of '{metric}'{did_you_mean(metric, ladder.metrics)}")
    if not wanted:
        raise UsageError("expected a ladder with values to draw, got none; run its smallest rung first")
    top = HEAD + 20 * math.ceil(len(ladder.methods) / NAMES)
    bottom = top + DOWN * math.ceil(len(wanted) / COLUMNS)
    width = max(ACROSS * min(COLUMNS, len(wanted)), NAME * min(NAMES, len(ladder.methods)))
    canvas = Canvas(width, bottom)
    canvas.text(10, 20, f"Ladder of {ladder.task}", bold=True)
    canvas.text(10, 36, "means over seeds and 95 % intervals, by parameters without embeddings", size=10)
    _legend(canvas, ladder)
    for place, metric in enumerate(wanted):
        line, column = divmod(place, COLUMNS)
        _panel(canvas, ladder, metric, (ACROSS * column, top + DOWN * line))
    if len(ladder.rungs) > 1:
        _decisions(canvas, findings, wanted)
    return canvas.drawing(f"Ladder of {ladder.task}: {', '.join(wanted)}")


def _decisions(canvas: Canvas, findings: Findings, metrics: Sequence[str]) -> None:
    """Draw below all else whether a lower rung decides as an upper one, and make the canvas as high as that takes."""
    said = "Pairs of methods that both rungs order alike (dot), and how many a second draw of seeds would (upright)"
    canvas.text(10, canvas.height + 14, said, size=11)
    top = canvas.height + DECISIONS
    for place, (lower, upper) in enumerate(rung_pairs(findings.ladder)):
        line, column = divmod(place, max(1, canvas.width // ACROSS))
        of_rungs = [one for one in findings.decisions if (one.lower, one.upper) == (lower.name, upper.name)]
        found = [one for one in of_rungs if one.metric in metrics]
        if column == 0 and line:
            top = canvas.height
        high = draw_decisions(canvas, found, (ACROSS * column, top), ACROSS)
        canvas.height = math.ceil(top + high)


def _panel(canvas: Canvas, ladder: Ladder, metric: str, corner: tuple[float, float]) -> None:
    """Draw one metric right of and below a corner."""
    left, right, top = corner[0] + LEFT, corner[0] + ACROSS - RIGHT, corner[1]
    direction = "lower is better"
    if ladder.higher_is_better[metric]:
        direction = "higher is better"
    canvas.text(left, top + 14, f"{metric} ({direction})", bold=True)
    means = {method: _means(ladder, metric, method) for method in ladder.methods}
    ends: list[float] = []
    for by_size in means.values():
        for value in by_size.values():
            ends += [value.mean - (value.half or 0.0), value.mean + (value.half or 0.0)]
    bottom = top + PANEL
    of_rungs = [list(rung.means(metric).values()) for rung in ladder.rungs if rung.means(metric)]
    upwards = Upwards.around(ends, of_rungs, bottom, top + 25)
    across = _across(ladder, left, right)
    upwards.draw(canvas, left)
    canvas.line([(left, bottom), (right, bottom)])
    for rung in ladder.rungs:
        x = across.at(math.log10(rung.parameters))
        canvas.line([(x, bottom), (x, bottom + 4)])
        canvas.text(x, bottom + 18, rung.name, anchor="middle", size=11)
    for place, method in enumerate(ladder.methods):
        beside = BESIDE * (place - (len(ladder.methods) - 1) / 2)
        _one_method(canvas, method, means[method], (across, upwards), (place, beside))


def _across(ladder: Ladder, left: float, right: float) -> Axis:
    """Return the axis of the logarithm of the parameters between two places, with room at its ends."""
    sizes = [math.log10(rung.parameters) for rung in ladder.rungs]
    room = 0.12 * (sizes[-1] - sizes[0]) or 0.5
    return Axis(sizes[0] - room, sizes[-1] + room, left, right)


def _means(ladder: Ladder, metric: str, method: str) -> dict[int, SeedMean]:
    """Return the mean of a method on each rung that has it, by parameters."""
    found = {}
    for rung in ladder.rungs:
        values = list(rung.of(metric).get(method, {}).values())
        if values:
            found[rung.parameters] = seed_mean(values)
    return found


def _one_method(
    canvas: Canvas, method: str, means: dict[int, SeedMean], axes: tuple[Axis, Upwards], style: tuple[int, float]
) -> None:
    """Draw a method's line, dots and intervals; the style is its place among methods and how far it stands aside."""
    across, upwards = axes
    place, beside = style
    colour = COLOURS[place % len(COLOURS)]
    points: list[tuple[float, float]] = []
    intervals: list[tuple[float, float, float]] = []
    for size, value in means.items():
        x, y = across.at(math.log10(size)) + beside, upwards.at(value.mean)
        points.append((x, y))
        if value.half is not None:
            intervals.append((x, upwards.at(value.mean - value.half), upwards.at(value.mean + value.half)))
    canvas.upright(intervals, colour)
    if len(points) > 1:
        canvas.line(points, colour, 1.5, _dashes(place))
    for (x, y), (size, value) in zip(points, means.items(), strict=True):
        said = f"{method} at {size:,}: {value.mean:.4g}, {value.n} seeds"
        canvas.dot(x, y, colour, said, hollow=bool(_dashes(place)))


def _dashes(place: int) -> str:
    return DASHES[place // len(COLOURS) % len(DASHES)]


def _legend(canvas: Canvas, ladder: Ladder) -> None:
    """Draw the methods' names in lines below the title."""
    for place, method in enumerate(ladder.methods):
        line, column = divmod(place, NAMES)
        x, y = 10 + NAME * column, HEAD + 6 + 20 * line
        canvas.line([(x, y - 4), (x + 20, y - 4)], COLOURS[place % len(COLOURS)], 2.0, _dashes(place))
        canvas.dot(x + 10, y - 4, COLOURS[place % len(COLOURS)], method, hollow=bool(_dashes(place)))
        canvas.text(x + 26, y, method, size=11)
