"""Pictures of a board, drawn by matplotlib: intervals, curves, and one metric against another.

The title of a picture names its table, with the watermark. The same numbers give the same SVG, byte for
byte. matplotlib is imported when the first picture is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.files import write_atomic
from bench.base.redaction import one_line
from bench.errors import MissingError, UsageError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Colours that most colour-blind readers can tell apart (Okabe and Ito 2008)."""
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE = {
    "svg.hashsalt": "objective-bench",  # ids of marks are the same at each drawing
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a name with dollar signs is a name
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 8,
}
WIDTH, LINE, BETWEEN = 6.0, 0.24, 1.0
"""Width of a panel, height of a row or a line of a legend, and space for the texts between two panels, in inches."""
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
"""The place of a legend: to the right of its panel."""


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure with its SVG; a notebook shows it."""

    figure: Figure

    @property
    def svg(self) -> str:
        """The SVG, which is the same for the same numbers."""
        with drawing():
            buffer = io.StringIO()
            self.figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, in place of an older one; return where. `figure.savefig` writes other formats."""
        write_atomic(Path(path), self.svg.encode(), replace=True)
        return Path(path)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw inside with the style of all pictures.

    Raises:
        MissingError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingError(
            f"pictures need matplotlib, which cannot be imported ({error}); pip install 'objective-bench[pictures]'"
        ) from error
    with mpl.rc_context(STYLE):
        yield


