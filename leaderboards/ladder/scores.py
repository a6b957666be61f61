"""Scores of a ladder: the values of methods on models of growing size, by metric, method and seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Ladder", "Rung"]


@dataclass(frozen=True)
class Rung:
    """The values of one size of model.

    Args:
        name: of the size, such as "0.1M".
        parameters: of the model, without embeddings.
        epochs: of the training text.
        values: by metric, method and seed; finite. A method without a value of a metric is left out there.
        tokens: target tokens that the baseline was trained on, repeated ones counted each time; None where not known.

    Raises:
        ValueError: a size that is not above 0, or a value that is not finite.
    """

    name: str
    parameters: int
    epochs: float
    values: Mapping[str, Mapping[str, Mapping[int, float]]]
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.parameters < 1:
            raise ValueError(f"expected a size above 0 for rung '{self.name}', got {self.parameters}")
        for metric, methods in self.values.items():
            for method, by_seed in methods.items():
                if not all(map(math.isfinite, by_seed.values())):
                    raise ValueError(
                        f"expected finite values of {metric} for {method} on rung '{self.name}', got {dict(by_seed)}; "
                        "leave a diverged seed out"
                    )

    @property
    def tokens_per_parameter(self) -> float | None:
        """The tokens over the parameters."""
        if self.tokens is None:
            return None
        return self.tokens / self.parameters

    def of(self, metric: str) -> Mapping[str, Mapping[int, float]]:
        """Return the values of a metric by method and seed; empty where it has none."""
        return self.values.get(metric, {})

    def means(self, metric: str) -> dict[str, float]:
        """Return each method's mean of a metric over its seeds, by method in the order of their names."""
        found = self.of(metric)
        return {method: statistics.fmean(found[method].values()) for method in sorted(found) if found[method]}


@dataclass(frozen=True)
class Ladder:
    """A task's methods on rungs of growing size.

    Args:
        task: that all rungs train and are scored on.
        baseline: the method that others are compared with.
        rungs: smallest first.
        higher_is_better: of each metric; a metric without a better direction is left out.

    Raises:
        ValueError: rungs that do not grow, or two of one name.
    """

    task: str
    baseline: str
    rungs: tuple[Rung, ...]
    higher_is_better: Mapping[str, bool]

    def __post_init__(self) -> None:
        sizes = [rung.parameters for rung in self.rungs]
        names = [rung.name for rung in self.rungs]
        if sizes != sorted(set(sizes)) or len(set(names)) < len(names):
            raise ValueError(f"expected rungs of growing size with names of their own, got {names} of {sizes}")

    @property
    def metrics(self) -> list[str]:
        """The metrics with a better direction that any rung has, by name."""
        found = {metric for rung in self.rungs for metric in rung.values}
        return sorted(found & set(self.higher_is_better))

    @property
    def methods(self) -> list[str]:
        """The methods that any rung has: the baseline first, then by name."""
        found = {method for rung in self.rungs for methods in rung.values.values() for method in methods}
        return sorted(found, key=lambda method: (method != self.baseline, method))

    def sign(self, metric: str) -> int:
        """Return 1 where a higher value of a metric is better, -1 where a lower one is."""
        if self.higher_is_better[metric]:
            return 1
        return -1

    def rung(self, name: str) -> Rung:
        """Return the rung of a name.

        Raises:
            KeyError: there is none.
        """
        for rung in self.rungs:
            if rung.name == name:
                return rung
        raise KeyError(f"no rung '{name}'; there are {', '.join(rung.name for rung in self.rungs)}")
