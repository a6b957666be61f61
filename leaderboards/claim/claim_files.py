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
QUANTITY = re.compile(r"(\w+\.\w+)(?: ([+-]) (\d+))?")

Settings = Mapping[str, Any]  # `section.name` to value, as in --set


@dataclass(frozen=True)
class Side:
    """A row of a leaderboard, or the rows of a sweep.

    Args:
        method: its name, with its variant.
        decoding: as typed after --decode, without options; `topk=*` is every k; empty where nothing is decoded.
        where: settings that the row has, where the run's are not its own.
    """

    method: str
    decoding: str = ""
    where: Settings = field(default_factory=dict)

    @property
    def label(self) -> str:
        """For people."""
        parts = [*([self.decoding] if self.decoding else []), *(f"{k}={v}" for k, v in self.where.items())]
        return self.method + (f" ({', '.join(parts)})" if parts else "")

    def rows(self, rows: list[TableRow], where: Settings) -> list[TableRow]:
        """Return the rows that are meant; `where` are the run's settings."""
        wanted = {**where, **self.where}
        return [row for row in rows if row.method == self.method and self.decodes(row.decoding)
                and all(setting_of(row.config, name) == value for name, value in wanted.items())]  # fmt: skip

    def decodes(self, decoding: str) -> bool:
        """Return whether a decoding is meant, with whatever options follow it.

        >>> Side("mle", "topk=*").decodes("topk=3+max_new_tokens=64"), Side("mle", "topk=3").decodes("decoupled:topk=3")
        (True, False)
        """
        return fnmatchcase(decoding.partition("+")[0], self.decoding)


@dataclass(frozen=True)
class Corrected:
    """The same comparison without a known fault; a claim that holds as released and not so is an artefact.

    Args:
        better, than: rows to compare in place of the claim's own; empty for those of the claim.
        why: the fault.
    """

    why: str
    better: Side | None = None
    than: Side | None = None


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper as a check.

    Args:
        paper: where it stands, a table or section.
        says: the claim.
        column: the metric it is about.
        relation: of `better` to `than`: `lower`, `higher` or `near`; of `better` to `bound`: `above` it, or `below`,
            which is at most it; `at_equal`: two sweeps of decodings compared where their `at` is the same.
        better: the row it is about.
        than: the row it is compared with.
        bound: a number, or a setting of the row, as in `backbone.width + 1`.
        floor: a threshold of ours: smallest mean difference that counts, in the column's unit.
        factor: a threshold of ours: smallest ratio that counts, where the claim is one of ratios.
        within: a threshold of ours: largest mean difference of `near`.
        at: the column that is held equal; `wants` says whether `lower` or `higher` is then better.
        points: values of `at` to show the difference at; evenly spaced ones when empty.
        controls: rows that would explain the difference away.
        corrected: the comparison without a fault of the released code.
        run: name of the run that makes its rows; empty for the file's first.
        alarm: it is a check of ours on the data, and no claim of the paper.
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
        if self.relation not in RELATIONS or self.wants not in ("lower", "higher"):
            raise ValueError(f"{self.says}: no relation '{self.relation}' or '{self.wants}'")
        if (self.relation in ("above", "below")) != (self.bound is not None) or (self.bound is None) != bool(self.than):
            raise ValueError(f"{self.says}: '{self.relation}' takes {'a bound' if self.than else 'another row'}")
        if (self.relation == "at_equal") != bool(self.at):
            raise ValueError(f"{self.says}: `at` names the column that at_equal holds equal")


@dataclass(frozen=True)
class Run:
    """One `bench run` that makes rows for claims.

    Args:
        name: for claims to name it.
        task: one task.
        methods: their names; `all` is not for here.
        seeds: one cell each.
        decode: decodings; empty for the task's own.
        sets: as typed after --set.
        where: settings that tell its rows from those of other runs on the task.
        minutes: measured or estimated, on one quiet core, from nothing.
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
        """Return the run that a claim names."""
        for run in self.runs:
            if claim.run in ("", run.name):
                return run
        raise ValueError(f"{self.name}: no run '{claim.run}'")


def names() -> list[str]:
    """Return the files there are."""
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
        tuple(Run(**{key: _tuple(value) for key, value in run.items()}) for run in content["run"]),
        tuple(claim_of(claim) for claim in content["claim"]),
        tuple(Untested(**one) for one in content.get("untested", ())),
    )


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Read one claim."""
    found: dict[str, Any] = {key: _sided(key, _tuple(value)) for key, value in content.items()}
    if "controls" in found:
        found["controls"] = tuple(Side(**side) for side in found["controls"])
    if "corrected" in found:
        corrected = {key: _sided(key, value) for key, value in content["corrected"].items()}
        found["corrected"] = Corrected(**corrected)
    return Claim(**found)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _sided(key: str, value: Any) -> Any:
    return Side(**value) if key in ("better", "than") else value


def setting_of(config: Settings, name: str) -> Any:
    """Return a setting of a stored configuration; None where there is none.

    >>> setting_of({"trainer": {"lr": 0.1}, "backbone_options": {"width": 8}}, "backbone.width")
    8
    """
    section, _, option = name.partition(".")
    held = config.get(section if section in ("trainer", "evaluation") else f"{section}_options")
    return held.get(option) if isinstance(held, Mapping) else None


def bound_of(bound: float | str, row: TableRow) -> float | None:
    """Return a number, or a setting of a row with a number added; None where the row has no such setting.

    >>> bound_of("backbone.width + 1", TableRow("mle", "small", "", {"backbone_options": {"width": 128}}))
    129.0
    """
    if not isinstance(bound, str):
        return float(bound)
    found = QUANTITY.fullmatch(bound)
    if found is None:
        raise ValueError(f"expected a number or a setting such as 'backbone.width + 1', got '{bound}'")
    value = setting_of(row.config, found[1])
    added = float(found[3] or 0) * (-1 if found[2] == "-" else 1)
    return float(value) + added if isinstance(value, (int, float)) else None