def new_figure(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels below each other, of these heights in inches. It belongs to no window.

    Panels fill it. When it is saved, it grows until every label and legend is inside.
    """
    from matplotlib.figure import Figure

    total = sum(heights) + BETWEEN * len(heights)
    figure, top, axes = Figure(figsize=(WIDTH, total)), total, []
    for height in heights:
        top -= height + BETWEEN
        axes.append(figure.add_axes((0, top / total, 1, height / total)))
    return figure, axes


def style_of(place: int) -> dict[str, Any]:
    """Return colour and dashes of the method at a place; dashes change where colours are used up."""
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place // len(COLOURS) % len(DASHES)]}


def draw(kind: str, content: Mapping[str, Any], data: Any, options: Mapping[str, Any]) -> Picture:
    """Return a picture of a kind; see `Board.plot`.

    Args:
        kind: of `KINDS`.
        content: of a board.
        data: of the kind `curves` the frame of its points, otherwise None.
        options: those of the kind.

    Raises:
        UsageError: there is no such kind, or nothing to draw.
        TypeError: the kind has no such option.
        MissingError: matplotlib is not installed.
    """
    if kind not in KINDS:
        raise UsageError(f"no plot '{kind}'{did_you_mean(kind, KINDS)}")
    with drawing():
        return Picture(KINDS[kind](content, data, **options))


# Intervals ---------------------------------------------------------------------------------------------------------


def _intervals(content: Mapping[str, Any], data: None, metric: str = "") -> Figure:
    """Draw each row's mean of a metric with its 95 % interval over seeds and its seeds, a panel for each table."""
    panels = []
    for table in content["tables"]:
        column = _column(table, metric)
        rows = [row for row in table["methods"] if _mean(row, column) is not None]
        if rows:
            panels.append((table, column, sorted(rows, key=lambda row: float(row["values"][column]["mean"]))))
    if not panels:
        raise _nothing(content, metric)
    figure, axes = new_figure([LINE * (len(rows) + 1) for _, _, rows in panels])
    for ax, (table, column, rows) in zip(axes, panels, strict=True):
        for place, row in enumerate(rows):
            value = row["values"][column]
            seeds = list(value["by_seed"].values())
            ax.plot(seeds, [place] * len(seeds), "|", color="#bbbbbb")
            ax.errorbar(value["mean"], place, xerr=value["half"] or None, fmt="o", color=COLOURS[0], markersize=4)
        ax.set_yticks(range(len(rows)), [one_line(row["label"]) for row in rows])
        ax.invert_yaxis()
        ax.set_title(_title(table))
        ax.set_xlabel(f"{_named(table, column)}; 95 % intervals and seeds")
    return figure


# One metric against another ----------------------------------------------------------------------------------------


def _tradeoff(content: Mapping[str, Any], data: None, x: str = "", y: str = "") -> Figure:
    """Draw one metric against another, a point for each method and decoding of the first table that has both."""
    if not x or not y:
        raise UsageError("a plot 'tradeoff' should name two metrics: plot('tradeoff', x='self-bleu-2', y='kld')")
    for table in content["tables"]:
        names = _column(table, x), _column(table, y)
        rows = [row for row in table["methods"] if None not in (_mean(row, names[0]), _mean(row, names[1]))]
        if rows:
            return _points(table, names, rows)
    for metric in (x, y):
        if not any(_column(table, metric) for table in content["tables"]):
            raise _nothing(content, metric)
    raise UsageError(f"no table of the board has values of both '{x}' and '{y}'")


def _points(table: Mapping[str, Any], names: tuple[str, str], rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the points: a colour for each trained model, whose decodings a line joins, and a mark for each decoding."""
    models: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        settings = ", ".join(part for part in row["settings"].split(", ") if part != row["decoding"])
        models.setdefault((row["method"], settings, *row["cells"]), []).append(row)
    decodings = list(dict.fromkeys(row["decoding"] for row in rows))
    figure, (ax,) = new_figure([max(4.0, LINE * (len(models) + len(decodings)))])
    for place, (model, points) in enumerate(models.items()):
        style = style_of(place)
        means = sorted([row["values"][name]["mean"] for name in names] for row in points)
        ax.plot(*zip(*means, strict=True), **style, linewidth=0.8, label=_method_name(model[0], model[1]))
        for row in points:
            across, upwards = (row["values"][name] for name in names)
            ends: dict[str, Any] = {"xerr": across["half"] or None, "yerr": upwards["half"] or None}
            mark = MARKERS[decodings.index(row["decoding"]) % len(MARKERS)]
            ax.errorbar(across["mean"], upwards["mean"], **ends, fmt=mark, color=style["color"], elinewidth=0.5)
    for place, decoding in enumerate(decodings if len(decodings) > 1 else ()):
        ax.plot([], [], MARKERS[place % len(MARKERS)], color="#999999", label=one_line(decoding or "of the method"))
    ax.set_title(_title(table))
    ax.set_xlabel(f"{_named(table, names[0])}; 95 % intervals over seeds")
    ax.set_ylabel(_named(table, names[1]))
    ax.legend(**BESIDE)
    return figure


# Curves ------------------------------------------------------------------------------------------------------------


def _curves(content: Mapping[str, Any], data: pd.DataFrame, quantity: str = "") -> Figure:
    """Draw a quantity over the steps of training: a panel for each task, a line for each seed of a method."""
    known = sorted(set(data["quantity"]))
    if not quantity:
        quantity = "validation/loss" if "validation/loss" in known else "train/loss"
    if quantity not in known:
        raise UsageError(f"the board has no curve '{quantity}'{did_you_mean(quantity, known)}")
    tasks = list(data[data["quantity"] == quantity].groupby("task", sort=False))
    methods = [points.groupby(["method", "settings"], sort=False) for _, points in tasks]
    marks = {table["task"]: table for table in content["tables"]}
    figure, axes = new_figure([max(3.0, LINE * len(of_task)) for of_task in methods])
    for ax, (task, _), of_task in zip(axes, tasks, methods, strict=True):
        for place, (names, points) in enumerate(of_task):
            for number, (_, line) in enumerate(points.groupby("seed", sort=False)):
                line = line.sort_values("step", kind="stable")
                label = "" if number else _method_name(*names)
                ax.plot(line["step"].tolist(), line["value"].tolist(), **style_of(place), linewidth=1, label=label)
        ax.set_title(_title(marks[task]) if task in marks else one_line(task))
        ax.set_xlabel("step")
        ax.set_ylabel(one_line(quantity))
        ax.legend(**BESIDE)
    return figure


# Shared parts ------------------------------------------------------------------------------------------------------


def _column(table: Mapping[str, Any], metric: str) -> str:
    """Return the column of a metric, by default the first that is shown; empty where there is none."""
    for column in table["columns"]:
        if metric == column["name"] or (not metric and column["shown"]):
            return str(column["name"])
    return ""


def _mean(row: Mapping[str, Any], column: str) -> float | None:
    mean: float | None = row["values"].get(column, {"mean": None})["mean"]
    return mean


def _method_name(method: str, settings: str) -> str:
    """Return a method with the settings that tell its rows apart."""
    return one_line(f"{method} ({settings})" if settings else method)


def _title(table: Mapping[str, Any]) -> str:
    """Return the title of a table, with its watermark."""
    mark = f"\nnot comparable with published numbers: {table['watermark']}" if table["watermark"] else ""
    return one_line(table["title"]) + "\n".join(map(one_line, mark.split("\n")))


def _named(table: Mapping[str, Any], column: str) -> str:
    """Return a column's name and which way is better."""
    better = {each["name"]: each["higher_is_better"] for each in table["columns"]}[column]
    return one_line(column) + {None: "", True: " (higher is better)", False: " (lower is better)"}[better]


def _nothing(content: Mapping[str, Any], metric: str) -> UsageError:
    names = {column["name"] for table in content["tables"] for column in table["columns"]}
    return UsageError(f"the board has no values of '{metric}'{did_you_mean(metric, names)}")


KINDS: Mapping[str, Callable[..., Figure]] = {
    "intervals": _intervals,
    "tradeoff": _tradeoff,
    "curves": _curves,
}
