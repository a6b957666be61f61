"""Curves of the page: how models learned, small, a drawing for each table: means over seeds of the losses."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench.leaderboards.even_points import even_points
from bench.leaderboards.sections.axes import Axis, ticks
from bench.leaderboards.sections.markup import escaped, folded, link, section, table_anchor

__all__ = ["curves_section"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 320, 150, 34, 20, 8, 8
POINTS = 7
"""Of a line, at most; its steps are evenly picked."""
TABLES = 6
"""At most so many are drawn; with scripts, each table has its own curves below it."""
COLOURS = 8
"""Colours of the page's style, `c0` to `c7`; further methods get dashed lines in the same colours."""
Line = Sequence[tuple[float, float]]


def curves_section(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return a folded section with a drawing for each of the first tables that have curves; nothing where none has."""
    every = [table for table in tables if _lines(table)]
    if not every:
        return ""
    numbers: dict[str, int] = {}
    figures = [_figure(table, numbers) for table in every[:TABLES]]
    said = (
        "<p class=soft>Loss by step, mean over seeds: on the validation split where it was measured, else of training. "
        "A line is a row; rows of one method have its colour. Losses of different objectives are not on one scale.</p>"
    )
    keys = []
    for name, number in numbers.items():
        keys.append(f"<span class='key {line_style(number)}'><span class=swatch></span>{escaped(name)}</span>")
    body = f"{said}<div class=legend>{''.join(keys)}</div><div class=small-multiples>{''.join(figures)}</div>"
    body += _not_drawn(every)
    return section("curves", "Training and validation curves", [folded(f"{len(figures)} drawings", body)])


def _not_drawn(tables: Sequence[Mapping[str, Any]]) -> str:
    """Say which tables have no drawing, and which rows no line in theirs.

    Args:
        tables: those that have curves, in the order of the page.
    """
    said = []
    if tables[TABLES:]:
        names = ", ".join(link(table_anchor(table["id"]), escaped(table["name"])) for table in tables[TABLES:])
        said.append(f"Drawn are the first {TABLES} tables with curves; not drawn: {names}.")
    for table in tables[:TABLES]:
        if rows := _rows_without_line(table):
            why = f"no {_kind(table)} loss at two steps was stored"
            said.append(f"{escaped(table['name'])}: without a line, since {why}: {escaped(', '.join(rows))}.")
    return "".join(f"<p class=soft>{line}</p>" for line in said)


def _rows_without_line(table: Mapping[str, Any]) -> list[str]:
    """Return the labels of rows that have a curve of a training, and none of the loss that is drawn."""
    labels = {row["id"]: row["label"] for row in table["methods"]}
    drawn = _lines(table)
    return [
        labels.get(name, name) for name in dict.fromkeys(curve["id"] for curve in table["curves"]) if name not in drawn
    ]


def _figure(table: Mapping[str, Any], numbers: dict[str, int]) -> str:
    """Return the drawing of one table.

    Args:
        table: of a board.
        numbers: of methods, for their colours; new ones are added.
    """
    methods = {row["id"]: row["method"] for row in table["methods"]}
    lines = []
    for name, line in _lines(table).items():
        method = methods.get(name, name)
        lines.append((numbers.setdefault(method, len(numbers)), line))
    kind = _kind(table)
    head = f"{link(table_anchor(table['id']), escaped(table['name']))}, {kind} loss"
    return f"<figure><figcaption>{head}</figcaption>{_drawn(lines, kind)}</figure>"


def _kind(table: Mapping[str, Any]) -> str:
    """Return which loss is drawn of a table."""
    if any("validation" in curve for curve in table["curves"]):
        return "validation"
    return "training"


def _lines(table: Mapping[str, Any]) -> dict[str, Line]:
    """Return a line for each row of a table: at every step the mean of the seeds that have it."""
    part = {"validation": "validation", "training": "points"}[_kind(table)]
    values: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for curve in table["curves"]:
        for step, loss in curve.get(part, ()):
            values[curve["id"]][step].append(loss)
    lines: dict[str, Line] = {}
    for name, by_step in values.items():
        points = [(step, statistics.fmean(losses)) for step, losses in sorted(by_step.items())]
        if len(points) > 1:
            lines[name] = even_points(points, POINTS)
    return lines


def _drawn(lines: Sequence[tuple[int, Line]], kind: str) -> str:
    """Return lines, each with the number of its colour, in a frame with a few numbers."""
    steps = [step for _, line in lines for step, _ in line]
    losses = [loss for _, line in lines for _, loss in line]
    across = Axis(0, max(steps), LEFT, WIDTH - RIGHT)
    upwards = Axis.around(losses, HEIGHT - BOTTOM, TOP)
    parts = []
    for tick in ticks(upwards.low, upwards.high, 3):
        y = round(upwards.at(tick))
        parts.append(f"<path class=rule d='M{LEFT} {y}H{WIDTH - RIGHT}'/>")
        parts.append(f"<text x={LEFT - 5} y={y + 4} text-anchor=end>{tick:g}</text>")
    parts.append(f"<text x={WIDTH - RIGHT} y={HEIGHT - 5} text-anchor=end>{max(steps):g} steps</text>")
    for number, line in lines:
        points = [(round(across.at(step)), round(upwards.at(loss))) for step, loss in line]
        parts.append(line_through(f"curve {line_style(number)}", points))
    said = f"{kind} loss by step of {len(lines)} rows"
    return f"<svg class=curves viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{said}'>{''.join(parts)}</svg>"


def line_style(number: int) -> str:
    """Return the classes of a method's line.

    >>> line_style(1), line_style(9)
    ('c1', 'c1 dashed')
    """
    style = f"c{number % COLOURS}"
    if number >= COLOURS:
        style += " dashed"
    return style


def line_through(style: str, points: Sequence[tuple[int, int]]) -> str:
    """Return a path through two or more places, each written as its distance to the one before, which is short.

    >>> line_through("curve c0", [(37, 54), (84, 119), (131, 110)])
    "<path class='curve c0' d='M37 54l47 65 47-9'/>"
    """
    steps = [f"{x - x0} {y - y0}" for (x0, y0), (x, y) in pairwise(points)]
    start = f"M{points[0][0]} {points[0][1]}"
    path = f"{start}l{' '.join(steps)}".replace(" -", "-")
    return f"<path class='{style}' d='{path}'/>"
