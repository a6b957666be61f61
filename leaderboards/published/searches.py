"""Searches: the settings that papers say they tried for their methods and baselines (`[search]` in `papers/*.toml`).

Whoever tries 18 settings for a method and 3 for its baseline has a better number for the method even where all settings
are alike: the best of 18 draws is above the best of 3. `selection_notes` names the methods that had more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.base.entries import all_names
from bench.errors import DataError, did_you_mean
from bench.models import METHODS

__all__ = ["PublishedSearch", "SearchAxis", "check_keys", "check_name", "published_search", "selection_notes"]

REQUIRED = {"where", "baseline", "chosen_by", "axes"}
OPTIONAL = {"note"}
AXIS = {"setting", "values", "methods", "where"}
AXIS_OPTIONAL = {"chosen_on"}


@dataclass(frozen=True)
class SearchAxis:
    """One setting and the values a paper tried for it.

    Args:
        setting: ours where we have it, such as `optim.lr`, else as the paper calls it.
        values: as printed.
        methods: ours, that have the setting.
        where: section or table of the paper.
        chosen_on: the method whose validation numbers chose the value for all of them; empty where each had its own
            choice.
    """

    setting: str
    values: tuple[str, ...]
    methods: tuple[str, ...]
    where: str
    chosen_on: str = ""

    def tried_for(self, method: str) -> int:
        """Return how many values were tried for a method, or the method of a variant, by its own numbers."""
        base = method.partition(".")[0]
        if base not in self.methods or self.chosen_on not in ("", base):
            return 1
        return len(self.values)


@dataclass(frozen=True)
class PublishedSearch:
    """What a paper tried.

    Args:
        paper: its name.
        where: section of the paper.
        baseline: our name of the method the others are compared with.
        chosen_by: what a setting was chosen by.
        axes: the settings, each with its values.
        note: what the paper leaves open; may be empty.
    """

    paper: str
    where: str
    baseline: str
    chosen_by: str
    axes: tuple[SearchAxis, ...]
    note: str = ""

    def settings_of(self, method: str) -> int:
        """Return how many combinations were open to a method, if all values of its settings were tried together."""
        return math.prod(axis.tried_for(method) for axis in self.axes)

    @property
    def methods(self) -> list[str]:
        """Methods that had a choice."""
        return list(dict.fromkeys(method for axis in self.axes for method in axis.methods))

    @property
    def text(self) -> str:
        """The search in one sentence."""
        said = []
        for axis in self.axes:
            on = f" on {axis.chosen_on}" if axis.chosen_on else ""
            said.append(f"{axis.setting} {' '.join(axis.values)} ({', '.join(axis.methods)}{on}; {axis.where})")
        note = f". {self.note}" if self.note else ""
        return f"search of {self.paper} ({self.where}), by {self.chosen_by}: {'; '.join(said)}{note}"


def published_search(paper: str, entry: Mapping[str, Any] | None, file: str) -> PublishedSearch | None:
    """Read the `[search]` of a paper's file; None where it has none.

    Raises:
        DataError: a key or name that is not known, or a key that is missing.
    """
    if entry is None:
        return None
    where = f"{file}, search"
    check_keys(entry, REQUIRED, OPTIONAL, where)
    axes = []
    for axis in entry["axes"]:
        check_keys(axis, AXIS, AXIS_OPTIONAL, f"{where}, {axis.get('setting')}")
        check_methods([*axis["methods"], *filter(None, [axis.get("chosen_on", "")])], where)
        values = tuple(axis["values"].split())
        axes.append(SearchAxis(**{**axis, "values": values, "methods": tuple(axis["methods"])}))
    check_methods([entry["baseline"]], where)
    return PublishedSearch(paper, **{**entry, "axes": tuple(axes)})


def selection_notes(search: PublishedSearch, methods: Iterable[str]) -> list[str]:
    """Return the search of a paper, and a line for each method that had more settings than its baseline.

    Args:
        search: of the paper.
        methods: ours, of a table.
    """
    shown = [method for method in dict.fromkeys(methods) if method.partition(".")[0] in search.methods]
    if not shown:
        return []
    baseline = search.settings_of(search.baseline)
    lines = [search.text]
    for method in shown:
        tried = search.settings_of(method)
        if method != search.baseline and tried > baseline:
            lines.append(
                f"{method} had {tried} settings to choose from and {search.baseline} {baseline}: the best of more "
                f"settings is higher by chance alone. bench run --trials {method}={tried},{search.baseline}={tried} "
                "tunes both alike"
            )
    return lines


def check_keys(entry: Mapping[str, Any], required: Iterable[str], optional: Iterable[str], where: str) -> None:
    """Refuse a key that is not known, and a missing one.

    Raises:
        DataError: naming it.
    """
    for key in entry:
        check_name("key", key, {*required, *optional}, where)
    if missing := [key for key in required if key not in entry]:
        raise DataError(f"{where}: missing {', '.join(sorted(missing))}")


def check_methods(names: Iterable[str], where: str) -> None:
    """Refuse a method that is not known.

    Raises:
        DataError: naming it.
    """
    for name in names:
        check_name("method", name, all_names(METHODS), where)


def check_name(kind: str, name: str, known: Iterable[str], where: str) -> None:
    """Refuse a name that is not known.

    Raises:
        DataError: with the nearest name.
    """
    if name not in known:
        raise DataError(f"{where}: unknown {kind} '{name}'{did_you_mean(name, known)}")
