"""Charts of the page: effect against the size of a model, and quality against diversity.

The template draws them as SVG; positions are in the units of the SVG.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.claim.evaluation import number as parameters_text
from bench.leaderboards.controls import DIVERSITY, is_trivial
from bench.leaderboards.row import signed
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.table import metric_name

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 340, 44, 110, 28, 46
LETTER, LINE, RADIUS = 6.5, 12, 4
"""The width of a letter, the height of a line, and the radius of a point."""


@dataclass(frozen=True)
class Point:
    """A value `y` at `x` with its interval, its tooltip, and the name of its method."""

    x: float
    y: float
    low: float
    high: float
    text: str
    name: str


def charts(tables: Sequence[Mapping[str, Any]], sizes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the kinds of charts that tables of a board have the numbers for.

    Args:
        tables: of the board.
        sizes: further tables, for effects by size alone.
    """
    effects = list(filter(None, map(effect_by_size, [*tables, *sizes])))
    tradeoffs = list(filter(None, map(quality_by_diversity, tables)))
    effect = (
        f"The difference of each method from {BASELINE} with the same backbone, paired by seed, with its 95 % "
        "interval. Some methods add parameters to it. A line connects the sizes of a method."
    )
    if sizes:
        effect += (
            " These runs are in no table above: `bench report --results leaderboards/runs/ladder` (or ladder-gigaword) "
            "prints theirs."
        )
    tradeoff = (
        "Each row that is no trivial control, with the 95 % interval of its quality over seeds. Not every point "
        "has a label: point at it for its name."
    )
    kinds = [
        {"id": "sizes", "title": "Effect against size", "text": effect, "charts": effects},
        {"id": "diversity", "title": "Quality against diversity", "text": tradeoff, "charts": tradeoffs},
    ]
    return [kind for kind in kinds if kind["charts"]]


