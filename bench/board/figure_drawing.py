"""Drawings of filled figures: a panel for each measure with a line for each series, or groups of bars."""

from __future__ import annotations

from collections.abc import Sequence

from bench.board.svg import COLOURS, Axis, Canvas, Drawing
from bench.errors import UsageError
from bench.leaderboards.figures.filled import FilledFigure, FilledPoint
from bench.leaderboards.published.paper_files import number
from bench.leaderboards.render.figures import printed_of

__all__ = ["draw_figure"]

WIDTH, PANEL, LEFT, RIGHT = 760, 260, 70, 200
TOP = 50


def draw_figure(filled: FilledFigure) -> Drawing:
    """Return the drawing of a figure; the paper's numbers are dashed lines in the colour of their series.

    Raises:
        UsageError: it is a table, or there is no number of ours.
    """
    figure = filled.figure
    if figure.kind == "table":
        raise UsageError(f"{figure.address} is a table; there is nothing to draw")
    if not any(point.values for point in filled.points):
        raise UsageError(f"no cell of {figure.address} is stored; run it without --no-run")
    if figure.kind == "bars":
        return _bars(filled)
    return _lines(filled)


def _heading(canvas: Canvas, filled: FilledFigure) -> None:
    canvas.text(10, 20, f"{filled.figure.address}: {filled.figure.title}", bold=True)
    canvas.text(10, 36, f"preset {filled.preset}. {filled.figure.level.text()} {filled.watermark}", size=10)


def _colours(filled: FilledFigure) -> dict[str, str]:
    """Return a colour for each series."""
    return {series.label: COLOURS[n % len(COLOURS)] for n, series in enumerate(filled.figure.series)}


def _legend(canvas: Canvas, filled: FilledFigure, top: float) -> None:
    for place, (label, colour) in enumerate(_colours(filled).items()):
        canvas.box(WIDTH - RIGHT + 20, top + 20 * place - 9, 12, 10, colour)
        canvas.text(WIDTH - RIGHT + 38, top + 20 * place, label, size=11)


# Bars --------------------------------------------------------------------------------------------------------------


def _bars(filled: FilledFigure) -> Drawing:
    """Draw a group of bars for each column, a bar for each series that has a number."""
    canvas = Canvas(WIDTH, TOP + PANEL + 50)
    _heading(canvas, filled)
    means = [value.mean for point in filled.points for value in point.values.values()]
    upwards = Axis(0.0, 1.05 * max(means), TOP + PANEL, TOP)
    canvas.upwards(upwards, LEFT)
    room = (WIDTH - RIGHT - LEFT) / len(filled.figure.columns)
    width = 0.85 * room / len(filled.points)
    for group, column in enumerate(filled.figure.columns):
        start = LEFT + room * (group + 0.075)
        for place, point in enumerate(filled.points):
            value = point.values.get(column.label)
            if value is not None:
                top = upwards.at(value.mean)
                canvas.box(start + width * place, top, 0.9 * width, upwards.start - top, _colour(filled, point))
        canvas.text(LEFT + room * (group + 0.5), TOP + PANEL + 18, column.label, anchor="middle")
    canvas.line([(LEFT, upwards.start), (WIDTH - RIGHT, upwards.start)])
    _legend(canvas, filled, TOP + 20)
    return canvas.drawing(filled.figure.title)


def _colour(filled: FilledFigure, point: FilledPoint) -> str:
    return _colours(filled)[point.point.series]


# Lines -------------------------------------------------------------------------------------------------------------


def _lines(filled: FilledFigure) -> Drawing:
    """Draw a panel for each column, places from left to right."""
    figure = filled.figure
    canvas = Canvas(WIDTH, TOP + (PANEL + 60) * len(figure.columns))
    _heading(canvas, filled)
    places = sorted({point.at for point in filled.points if point.at is not None})
    across = Axis.around(places or [0.0, 1.0], LEFT, WIDTH - RIGHT)
    for number_of_panel, column in enumerate(figure.columns):
        _panel(canvas, filled, column.label, across, TOP + (PANEL + 60) * number_of_panel)
    _legend(canvas, filled, TOP + 40)
    return canvas.drawing(figure.title)


def _panel(canvas: Canvas, filled: FilledFigure, column: str, across: Axis, top: float) -> None:
    """Draw the numbers of one column below a place."""
    means = [point.values[column].mean for point in filled.points if column in point.values]
    canvas.text(LEFT, top + 14, column, bold=True)
    if not means:
        return
    bottom = top + PANEL
    upwards = Axis.around(means, bottom, top + 25)
    canvas.across(across, bottom)
    canvas.upwards(upwards, LEFT)
    canvas.text((across.start + across.end) / 2, bottom + 34, filled.figure.horizontal, anchor="middle", size=11)
    for label, colour in _colours(filled).items():
        points = [point for point in filled.of_series(label) if column in point.values]
        _one_series(canvas, column, points, (across, upwards), colour)
        _printed(canvas, filled, label, column, (across, upwards), colour)


def _one_series(
    canvas: Canvas, column: str, points: Sequence[FilledPoint], axes: tuple[Axis, Axis], colour: str
) -> None:
    """Draw a line through the points of a series; one without a place is a line over all places."""
    across, upwards = axes
    drawn = []
    for point in points:
        mean = point.values[column].mean
        if point.at is None:
            canvas.line([(across.start, upwards.at(mean)), (across.end, upwards.at(mean))], colour, 1.5)
        else:
            drawn.append((across.at(point.at), upwards.at(mean)))
            canvas.dot(*drawn[-1], colour, f"{point.point.series} at {point.at:g}: {mean:.2f}")
    if len(drawn) > 1:
        canvas.line(drawn, colour, 1.5)


def _printed(
    canvas: Canvas, filled: FilledFigure, label: str, column: str, axes: tuple[Axis, Axis], colour: str
) -> None:
    """Draw the paper's number of a series, dashed, where it lies within the panel."""
    across, upwards = axes
    value = number(printed_of(filled, label).get(column, "-"))
    if value is not None and upwards.low <= value <= upwards.high:
        canvas.line([(across.start, upwards.at(value)), (across.end, upwards.at(value))], colour, 1.0, "4 4")
