"""Drawings of a paper's figure with our numbers: a panel for each measure with a line for each series, or bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.base.redaction import one_line
from bench.board.pictures import BESIDE, COLOURS, Picture, drawing, new_figure, style_of
from bench.errors import UsageError
from bench.leaderboards.figures.filled import FilledFigure
from bench.leaderboards.published.paper_files import number
from bench.leaderboards.render.figures import printed_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["draw_figure"]


def draw_figure(filled: FilledFigure) -> Picture:
    """Return the drawing of a figure; dotted lines are the paper's numbers, in the colour of their series.

    Raises:
        UsageError: it is a table, or there is no number of ours.
        MissingError: matplotlib is not installed.
    """
    figure = filled.figure
    if figure.kind == "table":
        raise UsageError(f"{figure.address} is a table; there is nothing to draw")
    if not any(point.values for point in filled.points):
        raise UsageError(f"no cell of {figure.address} is stored; run it without --no-run")
    with drawing():
        canvas = _bars(filled) if figure.kind == "bars" else _lines(filled)
        about = f"preset {filled.preset}. {figure.level.text()} {filled.watermark}"
        canvas.suptitle(one_line(f"{figure.address}: {figure.title}") + "\n" + one_line(about), fontsize=8, wrap=True)
        return Picture(canvas)


def _bars(filled: FilledFigure) -> Canvas:
    """Draw a group of bars for each column, a bar for each series that has a number."""
    canvas, (ax,) = new_figure([3.8])
    columns = filled.figure.columns
    series = [one.label for one in filled.figure.series]
    width = 0.85 / len(filled.points)
    for place, point in enumerate(filled.points):
        at = [group for group, column in enumerate(columns) if column.label in point.values]
        heights = [point.values[columns[group].label].mean for group in at]
        colour = COLOURS[series.index(point.point.series) % len(COLOURS)]
        ax.bar([group + width * place for group in at], heights, 0.9 * width, color=colour, label=point.point.series)
    middle = width * (len(filled.points) - 1) / 2
    ax.set_xticks([group + middle for group in range(len(columns))], [column.label for column in columns])
    ax.legend(**BESIDE)
    return canvas


def _lines(filled: FilledFigure) -> Canvas:
    """Draw a panel for each column, places from left to right."""
    figure = filled.figure
    canvas, axes = new_figure([2.8] * len(figure.columns))
    for ax, column in zip(axes, figure.columns, strict=True):
        ax.set_title(column.label)
        ax.set_xlabel(figure.horizontal)
        for place, series in enumerate(figure.series):
            _series(ax, filled, column.label, series.label, style_of(place)["color"])
    axes[0].legend(**BESIDE)
    return canvas


def _series(ax: Axes, filled: FilledFigure, column: str, label: str, colour: str) -> None:
    """Draw a line through the points of a series; one without a place is a line over all places."""
    points = [point for point in filled.of_series(label) if column in point.values]
    placed = [(point.at, point.values[column].mean) for point in points if point.at is not None]
    if placed:
        ax.plot(*zip(*placed, strict=True), "o-", color=colour, linewidth=1.2, markersize=4, label=label)
    for point in points:
        if point.at is None:
            ax.axhline(point.values[column].mean, color=colour, linewidth=1.2, label=label)
    printed = number(printed_of(filled, label).get(column, "-"))
    if printed is not None:
        ax.axhline(printed, color=colour, linewidth=1, linestyle=":")
