"""Whisker: a value with its interval as a drawing the height of a line; the numbers stand beside it as text."""

from __future__ import annotations

__all__ = ["whisker"]

WIDTH, HEIGHT = 60, 8


def whisker(value: float, low: float | None, high: float | None, ends: tuple[float, float], even: float) -> str:
    """Return an SVG of an interval on an axis, with a line where both sides are even.

    Args:
        value: of the dot.
        low, high: ends of its interval; None for none.
        ends: of the axis.
        even: where the line stands.
    """
    first, last = ends
    width = last - first or 1.0

    def at(number: float) -> int:
        return round(3 + (WIDTH - 6) * (number - first) / width)

    span = ""
    if low is not None and high is not None:
        span = f"<path class=span d='M{at(low)} 4H{at(high)}'/>"
    return (
        f"<svg class=whisker viewBox='0 0 {WIDTH} {HEIGHT}' aria-hidden=true>"
        f"<path class=rail d='M{at(even)} 0V8'/>{span}<circle class=dot cx={at(value)} cy=4 r=2.5 /></svg>"
    )
