"""Plots of a board: a metric with its intervals, two metrics against each other, and training curves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.board.svg import COLOURS, Axis, Canvas, Drawing
from bench.errors import UsageError, did_you_mean

__all__ = ["KINDS", "plot"]

WIDTH, LINE, LEFT, PANEL = 720, 22, 240, 320
DASHES = ("", "6 3", "2 2")
"""Styles of lines, one after another where colours are used up."""
UP, DOWN = "higher is better", "lower is better"


def plot(content: Mapping[str, Any], curves: Sequence[Mapping[str, Any]], kind: str, options: Mapping[str, Any]) -> Any:
    """Return the drawing of a kind; see `Board.plot`.

    Raises:
        UsageError: there is no such kind or option, or nothing to draw.
    """
    if kind not in KINDS:
        raise UsageError(f"no plot '{kind}'{did_you_mean(kind, KINDS)}")
    for name in options:
        known = list(inspect.signature(KINDS[kind]).parameters)[1:]
        if name not in known:
            raise UsageError(f"the plot '{kind}' has no option '{name}'{did_you_mean(name, known)}")
    if kind == "curves":
        return _curves(curves, **options)
    return KINDS[kind](content, **options)


def _intervals(content: Mapping[str, Any], metric: str = "") -> Drawing:
    """Draw each row's mean of a metric and its 95 % interval over seeds, a block for each table."""
    blocks = []
    for table in content["tables"]:
        column = _column(table, metric)
        rows = [row for row in table["methods"] if _mean(row, column) is not None]
        if rows:
            blocks.append((table, column, _sorted(rows, column)))
    if not blocks:
        raise _nothing(content, metric)
    canvas = Canvas(WIDTH, sum(80 + LINE * len(rows) for _, _, rows in blocks) + 20)
    top = 20.0
    for table, column, rows in blocks:
        top = _block(canvas, top, table, column, rows)
    return canvas.drawing("means and intervals over seeds")


def _sorted(rows: Sequence[Mapping[str, Any]], column: str) -> list[Mapping[str, Any]]:
    """Return rows by their mean of a column."""
    return sorted(rows, key=lambda row: float(row["values"][column]["mean"]))


def _block(
    canvas: Canvas, top: float, table: Mapping[str, Any], column: str, rows: Sequence[Mapping[str, Any]]
) -> float:
    """Draw the rows of one table below a place; return where it ends."""
    canvas.text(10, top, f"{table['title']} · {_named(table, column)}", bold=True)
    canvas.text(10, top + 15, _mark(table), size=10)
    ends = []
    for row in rows:
        value = row["values"][column]
        half = value["half"] or 0.0
        ends += [value["mean"] - half, value["mean"] + half]
    axis = Axis.around(ends, LEFT, WIDTH - 20)
    y = top + 35
    for row in rows:
        value = row["values"][column]
        canvas.text(LEFT - 10, y + 4, row["label"], anchor="end")
        if value["half"] is not None:
            canvas.line([(axis.at(value["mean"] - value["half"]), y), (axis.at(value["mean"] + value["half"]), y)])
        title = f"{row['label']}: {value['text']}, {value['n_seeds']} seeds"
        canvas.dot(axis.at(value["mean"]), y, COLOURS[0], title)
        y += LINE
    canvas.across(axis, y - 8)
    return y + 45


def _tradeoff(content: Mapping[str, Any], x: str = "", y: str = "") -> Drawing:
    """Draw one metric against another, a dot for each row of the first table that has both."""
    if not x or not y:
        raise UsageError("a plot 'tradeoff' should name two metrics: plot('tradeoff', x='self-bleu-2', y='kld')")
    for table in content["tables"]:
        names = _column(table, x), _column(table, y)
        rows = [row for row in table["methods"] if None not in (_mean(row, names[0]), _mean(row, names[1]))]
        if rows:
            return _dots(table, names, rows)
    for metric in (x, y):
        if not any(_column(table, metric) for table in content["tables"]):
            raise _nothing(content, metric)
    raise UsageError(f"no table of the board has values of both '{x}' and '{y}'")


