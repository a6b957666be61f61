"""Verdicts: what papers claim, checked on stored numbers. Claims are data (`claims/*.toml`)."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

FOLDER = Path(__file__).parent / "claims"
EXPLAINED = 0.75
"""A control that has this share of an effect explains it."""


@dataclass(frozen=True)
class Side:
    """A row of a leaderboard: a method and how it decodes."""

    method: str
    decoding: str

    def of(self, table: Table) -> TableRow | None:
        """Return the row, or None; a decoding matches with whatever options follow it."""
        for row in table.rows:
            if row.method == self.method and row.decoding.split("+")[0] == self.decoding:
                return row
        return None


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper as a check.

    Args:
        paper: where it stands.
        says: the claim.
        column: the metric it is about.
        better: the row it is about, `than` the one it is compared with.
        relation: `lower`, `higher` or `near`.
        floor: smallest mean difference that counts, in the column's unit.
        factor: smallest ratio that counts, where the claim is one of ratios.
        within: largest mean difference of `near`.
        control: a row that would explain the difference away.
    """

    paper: str
    says: str
    column: str
    better: Side
    than: Side
    relation: str
    floor: float = 0.0
    factor: float = 0.0
    within: float = 0.0
    control: Side | None = None


@dataclass(frozen=True)
class Verdict:
    """What stored cells say of a claim.

    Args:
        holds: `holds`, `fails`, `weak` (the sign holds for every seed, the size does not), or `not enough data`.
        effect: mean difference over seeds, positive in the claimed direction.
        by_seed: the same of each seed.
        explained: share of the effect that the control has, or None.
        why: what is missing.
    """

    claim: Claim
    holds: str
    effect: float | None = None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    explained: float | None = None
    why: str = ""

    @property
    def text(self) -> str:
        """The verdict in a word or two."""
        if self.holds == "holds" and self.explained is not None and self.explained >= EXPLAINED:
            assert self.claim.control is not None
            return f"holds, explained by {self.claim.control.method}"
        return self.holds


def claims_of(name: str) -> tuple[list[Claim], dict[str, Any]]:
    """Read a file of claims; return them and the run that makes their cells."""
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    claims = [claim_of(one) for one in content["claim"]]
    return claims, content["run"]


def claim_of(content: Mapping[str, Any]) -> Claim:
    """Read one claim."""
    values: dict[str, Any] = {
        key: Side(**value) if key in ("better", "than", "control") else value for key, value in content.items()
    }
    return Claim(**values)


def names() -> list[str]:
    """Return the files of claims there are."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def judge(claim: Claim, tables: Sequence[Table], task: str) -> Verdict:
    """Check one claim on the first leaderboard of a task that has both rows, over the seeds both have."""
    missing = f"no leaderboard of '{task}' has {claim.better.method} and {claim.than.method}"
    for table in (table for table in tables if table.task == task):
        better, than = claim.better.of(table), claim.than.of(table)
        if better is None or than is None:
            continue
        if claim.column not in better.values or claim.column not in than.values:
            missing = f"no column '{claim.column}'"
            continue
        return judge_rows(claim, better, than, claim.control.of(table) if claim.control else None)
    return Verdict(claim, "not enough data", why=missing)


def judge_rows(claim: Claim, better: TableRow, than: TableRow, control: TableRow | None) -> Verdict:
    """Check one claim on its rows."""
    ours, theirs = better.values[claim.column], than.values[claim.column]
    shared = sorted(set(ours.by_seed) & set(theirs.by_seed))
    if not shared or ours.conflict or theirs.conflict:
        return Verdict(claim, "not enough data", why="no seed that both rows have, or a conflict")
    sign = -1 if claim.relation == "lower" else 1
    by_seed = {seed: sign * (ours.by_seed[seed] - theirs.by_seed[seed]) for seed in shared}
    effect = statistics.fmean(by_seed.values())
    if claim.relation == "near":
        return Verdict(claim, "holds" if abs(effect) <= claim.within else "fails", effect, by_seed)
    enough = effect >= claim.floor and all(
        ours.by_seed[seed] >= claim.factor * theirs.by_seed[seed] for seed in shared if claim.factor
    )
    right = all(difference > 0 for difference in by_seed.values())
    holds = "fails" if not right else "holds" if enough else "weak"
    return Verdict(claim, holds, effect, by_seed, share(claim, control, by_seed, theirs.by_seed, sign))


def share(
    claim: Claim, control: TableRow | None, by_seed: Mapping[int, float], base: Mapping[int, float], sign: int
) -> float | None:
    """Return the share of an effect that a control has, over the seeds it has too; None without one."""
    if control is None or claim.column not in control.values:
        return None
    held = control.values[claim.column].by_seed
    seeds = [seed for seed in by_seed if seed in held]
    whole = sum(by_seed[seed] for seed in seeds)
    return sum(sign * (held[seed] - base[seed]) for seed in seeds) / whole if seeds and whole > 0 else None
