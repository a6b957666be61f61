"""Rates: the search of a ladder, the same two learning rates around its own for every method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.base.space import rounded
from bench.cells.search.search import Search
from bench.cells.search.trials import BY, trained_before
from bench.config.config import CellConfig
from bench.config.resolve import Method

__all__ = ["FACTORS", "Rates", "rate_scale"]

FACTORS = (0.5, 2.0)
"""What the learning rate of a recipe is multiplied with, one trial each."""


@dataclass(frozen=True)
class Rates(Search):
    """Two learning rates of every method, each for a whole training of the first seed.

    So the better trial is the cell of the first seed, and a trial costs one training more.

    Args:
        scale: what the recipe's rates are multiplied with at this size, before the factors.
        factors: one trial each.
    """

    scale: float = 1.0
    factors: tuple[float, ...] = field(default=FACTORS)

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the rates of a method; none for weights that are only read."""
        if not (config.trainer.steps or config.trainer.epochs):
            return []
        rates = [rounded(config.trainer.lr * self.scale * factor) for factor in self.factors]
        return [(f"{method.trained_name}:optim.lr={rate}",) for rate in rates]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return the factors of the recipe's rate and what was chosen by."""
        return {"factors_of_rate": [rounded(self.scale * factor) for factor in self.factors], "by": BY}

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first seed."""
        return seeds[:1]

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose rates its parents have."""
        return trained_before(method)


def rate_scale(width: int, recipe: Mapping[str, Any]) -> float:
    """Return what a recipe's learning rates are multiplied with at a width, before the trials: its own width over it.

    Yang et al. 2022 (Tensor Programs V) have Adam's rate of hidden weights go as 1 / width. Here it is only where the
    trials begin.

    Args:
        width: of the model.
        recipe: of the task.

    >>> rate_scale(320, {"backbone.width": 128})
    0.4
    """
    return float(recipe.get("backbone.width", 128)) / width
