"""Scatter: points of two columns as an SVG, told apart by shape and by colour, with the front of the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.leaderboards.sections.axes import Axis, ticks
from bench.leaderboards.sections.markup import escaped

__all__ = ["COLOURS", "SHAPES", "Dot", "front_of", "line_style", "line_through", "marker", "scatter", "swatch"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 300, 48, 44, 12, 16
COLOURS = 8
"""Of the page's style, `c0` to `c7`; more objectives get dashed lines and hollow marks."""
SHAPES = (
    "m-4-4h8v8h-8z",
    "m0-5l5 9h-10z",
    "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "m-4.5-4.5l9 9m0-9l-9 9",
    "m0-5v10m-5-5h10",
    "m0 5l5-9h-10z",
    "m-5-2h10v4h-10z",
)
"""Paths of marks around a point, behind the circle, which is shape 0."""


@dataclass(frozen=True)
class Dot:
    """A point: where it is, of which line it is, with which mark, and what it says.

    Args:
        x, y: values in the two columns.
        line: number of its objective: its colour.
        shape: number of its decoder: its mark.
        title: shown where the pointer rests, and read out.
    """

    x: float
    y: float
    line: int
    shape: int
    title: str


def scatter(
    dots: Sequence[Dot],
    names: tuple[str, str],
    front: Sequence[Dot] = (),
    people: tuple[float, float] | None = None,
    lines: Sequence[Dot] | None = None,
    line_names: Sequence[str] = (),
    level: float | None = None,
) -> str:
    """Return a drawing of points, a line through those of each objective, and the front of the best of all.

    Args:
        dots: two or more.
        names: of the columns, x first.
        front: dots that no other beats.
        people: what texts of people score in both columns.
        lines: dots that the lines of their objectives go through, which need no marks; None for all.
        line_names: what each line says where the pointer rests, by number.
        level: what texts of people score in the column of y, where they have no score in the other.
    """
    joined = dots if lines is None else lines
    xs, ys = [dot.x for dot in [*dots, *joined]], [dot.y for dot in [*dots, *joined]]
    if people is not None:
        xs.append(people[0])
        ys.append(people[1])
    if level is not None:
        ys.append(level)
    across, upwards = Axis.around(xs, LEFT, WIDTH - RIGHT), Axis.around(ys, HEIGHT - BOTTOM, TOP)

    def place(x: float, y: float) -> tuple[int, int]:
        return round(across.at(x)), round(upwards.at(y))

    parts = [*_axes(across, upwards, names)]
    if len(front) > 1:
        parts.append(line_through("front", [place(dot.x, dot.y) for dot in sorted(front, key=lambda dot: dot.x)]))
    for line in sorted({dot.line for dot in joined}):
        of_line = sorted((dot for dot in joined if dot.line == line), key=lambda dot: dot.x)
        if len(of_line) > 1:
            name = line_names[line] if line_names else ""
            parts.append(line_through(f"curve {line_style(line)}", [place(dot.x, dot.y) for dot in of_line], name))
    for dot in dots:
        title = f"<title>{escaped(dot.title)}</title>"
        parts.append(f"<g class='shape {line_style(dot.line)}'>{title}{marker(dot.shape, *place(dot.x, dot.y))}</g>")
    if people is not None:
        x, y = place(*people)
        parts.append(
            f"<circle class=people-dot cx={x} cy={y} r=5 /><text x={x} y={y - 9} text-anchor=middle>human</text>"
        )
    if level is not None:
        high = round(upwards.at(level))
        parts.append(f"<path class=front d='M{LEFT} {high}H{WIDTH - RIGHT}'/>")
        parts.append(f"<text x={WIDTH - RIGHT} y={high - 5} text-anchor=end>human</text>")
    said = f"{names[1]} by {names[0]}: {len({*dots, *joined})} points"
    head = f"<svg class='curves scatter' viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{escaped(said)}'>"
    return f"{head}{''.join(parts)}</svg>"


def marker(shape: int, x: float, y: float) -> str:
    """Return the mark of a shape at a place."""
    number = shape % (len(SHAPES) + 1)
    if number == 0:
        return f"<circle cx={x} cy={y} r=4.5 />"
    return f"<path d='M{x} {y}{SHAPES[number - 1]}'/>"


def front_of(dots: Sequence[Dot], higher: tuple[bool, bool]) -> list[Dot]:
    """Return the dots that no other one beats: as good in both columns and better in one.

    Args:
        dots: all that are drawn.
        higher: whether higher is better, of x and of y.
    """
    return [dot for dot in dots if not any(_beats(other, dot, higher) for other in dots)]


def _beats(one: Dot, other: Dot, higher: tuple[bool, bool]) -> bool:
    x, y = one.x - other.x, one.y - other.y
    if not higher[0]:
        x = -x
    if not higher[1]:
        y = -y
    return x >= 0 and y >= 0 and (x > 0 or y > 0)


def line_style(number: int) -> str:
    """Return the classes of an objective: its colour, and dashed and hollow where colours are used up.

    >>> line_style(1), line_style(9)
    ('c1', 'c1 dashed')
    """
    style = f"c{number % COLOURS}"
    if number >= COLOURS:
        style += " dashed"
    return style


def swatch(number: int, name: str) -> str:
    """Return the line of a legend that names an objective."""
    return f"<span class='key {line_style(number)}'><span class=swatch></span>{escaped(name)}</span>"


def line_through(style: str, points: Sequence[tuple[int, int]], name: str = "") -> str:
    """Return a line through two or more places; each is written as its distance to the one before, which is short.

    Args:
        style: classes.
        points: x and y of each.
        name: shown where the pointer rests; none by default.

    >>> line_through("curve c0", [(37, 54), (84, 119), (131, 110)])
    "<path class='curve c0' d='M37 54l47 65 47-9'/>"
    """
    steps = [f"{x - x0} {y - y0}" for (x0, y0), (x, y) in pairwise(points)]
    start = f"M{points[0][0]} {points[0][1]}"
    path = f"{start}l{' '.join(steps)}".replace(" -", "-")
    if name:
        return f"<path class='{style}' d='{path}'><title>{escaped(name)}</title></path>"
    return f"<path class='{style}' d='{path}'/>"


def _axes(across: Axis, upwards: Axis, names: tuple[str, str]) -> list[str]:
    """Return ticks, lines at the height of ticks, and the names of both columns."""
    parts = []
    for tick in ticks(upwards.low, upwards.high):
        y = round(upwards.at(tick), 1)
        parts.append(f"<path class=rule d='M{LEFT} {y}H{WIDTH - RIGHT}'/>")
        parts.append(f"<text x={LEFT - 8} y={y + 4} text-anchor=end>{tick:g}</text>")
    for tick in ticks(across.low, across.high):
        parts.append(f"<text x={across.at(tick):.1f} y={HEIGHT - BOTTOM + 18} text-anchor=middle>{tick:g}</text>")
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f"<text x={middle} y={HEIGHT - 6} text-anchor=middle>{escaped(names[0])}</text>")
    parts.append(f"<text x={LEFT + 4} y={TOP + 8}>{escaped(names[1])}</text>")
    return parts
