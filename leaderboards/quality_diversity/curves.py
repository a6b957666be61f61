"""Curves: the points that one model reaches under its decoders, and the best of them as a front.

A setting is on the front if no other setting of the same model is as good in both columns and better in one. That is
decided by means over seeds, so that the noise of one seed does not choose. The front of a seed goes through the points
that this seed has under these settings; between them it is a straight line, and beyond them there is nothing.

Decoders move a perplexity by factors, from 20 to 900 for one model. So its logarithm, nats a token, is on the axes.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bench.leaderboards.quality_diversity.conditions import Conditions
from bench.leaderboards.quality_diversity.decoders import FAMILIES
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.tradeoff import Curve, curve
from bench.leaderboards.table import metric_name

__all__ = ["Axes", "Model", "Points", "Reached", "axis_name", "columns_of", "reached"]

LOGARITHMS = ("sample-ppl",)
"""Metrics whose logarithm stands on the axes."""

Point = tuple[float, float]
Points = Mapping[str, Mapping[int, Point]]
"""Setting -> seed -> (x, y)."""


@dataclass(frozen=True)
class Axes:
    """Two columns: models are compared in `column` where they are equal `at` the other."""

    at: str
    column: str


@dataclass(frozen=True)
class Model:
    """The rows of one method on one backbone under several settings.

    Args:
        method: its name.
        rows: by setting.
        conditions: how it was trained and evaluated, the same for all rows.
    """

    method: str
    rows: Mapping[str, TableRow]
    conditions: Conditions = Conditions()

    def value(self, setting: str, column: str) -> Value | None:
        """Return the value of a column under a setting; None without one, or where a seed has unlike numbers."""
        value = self.rows[setting].values.get(column)
        if value is None or value.conflict or not value.by_seed:
            return None
        return value


@dataclass(frozen=True)
class Reached:
    """What a model reaches in two columns.

    Args:
        points: of each setting, for all seeds.
        x_sign, y_sign: 1 where a higher value is better, -1 where a lower is.
    """

    points: Points
    x_sign: int
    y_sign: int

    @property
    def seeds(self) -> list[int]:
        """The seeds, which every setting has."""
        for by_seed in self.points.values():
            return sorted(by_seed)
        return []

    def only(self, settings: Iterable[str]) -> Reached:
        """Return the same with some of its settings."""
        wanted = set(settings)
        return replace(self, points={name: some for name, some in self.points.items() if name in wanted})

    def at_seeds(self, seeds: Iterable[int]) -> Reached:
        """Return the same with some of its seeds."""
        wanted = sorted(seeds)
        points = {}
        for name, some in self.points.items():
            points[name] = {seed: some[seed] for seed in wanted}
        return replace(self, points=points)

    @cached_property
    def front(self) -> list[str]:
        """The settings that no other one beats, by means over seeds, in the order they stand in."""
        means = {name: _mean(some.values()) for name, some in self.points.items()}
        return [name for name, mean in means.items() if not self._beaten(mean, means.values())]

    def curves(self) -> dict[int, Curve]:
        """Return the front of each seed."""
        found = {}
        for seed in self.seeds:
            found[seed] = curve(self.points[name][seed] for name in self.front)
        return found

    def families(self) -> list[str]:
        """Return the families of decoders whose settings are all there."""
        return [family for family, settings in FAMILIES.items() if set(settings) <= set(self.points)]

    def _beaten(self, mean: Point, means: Iterable[Point]) -> bool:
        """Return whether some point beats another."""
        return any(self._beats(other, mean) for other in means)

    def _beats(self, one: Point, other: Point) -> bool:
        """Return whether a point is as good as another in both columns and better in one."""
        x, y = self.x_sign * (one[0] - other[0]), self.y_sign * (one[1] - other[1])
        return x >= 0 and y >= 0 and (x > 0 or y > 0)


def columns_of(axes: Axes, rows: Iterable[TableRow]) -> Axes:
    """Return the columns of two metrics that most rows have; a metric with several signatures has several columns."""
    counts = Counter(column for row in rows for column in row.values)
    names = []
    for metric in (axes.at, axes.column):
        alike = sorted(column for column in counts if metric_name(column) == metric)
        names.append(max(alike, key=lambda column: counts[column], default=metric))
    return Axes(names[0], names[1])


def reached(model: Model, axes: Axes) -> Reached:
    """Return what a model reaches in two columns, for the seeds that all its settings have.

    Settings without a value in both columns are left out.

    Raises:
        ValueError: neither way is better in one of the columns.
    """
    points: dict[str, dict[int, Point]] = {}
    signs: set[tuple[int, int]] = set()
    for setting in model.rows:
        x, y = model.value(setting, axes.at), model.value(setting, axes.column)
        if x is None or y is None:
            continue
        signs.add((_sign(x, axes.at), _sign(y, axes.column)))
        xs, ys = _numbers(x, axes.at), _numbers(y, axes.column)
        points[setting] = {seed: (xs[seed], ys[seed]) for seed in xs if seed in ys}
    if not points:
        return Reached({}, 1, 1)
    ((x_sign, y_sign),) = signs
    shared = set.intersection(*(set(some) for some in points.values()))
    return Reached(points, x_sign, y_sign).at_seeds(shared)


def axis_name(metric: str) -> str:
    """Return what an axis is called.

    >>> axis_name("sample-ppl"), axis_name("self-bleu-2")
    ('log sample-ppl', 'self-bleu-2')
    """
    if metric in LOGARITHMS:
        return f"log {metric}"
    return metric


def _numbers(value: Value, column: str) -> Mapping[int, float]:
    """Return the numbers of a column on an axis, by seed."""
    if metric_name(column) in LOGARITHMS:
        return {seed: math.log(number) for seed, number in value.by_seed.items()}
    return value.by_seed


def _sign(value: Value, column: str) -> int:
    if value.higher_is_better is None:
        raise ValueError(f"expected a column of which one way is better, got '{column}'; choose another for the axes")
    if value.higher_is_better:
        return 1
    return -1


def _mean(points: Iterable[Point]) -> Point:
    """Return the mean of points of several seeds; without a seed it is no number and beats nothing."""
    some: Sequence[Point] = list(points)
    if not some:
        return float("nan"), float("nan")
    return statistics.fmean(x for x, _ in some), statistics.fmean(y for _, y in some)
