"""`python -m tools.pictures`: the pictures of docs/pictures that show kept results.

The first, for README, shows the board `mid` with the numbers of HistAlign's Table 1; `make boards` draws it, too. The
others are the top of the page on a wide screen and on a phone, light and dark; they need a Chromium on the PATH.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import bench
from bench.leaderboards.published.papers import paper_table
from tests.leaderboards.chromium import Chromium, installed
from tools.regenerate import PAGE, RUNS
from tools.svg import COLOURS, drawing, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
SCREENS = {1280: 640, 400: 800}
"""Widths of screens with their heights, in CSS pixels."""
METHODS = ("mle.untrained", "mle", "trime.released", "histalign.released", "trime", "histalign")
PANELS = {"acc@2/cache": "cache alone", "acc@2/full": "whole prediction", "forgetting/nll": "forgetting"}
OF_PANEL = {"acc@2/cache": "Acc@2 (%)", "acc@2/full": "Acc@2 (%)", "forgetting/nll": "NLL on WikiText-103 (nats)"}
BASELINE = "gpt2"
"""The backbone of the paper whose numbers are drawn: GPT-2 small is the nearest in size."""


def main() -> None:
    """Draw all.

    Raises:
        SystemExit: there is no Chromium.
    """
    (FOLDER / "board.svg").write_text(svg_of(board_picture()), encoding="utf-8")
    program = installed()
    if program is None:
        raise SystemExit("expected a Chromium on the PATH to draw the page with, found none; install Debian's chromium")
    with tempfile.TemporaryDirectory() as folder:
        browser = Chromium(program, Path(folder))
        for (width, height), colours in itertools.product(SCREENS.items(), ("light", "dark")):
            browser.size(width, height)
            browser.prefers(colours)
            browser.open(PAGE.as_uri())
            picture = browser.screenshot(format="webp", quality=30)
            (FOLDER / f"page-{width}-{colours}.webp").write_bytes(picture)
        browser.close()


def board_picture() -> Figure:
    """Return a panel for each metric with the mean and the 95 % interval of each method, and the paper's numbers."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(8.2, 2.4), layout="constrained")
        panels = figure.subplots(1, len(PANELS), sharey=True)
        for ax, metric in zip(panels, PANELS, strict=True):
            draw_panel(ax, metric)
        panels[0].set_yticks(range(len(METHODS)), METHODS)
        panels[0].invert_yaxis()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def draw_panel(ax: Axes, metric: str) -> None:
    """Draw a metric of every method: ours with its interval, and the paper's where its table has the metric."""
    frame = bench.load(RUNS / "mid").to_pandas()
    frame = frame[frame["task"] == "ambiguous_template"].set_index(["metric", "method"])
    places = range(len(METHODS))
    rows = [frame.loc[(metric, method)] for method in METHODS]
    halves = [row["half"] or 0.0 for row in rows]
    seeds = min(int(row["n_seeds"]) for row in rows)
    label = f"SmolLM2-135M, 150 steps: mean of {seeds} seeds with its 95 % interval"
    style = {"fmt": "o", "color": COLOURS[0], "markersize": 4, "label": label}
    ax.errorbar([row["mean"] for row in rows], places, xerr=halves, **style)
    printed = {
        cell.method: cell.value
        for row in paper_table("histalign/table1").rows
        for cell in row
        if (cell.backbone, cell.metric) == (BASELINE, metric)
    }
    shown = [(printed[method], place) for place, method in enumerate(METHODS) if method in printed]
    if shown:
        values, at = zip(*shown, strict=True)
        ax.plot(values, at, "D", color=COLOURS[1], fillstyle="none", label="GPT-2 small in the paper (Table 1)")
    ax.set_title(PANELS[metric])
    ax.set_xlabel(OF_PANEL[metric])
    ax.set_xlim((-4, 100) if shown else (0, None))  # a share in per cent, or nats
    ax.grid(axis="y", color="#eeeeee")


if __name__ == "__main__":
    main()
