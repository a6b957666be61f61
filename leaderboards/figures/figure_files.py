"""Figure files: one figure of a paper as data (`figures/*.toml`), every name checked.

A figure has columns (our metrics) and series, each a cell of ours at one or more places: `at` lists the places, which
`{at}` stands for in `sets`; `at_tensor` names a tensor of the trained model whose length is the place. `start` names an
earlier series, whose cell `{start}` stands for. Numbers are as the paper prints them; what it only says in words is a
statement, which `kind` makes a comparison of two series (`STATEMENTS`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from bench.base.entries import all_names
from bench.errors import DataError, UsageError, did_you_mean
from bench.leaderboards.published.paper_files import LEVELS, SIGNED, Level
from bench.metrics.columns import direction_of
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

__all__ = ["HUMAN", "STATEMENTS", "Figure", "FigureColumn", "Point", "Series", "Statement", "figures", "read_figure"]

KINDS = ("bars", "lines", "table")
"""How a figure is drawn; a table is not drawn."""
STATEMENTS = {
    "lower": "is lower at every place that both have",
    "higher": "is higher at every place that both have",
    "ratio": "is so many times the other",
    "near": "differs by at most this share of the other",
    "rises to": "rises from place to place, up to that of the other",
    "falls to": "falls from place to place, up to that of the other",
    "not higher beyond": "is nowhere higher than the other at places beyond it",
    "not lower beyond": "is nowhere lower than the other at places beyond it",
    "higher beyond": "is higher than the other at every place beyond it",
}
"""What a statement says of the one series, compared with the other."""
PRINTED = ("ratio", "near")
"""Kinds of statements with a number."""
HUMAN = "human"
"""What stands for a method where people wrote."""


@dataclass(frozen=True)
class FigureColumn:
    """A measure: its label, and the column of ours."""

    label: str
    metric: str


@dataclass(frozen=True)
class Point:
    """One cell of a figure.

    Args:
        series: its label.
        at: its place from left to right; None where it is one for all places, or read from the trained model.
        task, method: ours; `human` for what people wrote.
        sets: settings, `{start}` for the folder of the cell that it starts from.
    """

    series: str
    at: float | None
    task: str
    method: str
    sets: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """What one line, colour of bars or row shows.

    Args:
        label: as the paper has it.
        points: its cells.
        start: label of the series whose cell its cells start from; empty for none.
        at_tensor: tensor of the trained model whose length is its place; empty for none.
        printed: the paper's numbers by column.
    """

    label: str
    points: tuple[Point, ...]
    start: str = ""
    at_tensor: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """What a paper says of a figure.

    Args:
        says: in our words.
        where: in the paper.
        kind: of `STATEMENTS`.
        of, than: labels of two series.
        columns: whose numbers are compared, their sum where there are several.
        printed: the paper's number for `ratio` and `near`; else None.
    """

    says: str
    where: str
    kind: str
    of: str
    than: str
    columns: tuple[str, ...]
    printed: float | None = None


@dataclass(frozen=True)
class Figure:
    """One figure of a paper, or a table of which only a stand-in can be made.

    Args:
        address: its name on the command line.
        title: in a few words.
        about: in sentences.
        printed_as: which numbers the paper prints of it, and how.
        note: what a reader of our numbers must know.
        level: how near ours can come.
        kind: of `KINDS`.
        backbone: of ours at preset paper.
        decoding: as our cells name it.
        horizontal: what the places are, where there are some.
        columns, series, statements: its content.
    """

    address: str
    title: str
    about: str
    printed_as: str
    note: str
    level: Level
    kind: str
    backbone: str
    decoding: str
    horizontal: str
    columns: tuple[FigureColumn, ...]
    series: tuple[Series, ...]
    statements: tuple[Statement, ...]

    @property
    def points(self) -> list[Point]:
        """Every cell, each behind those that it starts from."""
        return [point for series in self.series for point in series.points]


def read_figure(text: str, file: str) -> Figure:
    """Read one figure's file.

    Raises:
        DataError: a name that is not known or a key that is missing; the message says where.
    """
    data = tomllib.loads(text)
    try:
        columns = tuple(FigureColumn(column["label"], column["metric"]) for column in data["columns"])
        series = tuple(_series(data, content) for content in data["series"])
        statements = tuple(_statement(content) for content in data.get("statement", ()))
        figure = Figure(
            address=data["address"],
            title=data["title"],
            about=data["about"],
            printed_as=data["printed_as"],
            note=data["note"],
            level=Level("", data["level"], data["level_why"]),
            kind=data["kind"],
            backbone=data["backbone"],
            decoding=data["decoding"],
            horizontal=data.get("horizontal", ""),
            columns=columns,
            series=series,
            statements=statements,
        )
    except KeyError as error:
        raise DataError(f"{file}: missing {error}") from error
    _check(figure, file)
    return figure


def _series(figure: Mapping[str, Any], content: Mapping[str, Any]) -> Series:
    task, places = content.get("task", figure["task"]), content.get("at", [None])
    points = []
    for at in places:
        sets = tuple(text.replace("{at}", str(at)) for text in content.get("sets", ()))
        points.append(Point(content["label"], at, task, content["method"], sets))
    return Series(
        content["label"],
        tuple(points),
        content.get("start", ""),
        content.get("at_tensor", ""),
        content.get("printed", {}),
    )


def _statement(content: Mapping[str, Any]) -> Statement:
    columns = tuple(content["columns"])
    return Statement(**{**content, "columns": columns})


def _check(figure: Figure, file: str) -> None:
    """Raise DataError for a name that is not known."""
    labels, earlier = [column.label for column in figure.columns], [""]
    _known("kind", [figure.kind], KINDS, file)
    _known("level", [figure.level.level], LEVELS, file)
    _known("backbone", [figure.backbone], BACKBONES, file)
    for column in figure.columns:
        _metric(column.metric, file)
    for series in figure.series:
        where = f"{file}, series '{series.label}'"
        _known("task", [point.task for point in series.points], TASKS, where)
        _known("method", [point.method for point in series.points], [HUMAN, *all_names(METHODS)], where)
        _known("column", series.printed, labels, where)
        _known("series to start from", [series.start], earlier, where)
        earlier.append(series.label)
    for statement in figure.statements:
        where = f"{file}, statement '{statement.says}'"
        _known("kind", [statement.kind], STATEMENTS, where)
        _known("series", [statement.of, statement.than], earlier, where)
        _known("column", statement.columns, labels, where)
        if (statement.printed is not None) != (statement.kind in PRINTED):
            raise DataError(f"{where}: a number is printed for {' and '.join(PRINTED)}, and for no other kind")


def _metric(metric: str, where: str) -> None:
    try:
        direction_of(metric, SIGNED)
    except KeyError as error:
        raise DataError(f"{where}: '{metric}' is no column of our metrics; bench list metrics shows them") from error


def _known(kind: str, names: Iterable[str], known: Iterable[str], where: str) -> None:
    for name in names:
        if name not in known:
            raise DataError(f"{where}: unknown {kind} '{name}'{did_you_mean(name, known)}")


@cache
def figures() -> Mapping[str, Figure]:
    """Return every figure by its address."""
    folder = resources.files("bench.leaderboards").joinpath("figures")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    read = [read_figure(file.read_text(encoding="utf-8"), f"figures/{file.name}") for file in files]
    return {figure.address: figure for figure in read}


def chosen_figures(names: Sequence[str]) -> list[Figure]:
    """Return the figures that are named.

    Raises:
        UsageError: there is none of this name.
    """
    chosen = []
    for name in map(str.lower, names):
        if name not in figures():
            raise UsageError(f"no figure '{name}'{did_you_mean(name, figures())}")
        chosen.append(figures()[name])
    return chosen
