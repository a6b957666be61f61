"""Drawing of decisions: for each pair of rungs a panel, a line a metric, with what is right and its ceiling."""

from __future__ import annotations

from collections.abc import Sequence

from bench.board.svg import COLOURS, Axis, Canvas
from bench.leaderboards.ladder.decisions import Decisions

__all__ = ["draw_decisions"]

NAMES, RIGHT, HEAD, LINE, FOOT = 96, 14, 24, 15, 24
"""In pixels: what a panel has for names of metrics, right of its axis, above and for each line, and below."""
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw_decisions(canvas: Canvas, found: Sequence[Decisions], corner: tuple[float, float], width: float) -> float:
    """Draw how often a lower rung orders pairs of methods as an upper one, right of and below a corner.

    Args:
        canvas: to draw on.
        found: of one pair of rungs, a metric each.
        corner: the left end and the upper end of the panel.
        width: of the panel.

    Returns:
        How many pixels it is high.
    """
    left, top = corner
    across = Axis(0.0, 1.0, left + NAMES, left + width - RIGHT)
    bottom = top + HEAD + LINE * len(found)
    canvas.text(left + 10, top + 14, f"{found[0].lower} decides as {found[0].upper}", bold=True)
    canvas.line([(across.start, bottom), (across.end, bottom)])
    for tick in TICKS:
        canvas.line([(across.at(tick), bottom), (across.at(tick), bottom + 4)])
        canvas.text(across.at(tick), bottom + 17, f"{tick:.0%}", anchor="middle", size=10)
    for place, one in enumerate(found):
        _line(canvas, one, across, top + HEAD + LINE * (place + 0.5))
    return HEAD + LINE * len(found) + FOOT


def _line(canvas: Canvas, found: Decisions, across: Axis, y: float) -> None:
    """Draw a metric: a dot for the share that is right, an upright for the ceiling."""
    canvas.text(across.start - 6, y + 4, found.metric, anchor="end", size=11)
    if found.ceiling is not None:
        canvas.line([(across.start, y), (across.at(found.ceiling), y)], "#ccc")
        canvas.upright([(across.at(found.ceiling), y - 5, y + 5)], "#555")
    if found.accuracy is not None:
        said = f"{found.metric}: {found.accuracy:.0%} of {found.pairs} pairs"
        canvas.dot(across.at(found.accuracy), y, COLOURS[0], said)