def _dots(table: Mapping[str, Any], names: tuple[str, str], rows: Sequence[Mapping[str, Any]]) -> Drawing:
    canvas = Canvas(WIDTH, 460)
    canvas.text(10, 20, table["title"], bold=True)
    canvas.text(10, 35, _mark(table), size=10)
    across = Axis.around([row["values"][names[0]]["mean"] for row in rows], 70, WIDTH - 140)
    upwards = Axis.around([row["values"][names[1]]["mean"] for row in rows], 400, 60)
    canvas.across(across, 400)
    canvas.upwards(upwards, 70)
    canvas.text((70 + WIDTH - 140) / 2, 440, _named(table, names[0]), anchor="middle")
    canvas.text(70, 52, _named(table, names[1]))
    for number, row in enumerate(rows):
        place = across.at(row["values"][names[0]]["mean"]), upwards.at(row["values"][names[1]]["mean"])
        canvas.dot(*place, COLOURS[number % len(COLOURS)], row["label"])
        canvas.text(place[0] + 7, place[1] + 4, row["label"], size=11)
    return canvas.drawing(f"{names[1]} against {names[0]}")


def _curves(points: Sequence[Mapping[str, Any]], quantity: str = "train/loss") -> Drawing:
    """Draw a quantity over the steps of training: a panel for each task, a line for each seed, a style for a method."""
    known = sorted({point["quantity"] for point in points})
    if quantity not in known:
        raise UsageError(f"the board has no curve '{quantity}'{did_you_mean(quantity, known)}")
    panels: dict[str, dict[str, dict[Any, list[tuple[float, float]]]]] = {}
    for point in points:
        if point["quantity"] == quantity:
            lines = panels.setdefault(point["task"], {}).setdefault(_learner(point), {})
            lines.setdefault(point["seed"], []).append((point["step"], point["value"]))
    heights = [max(PANEL, 60 + LINE * len(learners)) for learners in panels.values()]
    canvas = Canvas(WIDTH, sum(heights))
    top = 0.0
    for (task, learners), height in zip(panels.items(), heights, strict=True):
        _panel(canvas, top, f"{task} · {quantity}", learners)
        top += height
    return canvas.drawing(f"{quantity} by step")


def _learner(point: Mapping[str, Any]) -> str:
    """Return what a line is of: method, and settings where rows of it differ in them."""
    if point["settings"]:
        return f"{point['method']} ({point['settings']})"
    return str(point["method"])


def _panel(
    canvas: Canvas, top: float, title: str, learners: Mapping[str, Mapping[Any, Sequence[tuple[float, float]]]]
) -> None:
    """Draw the curves of one task below a place."""
    places = [place for lines in learners.values() for line in lines.values() for place in line]
    across = Axis.around([step for step, _ in places], 70, WIDTH - 200)
    upwards = Axis.around([value for _, value in places], top + PANEL - 50, top + 35)
    canvas.text(10, top + 20, title, bold=True)
    canvas.across(across, top + PANEL - 50)
    canvas.upwards(upwards, 70)
    canvas.text((70 + WIDTH - 200) / 2, top + PANEL - 14, "step", anchor="middle")
    for number, (name, lines) in enumerate(learners.items()):
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
        for line in lines.values():
            drawn = [(across.at(step), upwards.at(value)) for step, value in sorted(line)]
            canvas.line(drawn, colour, 1.5, dashes)
        y = top + 44 + LINE * number
        canvas.line([(WIDTH - 190, y - 4), (WIDTH - 168, y - 4)], colour, 2.5, dashes)
        canvas.text(WIDTH - 162, y, name, size=11)


def _column(table: Mapping[str, Any], metric: str) -> str:
    """Return the column of a metric, by default the first that is shown; empty where there is none."""
    for column in table["columns"]:
        if metric == column["name"] or (not metric and column["shown"]):
            return str(column["name"])
    return ""


def _mean(row: Mapping[str, Any], column: str) -> float | None:
    if column not in row["values"]:
        return None
    mean: float | None = row["values"][column]["mean"]
    return mean


def _named(table: Mapping[str, Any], column: str) -> str:
    """Return a column's name and which way is better."""
    directions = {each["name"]: each["higher_is_better"] for each in table["columns"]}
    if directions[column] is None:
        return column
    return f"{column} ({UP if directions[column] else DOWN})"


def _mark(table: Mapping[str, Any]) -> str:
    if not table["watermark"]:
        return ""
    return f"not comparable with published numbers: {table['watermark']}"


def _nothing(content: Mapping[str, Any], metric: str) -> UsageError:
    names = {column["name"] for table in content["tables"] for column in table["columns"]}
    return UsageError(f"the board has no values of '{metric}'{did_you_mean(metric, names)}")


KINDS: Mapping[str, Callable[..., Drawing]] = {"intervals": _intervals, "tradeoff": _tradeoff, "curves": _curves}
