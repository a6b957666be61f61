"""Charts of the page: effects against the size of the model, and quality against diversity, from a board's content."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.leaderboards.controls import DIVERSITY
from bench.leaderboards.names import short_decoding
from bench.leaderboards.table import metric_name

__all__ = ["WAYS", "charts"]

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 360, 56, 26, 48
"""Of a drawing and of its margins, in its own units."""
WAYS = {True: "higher is better", False: "lower is better", None: "neither way is better"}
Point = tuple[float, float, float | None, float | None, str]
"""Place across and up, ends of the interval, and the text behind it."""


def charts(tables: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the charts that the tables of a board have the numbers for, by kind."""
    tables = list(tables)
    return [
        {
            "id": "sizes",
            "title": "Effect against size",
            "text": "The difference of each method from mle of the same size, paired by seed, with its 95 % interval.",
            "charts": list(filter(None, map(effect_by_size, tables))),
        },
        {
            "id": "tradeoff",
            "title": "Quality against diversity",
            "text": "A point for each method and decoding; a line joins the decodings of one model. Intervals are over "
            "seeds.",
            "charts": list(filter(None, map(quality_by_diversity, tables))),
        },
    ]


def effect_by_size(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the differences from the baseline in quality, by the parameters of the model; None for one size.

    Args:
        table: of a board.
    """
    column, series = _quality(table), dict[str, list[Point]]()
    if column is None:
        return None
    for row in table["methods"]:
        value = row["values"].get(column["name"])
        if value is None or row["parameters"] is None or value["difference"] is None or value["low"] is None:
            continue
        text = f"{row['method']}, {_size(row['parameters'])}: {value['difference']:+.2f}"
        point = (row["parameters"], value["difference"], value["low"], value["high"], text)
        series.setdefault(row["method"], []).append(point)
    several = {name: points for name, points in series.items() if _are_apart([size for size, *_ in points])}
    up = f"{column['name']}: difference from mle ({WAYS[column['higher_is_better']]})"
    return _chart(table, "parameters of the model", up, several, by_size=True) if several else None


def quality_by_diversity(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return quality against the diversity of texts; None where a table has not both for three rows."""
    column = _quality(table)
    across = [each for each in table["columns"] if metric_name(each["name"]) == DIVERSITY]
    if column is None or not across:
        return None
    x, y, series = across[0]["name"], column["name"], dict[str, list[Point]]()
    for row in table["methods"]:
        first, second = (row["values"].get(name) for name in (x, y))
        if first is None or second is None or first["mean"] is None or second["mean"] is None:
            continue
        ends = (None, None)
        if second["half"] is not None:
            ends = (second["mean"] - second["half"], second["mean"] + second["half"])
        text = f"{row['method']} {short_decoding(row['decoding'])}"
        series.setdefault(row["method"], []).append((first["mean"], second["mean"], *ends, text))
    if sum(map(len, series.values())) < 3:
        return None
    return _chart(
        table, f"{x} ({WAYS[across[0]['higher_is_better']]})", f"{y} ({WAYS[column['higher_is_better']]})", series
    )


def _quality(table: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first shown column of quality: neither a perplexity, nor a diversity, nor one without a direction."""
    for column in table["columns"]:
        name = metric_name(column["name"])
        if (
            column["shown"]
            and column["higher_is_better"] is not None
            and not name.startswith("ppl/")
            and name != DIVERSITY
        ):
            return column
    return None


def _chart(
    table: Mapping[str, Any], x: str, y: str, series: Mapping[str, Sequence[Point]], *, by_size: bool = False
) -> dict[str, Any]:
    """Return a chart in the units of its drawing; the axis of sizes is logarithmic."""
    points = [point for of_series in series.values() for point in of_series]
    ups = [value for _, up, low, high, _ in points for value in (up, low, high) if value is not None]
    if by_size:
        ups.append(0.0)
    across, up = (lambda value: math.log(value)) if by_size else (lambda value: value), (min(ups), max(ups))
    ends = (min(across(point[0]) for point in points), max(across(point[0]) for point in points))

    def at_x(value: float) -> int:
        return round(LEFT + 20 + (WIDTH - LEFT - 50) * (across(value) - ends[0]) / ((ends[1] - ends[0]) or 1))

    def at_y(value: float) -> int:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (up[1] - value) / ((up[1] - up[0]) or 1))

    if by_size:
        labels: list[tuple[int, str]] = []
        for size in sorted({point[0] for point in points}):
            if not labels or at_x(size) - labels[-1][0] > LEFT:
                labels.append((at_x(size), _size(size)))
    else:
        labels = [(at_x(value), f"{value:g}") for value in ticks(*ends)]
    drawn = []
    for name, of_series in series.items():
        made = []
        for value, top, low, high, text in sorted(of_series):
            made.append({"x": at_x(value), "y": at_y(top), "text": text})
            if low is not None and high is not None:
                made[-1] |= {"low": at_y(low), "high": at_y(high)}
        drawn.append({"name": name, "points": made})
    return {
        "title": table["name"], "watermark": table["watermark"], "width": WIDTH, "height": HEIGHT, "left": LEFT,
        "x": x, "y": y, "across": labels, "up": [(at_y(value), f"{value:g}") for value in ticks(*up)], "series": drawn,
    }  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """Return four to eight round numbers between two ends.

    >>> ticks(0.3, 4.1), ticks(-12, 71)
    ([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], [0.0, 20.0, 40.0, 60.0])
    """
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = max(power * factor for factor in (1, 2, 2.5, 5) if power * factor <= (high - low) / 4)
    first = math.ceil(low / step)
    return [round(place * step, 10) for place in range(first, math.floor(high / step) + 1)]


def _are_apart(sizes: Sequence[float]) -> bool:
    """Return whether models are of several sizes; methods with heads of their own have a few parameters more."""
    return max(sizes) >= 2 * min(sizes)


def _size(parameters: float) -> str:
    """Return a number of parameters in short."""
    return f"{parameters / 1e6:.3g}M" if parameters >= 1e6 else f"{parameters / 1e3:.0f}k"
