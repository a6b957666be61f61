"""Claim files: what a paper says, sentence by sentence, as checks, and the runs that make their rows.

One file a paper in `claims/`: `name`, a list `[[run]]`, a list `[[claim]]`, and `[[untested]]` for what a small run on
two cores cannot decide. The fields are those of `Run`, `Claim`, `Side`, `Corrected` and `Untested`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bench.leaderboards.row import TableRow

FOLDER = Path(__file__).parents[1] / "claims"
RELATIONS = ("lower", "higher", "near", "above", "below", "at_equal")
"""How a row may stand to another row, or to a number; `Claim` says what each one compares."""
QUANTITY = re.compile(r"(\w+\.\w+)(?: ([+-]) (\d+))?")
"""A setting and a number to add or subtract."""

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
        """Return the rows of a leaderboard that are meant; `where` are the run's settings."""
        return [row for row in rows if self._is_meant(row, {**where, **self.where})]

    def _is_meant(self, row: TableRow, settings: Settings) -> bool:
        if row.method != self.method or not self.decodes(row.decoding):
            return False
        return all(setting_of(row.config, name) == value for name, value in settings.items())

    def decodes(self, decoding: str) -> bool:
        """Return whether a decoding is meant; options after its first `+` do not count.

        >>> Side("mle", "topk=*").decodes("topk=3+max_new_tokens=64"), Side("mle", "topk=3").decodes("decoupled:topk=3")
        (True, False)
        """
        return fnmatchcase(decoding.partition("+")[0], self.decoding)


@dataclass(frozen=True)
class Corrected:
    """The same comparison without a known fault of the released code.

    Args:
        why: the fault.
        better, than: rows to compare in place of the claim's own; None for those of the claim.
    """

    why: str
    better: Side | None = None
    than: Side | None = None


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper as a check.

    Args:
        paper: its place in the paper, a table or section.
        says: the claim.
        column: the metric it is about.
        relation: `lower`, `higher` or `near` compare `better` with `than`; `above` and `below` (at most) compare
            `better` with `bound`; `at_equal` compares two sweeps of decodings where their `at` is the same.
        better: the row it is about.
        than: the row it is compared with; None with a bound.
        bound: a number, or a setting of the row, as in `backbone.width + 1`; None with another row.
        floor: a threshold of ours: smallest mean difference that counts, in the column's unit.
        factor: a threshold of ours: smallest ratio that counts, where the claim is one of ratios.
        within: a threshold of ours: largest mean difference of `near`.
        at: the column that is held equal; `wants` says whether `lower` or `higher` is then better.
        points: values of `at` to show the difference at; evenly spaced ones when empty.
        controls: rows that would explain the difference if they show it too.
        corrected: the comparison without a fault of the released code.
        run: name of the run that makes its rows; empty for the file's first.
        alarm: whether it is a check of ours on the data rather than a claim of the paper.

    Raises:
        ValueError: fields that do not go together.
    """

    paper: str
    says: str
    column: str
    relation: str
    better: Side
    than: Side | None = None
    bound: float | str | None = None
    floor: float = 0.0
    factor: float = 0.0
    within: float = 0.0
    at: str = ""
    wants: str = "lower"
    points: tuple[float, ...] = ()
    controls: tuple[Side, ...] = ()
    corrected: Corrected | None = None
    run: str = ""
    alarm: bool = False

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ValueError(f"{self.says}: expected a relation from {', '.join(RELATIONS)}, got '{self.relation}'")
        if self.wants not in ("lower", "higher"):
            raise ValueError(f"{self.says}: expected `wants` to be lower or higher, got '{self.wants}'")
        if self.relation in ("above", "below"):
            if self.bound is None or self.than is not None:
                raise ValueError(f"{self.says}: relation '{self.relation}' takes a `bound` and no `than`")
        elif self.bound is not None or self.than is None:
            raise ValueError(f"{self.says}: relation '{self.relation}' takes another row as `than` and no `bound`")
        if (self.relation == "at_equal") != bool(self.at):
            raise ValueError(f"{self.says}: relation 'at_equal', and no other, takes the column it holds equal as `at`")


@dataclass(frozen=True)
class Run:
    """One `bench run` that makes rows for claims.

    Args:
        task: one task.
        methods: their names; `all` is not expanded here.
        seeds: one cell each.
        minutes: measured or estimated, on one quiet core, with nothing stored.
        name: by which claims refer to it.
        decode: decodings; empty for the task's own.
        sets: as typed after --set.
        where: settings that tell its rows from those of other runs on the task.
    """

    task: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    minutes: float
    name: str = ""
    decode: str = ""
    sets: tuple[str, ...] = ()
    where: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Untested:
    """A claim that no small run can decide."""

    paper: str
    says: str
    why: str


@dataclass(frozen=True)
class ClaimFile:
    """The claims of one paper."""

    name: str
    runs: tuple[Run, ...]
    claims: tuple[Claim, ...]
    untested: tuple[Untested, ...] = ()

    def run_of(self, claim: Claim) -> Run:
        """Return the run that a claim names, or the file's first.

        Raises:
            ValueError: the file has no such run.
        """
        for run in self.runs:
            if claim.run in ("", run.name):
                return run
        names = ", ".join(run.name or "(no name)" for run in self.runs)
        raise ValueError(f"{self.name}, '{claim.says}': expected the name of a run ({names}), got '{claim.run}'")


def names() -> list[str]:
    """Return the names of all claim files."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(name: str) -> ClaimFile:
    """Read one file by its name.

    Raises:
        TypeError: a field that is missing or unknown.
        ValueError: fields that do not go together.
    """
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return ClaimFile(
        content["name"],
        tuple(Run(**_with_tuples(run)) for run in content["run"]),
        tuple(claim_of(claim) for claim in content["claim"]),
        tuple(Untested(**untested) for untested in content.get("untested", ())),
    )


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Return one claim of a file."""
    fields = _with_sides(_with_tuples(content))
    if "controls" in fields:
        fields["controls"] = tuple(Side(**control) for control in fields["controls"])
    if "corrected" in fields:
        fields["corrected"] = Corrected(**_with_sides(fields["corrected"]))
    return Claim(**fields)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields with tuples in place of lists, so that what holds them cannot change."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _with_sides(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields with `better` and `than` as sides."""
    sides = {name: Side(**fields[name]) for name in ("better", "than") if name in fields}
    return {**fields, **sides}


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