def effect_by_size(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a chart of the differences from the baseline by size of the model; None for a table of one size."""
    column, series, sizes = _quality(table), dict[str, list[Point]](), set[int]()
    for row in table["methods"]:
        value, size = row["values"].get(column), row["parameters"]
        if row["method"] == BASELINE and size:
            sizes.add(size)
        if value and size and value["low"] is not None:
            y = value["difference"], value["low"], value["high"]
            text = f"{row['method']}, {parameters_text(size)}: {signed(y[0])} ({signed(y[1])} to {signed(y[2])})"
            series.setdefault(row["method"], []).append(Point(math.log(size), *y, text, row["method"]))
    lines = [sorted(points, key=lambda point: point.x) for points in series.values()]
    # Some methods add a few parameters to the model, which is no other size.
    lines = [points for points in lines if points[-1].x - points[0].x > math.log(2)]
    if not lines:
        return None
    ticks = [(math.log(size), parameters_text(size)) for size in sorted(sizes)]
    return _chart(table, ("parameters", f"{_with_way(table, column)}: difference from {BASELINE}"), ticks, lines)


def quality_by_diversity(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a chart of quality by diversity of the texts, without trivial controls; None for less than three rows."""
    y, x = _quality(table), next((c["name"] for c in table["columns"] if metric_name(c["name"]) == DIVERSITY), "")
    points = []
    for row in table["methods"] if y and x and y != x else ():
        diversity, quality = (row["values"].get(name) for name in (x, y))
        if diversity and quality and None not in (diversity["mean"], quality["mean"]) and not is_trivial(row["method"]):
            mean, half = quality["mean"], quality["half"] or 0.0
            settings = f" ({row['settings']})" if row["settings"] else ""
            text = f"{row['method']}{settings}: {diversity['text']}, {quality['text']}"
            points.append([Point(diversity["mean"], mean, mean - half, mean + half, text, row["method"])])
    if len(points) < 3:
        return None
    places = [point.x for (point,) in points]
    names = _with_way(table, x), _with_way(table, y)
    return _chart(table, names, [(at, f"{at:g}") for at in _round_numbers(min(places), max(places))], points)


def _quality(table: Mapping[str, Any]) -> str:
    """Return the first shown column with a direction that is neither a perplexity nor the diversity, or nothing."""
    directed = (each["name"] for each in table["columns"] if each["shown"] and each["higher_is_better"] is not None)
    return next((name for name in directed if not name.startswith(("ppl/", DIVERSITY))), "")


def _with_way(table: Mapping[str, Any], name: str) -> str:
    """Return the name of a column with an arrow towards its better values."""
    (column,) = [each for each in table["columns"] if each["name"] == name]
    return name + {True: " ↑", False: " ↓"}.get(column["higher_is_better"], "")


def _chart(
    table: Mapping[str, Any],
    names: tuple[str, str],
    ticks: Sequence[tuple[float, str]],
    lines: Sequence[Sequence[Point]],
) -> dict[str, Any]:
    """Return a chart of lines of points; one line of each method has its name at the last point, if there is room."""
    points = [point for line in lines for point in line]
    left, right = min(point.x for point in points), max(point.x for point in points)
    low, high = min(point.low for point in points), max(point.high for point in points)

    def at_x(x: float) -> int:
        return round(LEFT + 10 + (WIDTH - LEFT - RIGHT) * (x - left) / ((right - left) or 1))

    def at_y(y: float) -> int:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / ((high - low) or 1))

    # Left, upper, right and lower ends of what has been drawn.
    taken: list[tuple[float, float, float, float]] = []
    taken += [(at_x(p.x) - RADIUS, at_y(p.y) - RADIUS, at_x(p.x) + RADIUS, at_y(p.y) + RADIUS) for p in points]
    taken += [(at_x(p.x), at_y(p.high), at_x(p.x), at_y(p.low)) for p in points]
    drawn: list[dict[str, Any]] = []
    named = set[str]()
    for line in lines:
        placed = [{"x": at_x(p.x), "y": at_y(p.y), "text": p.text} for p in line]
        path = "M" + "L".join(f"{p['x']} {p['y']}" for p in placed)  # the line, then the intervals
        path += "".join(f"M{at_x(p.x)} {at_y(p.low)}V{at_y(p.high)}" for p in line)
        drawn.append({"name": "", "points": placed, "path": path})
        x, y, width = at_x(line[-1].x), at_y(line[-1].y), LETTER * len(line[-1].name)
        starts = [x + 7] if line[1:] else [x + 7, x - 7 - width]  # a line comes from the left
        for start, at in ((start, y + shift) for shift in (0, -LINE, LINE) for start in starts):
            box = (start, at - LINE / 2, start + width, at + LINE / 2)
            is_free = all(box[2] < a or c < box[0] or box[3] < b or d < box[1] for a, b, c, d in taken)
            if start > LEFT and box[2] < WIDTH and is_free and line[-1].name not in named:
                end = start if start > x else x - 7
                drawn[-1] |= {"name": line[-1].name, "at": (end, at + 4), "is_right": start > x}
                taken.append(box)
                named.add(line[-1].name)
                break
    return {
        "title": table["name"], "watermark": table["watermark"], "width": WIDTH, "height": HEIGHT, "left": LEFT,
        "names": names, "across": [(at_x(x), text) for x, text in ticks],
        "up": [(at_y(y), f"{y:g}".replace("-", "−")) for y in _round_numbers(low, high)], "lines": drawn,
    }  # fmt: skip


def _round_numbers(low: float, high: float) -> list[float]:
    """Return four to eight round numbers between two ends.

    >>> _round_numbers(0.3, 4.1), _round_numbers(-12, 71)
    ([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], [0.0, 20.0, 40.0, 60.0])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = max(power * factor for factor in (1, 2, 2.5, 5) if power * factor <= (high - low) / 4)
    return [round(place * step, 10) for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
