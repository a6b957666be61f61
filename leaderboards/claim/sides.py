"""Sides of a comparison: which rows of a leaderboard a claim means, and the numbers it may compare them with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from bench.leaderboards.row import TableRow

__all__ = ["Settings", "Side", "bound_of", "setting_of"]

QUANTITY = re.compile(r"(\w+\.\w+)(?: ([+-]) (\d+))?")
"""A setting and a number to add or subtract."""

OF_TRAINING = ("trainer.", "backbone.")
"""How the names of settings begin that a row without a model does not have."""

Settings = Mapping[str, Any]
"""By `section.name`, as in --set, the value of a setting."""


@dataclass(frozen=True)
class Side:
    """A row of a leaderboard, or the rows of a sweep.

    Args:
        method: its name, with its variant.
        decoding: as typed after --decode, without options; `topk=*` is every k; empty where nothing is decoded.
        where: settings that the row has; they replace those of the run.
    """

    method: str
    decoding: str = ""
    where: Settings = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The side as reports name it: the method, then its decoding and settings in parentheses."""
        details = [f"{name}={value}" for name, value in self.where.items()]
        if self.decoding:
            details.insert(0, self.decoding)
        if not details:
            return self.method
        return f"{self.method} ({', '.join(details)})"

    def rows(self, rows: list[TableRow], where: Settings) -> list[TableRow]:
        """Return the rows of a leaderboard that are meant; `where` are the run's settings.

        Rows whose settings a search has picked stand for all, where there are any.
        """
        found = [row for row in rows if self._is_meant(row, {**where, **self.where})]
        return [row for row in found if row.tried] or found

    def _is_meant(self, row: TableRow, settings: Settings) -> bool:
        if row.method != self.method or not self.decodes(row.decoding):
            return False
        if "trainer" not in row.config:  # it has no model, so no setting of a training is its own
            settings = {name: value for name, value in settings.items() if not name.startswith(OF_TRAINING)}
        return all(setting_of(row.config, name) == value for name, value in settings.items())

    def decodes(self, decoding: str) -> bool:
        """Return whether a decoding is meant; options after its first `+` do not count.

        >>> Side("mle", "topk=*").decodes("topk=3+max_new_tokens=64"), Side("mle", "topk=3").decodes("decoupled:topk=3")
        (True, False)
        """
        return fnmatchcase(decoding.partition("+")[0], self.decoding)


def setting_of(config: Settings, name: str) -> Any:
    """Return a setting of a stored configuration; None where there is none.

    >>> setting_of({"trainer": {"lr": 0.1}, "backbone_options": {"width": 8}}, "backbone.width")
    8
    """
    section, _, option = name.partition(".")
    if section not in ("trainer", "evaluation"):
        section = f"{section}_options"
    options = config.get(section)
    if not isinstance(options, Mapping):
        return None
    return options.get(option)


def bound_of(bound: float | str, row: TableRow) -> float | None:
    """Return a number, or a setting of a row with a number added; None where the row has no such setting.

    Raises:
        ValueError: a bound that is neither.

    >>> bound_of("backbone.width + 1", TableRow("mle", "small", "", {"backbone_options": {"width": 128}}))
    129.0
    """
    if not isinstance(bound, str):
        return float(bound)
    parts = QUANTITY.fullmatch(bound)
    if parts is None:
        raise ValueError(f"expected a bound that is a number or a setting such as 'backbone.width + 1', got '{bound}'")
    setting, sign, number = parts.groups()
    value = setting_of(row.config, setting)
    if not isinstance(value, (int, float)):
        return None
    added = float(number or 0)
    if sign == "-":
        added = -added
    return float(value) + added
