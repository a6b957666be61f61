"""SVG: a drawing as text, with an axis, marks and lines; every text in it is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.outward import plain
from bench.leaderboards.sections.axes import Axis, ticks

__all__ = ["COLOURS", "Axis", "Canvas", "Drawing", "ticks"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Told apart by most colour-blind readers (Okabe and Ito 2008)."""

FONT = "font-family='sans-serif'"


@dataclass(frozen=True)
class Drawing:
    """An SVG image, shown by a notebook."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write it to a file, in place of an older one; return where."""
        write_atomic(Path(path), self.svg.encode(), replace=True)
        return Path(path)


def short(place: float) -> str:
    """Return a place with a digit behind the point, or none.

    >>> short(10.04), short(-0.04), short(2.25)
    ('10', '0', '2.2')
    """
    return f"{round(place, 1) + 0.0:g}"


@dataclass
class Canvas:
    """A drawing in the making, in pixels from the upper left corner."""

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, bold: bool = False) -> None:
        """Write a text whose baseline starts, ends or is centred at a place."""
        weight = " font-weight='bold'" if bold else ""
        shown = html.escape(plain(text))
        self.parts.append(
            f"<text x='{short(x)}' y='{short(y)}' text-anchor='{anchor}' font-size='{size}'{weight}>{shown}</text>"
        )

    def line(
        self, points: Sequence[tuple[float, float]], colour: str = "#999", width: float = 1.0, dashes: str = ""
    ) -> None:
        """Draw a line through points; dashes as in `stroke-dasharray`."""
        joined = " ".join(f"{short(x)},{short(y)}" for x, y in points)
        style = f"stroke='{colour}'"
        if len(points) > 2:
            style += " fill='none'"  # two points have no inside
        if width != 1:
            style += f" stroke-width='{width:g}'"
        if dashes:
            style += f" stroke-dasharray='{dashes}'"
        self.parts.append(f"<polyline points='{joined}' {style}/>")

    def upright(self, lines: Sequence[tuple[float, float, float]], colour: str) -> None:
        """Draw lines from below to above, of one method's intervals: each is (x, y, other y)."""
        if lines:
            joined = "".join(f"M{short(x)} {short(y)}V{short(other)}" for x, y, other in lines)
            self.parts.append(f"<path d='{joined}' stroke='{colour}'/>")

    def dot(self, x: float, y: float, colour: str, title: str = "", hollow: bool = False) -> None:
        """Draw a dot, filled or as a ring; its title is shown where the pointer rests."""
        said = html.escape(plain(title))
        look = f"r='4' fill='{colour}'"
        if hollow:
            look = f"r='3.5' fill='white' stroke='{colour}' stroke-width='1.5'"
        self.parts.append(f"<circle cx='{short(x)}' cy='{short(y)}' {look}><title>{said}</title></circle>")

    def specks(self, places: Sequence[tuple[float, float]], colour: str, width: float = 4) -> None:
        """Draw small dots in one colour."""
        if places:
            joined = "".join(f"M{short(x)} {short(y)}h0" for x, y in places)
            style = f"stroke='{colour}' stroke-width='{width:g}' stroke-linecap='round'"
            self.parts.append(f"<path d='{joined}' {style}/>")

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Fill a rectangle."""
        self.parts.append(
            f"<rect x='{short(x)}' y='{short(y)}' width='{short(width)}' height='{short(height)}' fill='{colour}'/>"
        )

    def across(self, axis: Axis, y: float) -> None:
        """Draw an axis from left to right with its numbers."""
        self.line([(axis.start, y), (axis.end, y)])
        for tick in ticks(axis.low, axis.high):
            self.line([(axis.at(tick), y), (axis.at(tick), y + 4)])
            self.text(axis.at(tick), y + 18, f"{tick:g}", anchor="middle", size=11)

    def upwards(self, axis: Axis, x: float) -> None:
        """Draw an axis from below with its numbers."""
        self.line([(x, axis.start), (x, axis.end)])
        for tick in ticks(axis.low, axis.high):
            self.line([(x - 4, axis.at(tick)), (x, axis.at(tick))])
            self.text(x - 7, axis.at(tick) + 4, f"{tick:g}", anchor="end", size=11)

    def drawing(self, label: str) -> Drawing:
        """Return what was drawn; the label says what it shows to those who cannot see it."""
        name = html.escape(plain(label), quote=True)
        return Drawing(
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}' role='img' {FONT} aria-label='{name}'>"
            f"<rect width='100%' height='100%' fill='white'/>{''.join(self.parts)}</svg>"
        )
