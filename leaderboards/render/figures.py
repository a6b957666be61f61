"""Renderers of a filled figure: JSON content, Markdown and plain text; the drawing is `bench.board.figure_drawing`."""

from __future__ import annotations

from typing import Any

from bench.leaderboards.figures.filled import FilledFigure, FilledPoint
from bench.leaderboards.render.grid import number
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.text.aligned import aligned

__all__ = ["figure_content", "figure_markdown", "figure_text"]


def figure_content(filled: FilledFigure) -> dict[str, Any]:
    """Return a figure for JSON: columns, points with our and the printed numbers, statements, notes."""
    figure = filled.figure
    points = []
    for point in filled.points:
        values = {label: {"mean": v.mean, "half": v.half, "n": v.n} for label, v in point.values.items()}
        points.append(
            {
                "series": point.point.series,
                "at": point.at,
                "task": point.point.task,
                "method": point.point.method,
                "ours": values,
                "printed": printed_of(filled, point.point.series),
                "reason": point.reason,
            }
        )
    statements = []
    for judged in filled.statements:
        said = judged.statement
        statements.append({"says": said.says, "where": said.where, "outcome": judged.outcome, "ours": judged.ours})
    return {
        "address": figure.address,
        "title": figure.title,
        "about": figure.about,
        "printed_as": figure.printed_as,
        "kind": figure.kind,
        "horizontal": figure.horizontal,
        "preset": filled.preset,
        "columns": [{"label": column.label, "metric": column.metric} for column in figure.columns],
        "points": points,
        "statements": statements,
        "notes": list(filled.notes),
        "watermark": filled.watermark,
    }


def printed_of(filled: FilledFigure, series: str) -> dict[str, str]:
    """Return the paper's numbers of a series."""
    for each in filled.figure.series:
        if each.label == series:
            return dict(each.printed)
    return {}


def lines_of(filled: FilledFigure, *, reasons: bool = True) -> list[list[str]]:
    """Return heading and lines: a line for our numbers of each point, one for the paper's where it prints some.

    Args:
        filled: the figure.
        reasons: whether the first cell of a point without numbers says why.
    """
    figure = filled.figure
    lines = [["", figure.horizontal, *(column.label for column in figure.columns)]]
    for label in [series.label for series in figure.series]:
        for point in filled.of_series(label):
            lines.append([f"{label}, ours", _place(point), *_ours(filled, point, reasons)])
        printed = printed_of(filled, label)
        if printed:
            lines.append([f"{label}, printed", "", *(printed.get(column.label, "") for column in figure.columns)])
    if not figure.horizontal:
        lines = [[line[0], *line[2:]] for line in lines]
    return lines


def _place(point: FilledPoint) -> str:
    if point.at is None:
        return ""
    return f"{point.at:g}"


def _reasons(filled: FilledFigure) -> list[str]:
    """Say why points have no numbers."""
    lines = []
    for point in filled.points:
        if point.reason:
            named = " ".join([point.point.series, _place(point)]).rstrip()
            lines.append(f"{named}: {point.reason}")
    return lines


def _ours(filled: FilledFigure, point: FilledPoint, reasons: bool) -> list[str]:
    """Return our numbers of a point as text, or why there are none."""
    if point.reason and reasons:
        return [point.reason, *[""] * (len(filled.figure.columns) - 1)]
    shown = []
    for column in filled.figure.columns:
        value = point.values.get(column.label)
        if value is None:
            shown.append("")
        elif value.half is None:
            shown.append(number(value.mean))
        else:
            shown.append(f"{number(value.mean)} ±{value.half:.2f}")
    return shown


def remarks_of(filled: FilledFigure) -> list[str]:
    """Return what stands under a figure: the paper's statements with ours, and notes."""
    remarks = []
    for judged in filled.statements:
        ours = ""
        if judged.ours:
            ours = f" ({judged.ours})"
        remarks.append(f"{judged.statement.where}: {judged.statement.says}: {judged.outcome}{ours}")
    return [*remarks, *filled.notes, *filter(None, [filled.watermark])]


def figure_markdown(filled: FilledFigure) -> str:
    """Return a figure as Markdown."""
    heading, *lines = [[escaped(cell) for cell in line] for line in lines_of(filled)]
    rows = "\n".join(markdown_table(heading, lines))
    remarks = "\n".join(f"- {escaped(remark)}" for remark in remarks_of(filled))
    figure = filled.figure
    return f"### {figure.address}: {figure.title}\n\n{figure.about}\n\n{rows}\n\n{remarks}\n"


def figure_text(filled: FilledFigure) -> str:
    """Return a figure as plain text for a terminal."""
    figure = filled.figure
    headings, *lines = lines_of(filled, reasons=False)
    said = "\n".join([*aligned(headings, lines), "", *_reasons(filled), *remarks_of(filled)])
    return f"{figure.address} · {figure.title} · preset {filled.preset}\n{figure.about}\n\n{said}\n"
