"""Space: the settings that a search may give a method, and quasi-random points in it.

A space maps a setting, as typed after `--set`, to its dimension. Points are the first of a Sobol sequence with a random
digital shift and scrambling (Owen 1998), so that a search of more trials begins with those of a search of fewer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.base.keys import key_of
from bench.errors import UsageError

__all__ = ["LEARNING_RATE", "Around", "Choices", "Dimension", "LogUniform", "Space", "Uniform", "points"]

DIGITS = 3
"""Significant digits of a value: what a person would type, and enough for any of these settings."""


class Dimension(ABC):
    """The values that one setting may have."""

    @abstractmethod
    def at(self, share: float, now: Any) -> Any:
        """Return the value at a share of the range.

        Args:
            share: 0 to 1, 1 left out.
            now: the value that the setting has without a search.
        """

    @property
    @abstractmethod
    def text(self) -> str:
        """What it is, for people and records."""


@dataclass(frozen=True)
class Uniform(Dimension):
    """Any number of a range, each as likely.

    >>> Uniform(0, 2).at(0.25, None)
    0.5
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_range(self.low, self.high)

    def at(self, share: float, now: Any) -> float:
        """Return the value at a share of the range."""
        return rounded(self.low + share * (self.high - self.low))

    @property
    def text(self) -> str:
        """What it is."""
        return f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class LogUniform(Dimension):
    """Any number of a range, each order of magnitude as likely.

    >>> LogUniform(1e-5, 1e-3).at(0.5, None)
    0.0001
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        check_range(self.low, self.high)
        if self.low <= 0:
            raise UsageError(f"a logarithmic range begins above 0, not at {self.low}")

    def at(self, share: float, now: Any) -> float:
        """Return the value at a share of the range's logarithm."""
        return rounded(self.low * (self.high / self.low) ** share)

    @property
    def text(self) -> str:
        """What it is."""
        return f"{self.low:g} to {self.high:g}, logarithmic"


@dataclass(frozen=True)
class Around(Dimension):
    """The setting's own value, divided or multiplied by at most a factor; each order of magnitude as likely.

    >>> Around(4).at(0.0, 0.001), Around(4).at(0.5, 0.001)
    (0.00025, 0.001)
    """

    factor: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.factor) or self.factor <= 1:
            raise UsageError(f"a factor around a value is above 1, not {self.factor}")

    def at(self, share: float, now: Any) -> float:
        """Return the value at a share of the range's logarithm."""
        return rounded(float(now) * self.factor ** (2 * share - 1))

    @property
    def text(self) -> str:
        """What it is."""
        return f"its own value, divided or multiplied by at most {self.factor:g}, logarithmic"


@dataclass(frozen=True, init=False)
class Choices(Dimension):
    """One of some values, each as likely.

    >>> Choices("a", "b").at(0.6, None)
    'b'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        if len(set(values)) < 2:
            raise UsageError(f"choices are two different values or more, not {values}")
        object.__setattr__(self, "values", values)

    def at(self, share: float, now: Any) -> Any:
        """Return the choice whose part of the range a share is in."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    @property
    def text(self) -> str:
        """What it is."""
        return "one of " + ", ".join(map(str, self.values))


Space = Mapping[str, Dimension]
"""Dimensions by setting: `optim.lr`, `method.alpha`."""

LEARNING_RATE: Space = {"optim.lr": Around(4)}
"""What a method that declares nothing is tuned over: the learning rate of the recipe, a quarter to four times of it."""


def points(name: str, dimensions: int, number: int) -> list[list[float]]:
    """Return the first points of a method's own sequence, [number][dimensions], each share 0 to 1.

    Args:
        name: of the method; it seeds the scrambling.
        dimensions: of the space.
        number: of points.
    """
    import torch

    seed = int(key_of({"space of": name})[:12], 16)
    engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=seed)
    found: list[list[float]] = engine.draw(number, dtype=torch.float64).tolist()
    return found


def rounded(value: float) -> float:
    """Return a value with `DIGITS` significant digits."""
    return float(f"{value:.{DIGITS}g}")


def check_range(low: float, high: float) -> None:
    """Refuse a range that has no numbers in it.

    Raises:
        UsageError: it ends before it begins, or is not finite.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"a range goes from a number to a larger one, not from {low} to {high}")
