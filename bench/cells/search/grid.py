"""Grid: a search over typed values, the same for every method; the only one that tries a method's own options."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.cells.search.search import Search, method_options
from bench.config.config import VALIDATED, CellConfig, override
from bench.config.resolve import Method
from bench.errors import UsageError


@dataclass(frozen=True)
class Grid(Search):
    """Every combination of typed values, on every seed.

    Args:
        axes: `section.name=value,value`, one each.

    Raises:
        UsageError: for an axis without values, or given twice.
    """

    axes: tuple[str, ...]

    def __post_init__(self) -> None:
        combinations(self.axes)

    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return every combination, whatever the method."""
        return combinations(self.axes)

    def examples(self) -> tuple[str, ...]:
        """Return the first combination."""
        return combinations(self.axes)[0]

    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return the axes, and what was picked by."""
        content: dict[str, Any] = {
            "axes": list(self.axes),
            "by": "negative log-likelihood per target token on the validation split, mean over seeds",
        }
        select = config.trainer.select
        if method_options(self.examples()) and select and select not in VALIDATED:
            content["method_options_by"] = select
        return content


def combinations(axes: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every combination of a grid as `--set` texts.

    >>> combinations(["optim.lr=1e-5,3e-5", "method.alpha=1"])
    [('optim.lr=1e-5', 'method.alpha=1'), ('optim.lr=3e-5', 'method.alpha=1')]

    Raises:
        UsageError: for an axis without values, or given twice.
    """
    sets_of: dict[str, list[str]] = {}
    for axis in axes:
        name, _, values = axis.partition("=")
        if override(name, values).section == "execution":  # refuses what is no section.name
            raise UsageError(f"--grid tries settings that change results; '{name}' changes none: give it to --set")
        sets = [f"{name}={value.strip()}" for value in values.split(",") if value.strip()]
        if not sets:
            raise UsageError(f"--grid takes section.name=value,value, not '{axis}'")
        if name in sets_of:
            raise UsageError(f"--grid has '{name}' twice; give all its values at once, with commas")
        sets_of[name] = sets
    return list(itertools.product(*sets_of.values()))
