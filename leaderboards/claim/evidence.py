"""Evidence: what stored rows say of claims, with nothing decided: effect, seeds, test over items, controls."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Settings, Side, bound_of
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean
from bench.leaderboards.statistics.significance import Comparison, compare, holm
from bench.leaderboards.statistics.tradeoff import Tradeoff, curves
from bench.leaderboards.statistics.tradeoff import compare as compare_at_equal
from bench.leaderboards.table import Table, metric_name


@dataclass(frozen=True)
class Evidence:
    """What stored rows say.

    Args:
        by_seed: effect of each seed that all rows have, positive in the claimed direction; empty where there is none.
        test: over the items of all these seeds; None where the column or a row has no items.
        shares: share of the effect that each control has, by its label.
        tradeoff: of `at_equal`, ours less theirs.
        n: rows that were scored.
        on: what they are rows of.
        why: what is missing, or must be known.
    """

    by_seed: Mapping[int, float] = field(default_factory=dict)
    test: Comparison | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    tradeoff: Tradeoff | None = None
    n: int = 0
    on: str = ""
    why: str = ""

    @property
    def p(self) -> float | None:
        """Two-sided, before it is adjusted; None without a test."""
        return self.test.p if self.test else None

    @property
    def effect(self) -> float | None:
        """Mean over seeds."""
        return statistics.fmean(self.by_seed.values()) if self.by_seed else None


@dataclass(frozen=True)
class ClaimEvidence:
    """A claim with its evidence; what decides from it is under revision.

    Args:
        evidence: of the claim.
        adjusted: p after Holm among the tests of its file; None without a test.
        corrected: evidence of the comparison without a known fault; None where the claim names no fault.
    """

    claim: Claim
    evidence: Evidence
    adjusted: float | None = None
    corrected: Evidence | None = None

    @property
    def over_seeds(self) -> SeedMean | None:
        """Mean effect with its interval over seeds."""
        return seed_mean(list(self.evidence.by_seed.values())) if self.evidence.by_seed else None


def evidence_of(file: ClaimFile, tables: Sequence[Table], preset: str = "small") -> list[ClaimEvidence]:
    """Gather the evidence of every claim of a file.

    Args:
        file: claims and the runs that make their rows.
        tables: of any tasks, with all columns.
        preset: leaderboards of another are not looked at; what is claimed is a matter of scale.
    """
    found = []
    for claim in file.claims:
        run = file.run_of(claim)
        mine = [table for table in tables if table.task == run.task and table.preset == preset]
        fixed = corrected(claim)
        without_fault = gather(fixed, mine, run.where) if fixed else None
        found.append(ClaimEvidence(claim, gather(claim, mine, run.where), corrected=without_fault))
    return adjusted(found)


def adjusted(found: Sequence[ClaimEvidence]) -> list[ClaimEvidence]:
    """Return the same with p adjusted among all tests, those of corrected comparisons too."""
    tests: list[float] = []
    places: dict[int, int] = {}
    for at, one in enumerate(found):
        for evidence in (one.evidence, one.corrected):
            if evidence is None or evidence.p is None:
                continue
            if evidence is one.evidence:
                places[at] = len(tests)
            tests.append(evidence.p)
    p_values = holm(tests)
    return [replace(one, adjusted=p_values[places[at]]) if at in places else one for at, one in enumerate(found)]


def corrected(claim: Claim) -> Claim | None:
    """Return the comparison without the known fault; None where the claim names none."""
    if claim.corrected is None:
        return None
    better, than = claim.corrected.better or claim.better, claim.corrected.than or claim.than
    return replace(claim, better=better, than=than, controls=(), corrected=None)


def gather(claim: Claim, tables: Sequence[Table], where: Settings) -> Evidence:
    """Look a claim up on the first leaderboard that can answer it.

    Args:
        claim: to look up.
        tables: of the task and preset it is about.
        where: settings of the run that makes its rows.
    """
    missing = Evidence(why="nothing is stored for it")
    for table in tables:
        found = looked_up(claim, table, where)
        found = replace(found, n=table.n, on="; ".join(filter(None, [table.title, table.watermark])))
        if found.by_seed:
            return found
        missing = found if missing.n == 0 or "no row" in missing.why else missing
    return missing


def looked_up(claim: Claim, table: Table, where: Settings) -> Evidence:
    """Look a claim up on one leaderboard."""
    if claim.relation == "at_equal":
        return at_equal(claim, table, where)
    rows = []
    for side in filter(None, (claim.better, claim.than)):
        found = side.rows(table.rows, where)
        if len(found) != 1:
            return Evidence(why=absent(side, where) if not found else
                            f"{len(found)} rows of {side.label}: {' | '.join(row.label for row in found)}")  # fmt: skip
        rows += found
    if (column := column_of(claim.column, rows)) is None:
        return Evidence(why=f"no column '{claim.column}' that the rows share")
    values = [row.values[column] for row in rows]
    if any(value.conflict for value in values):
        return Evidence(why="unlike numbers are stored for one seed")
    shared = sorted(set.intersection(*(set(value.by_seed) for value in values)))
    bound = None if claim.bound is None else bound_of(claim.bound, rows[0])
    if not shared or (claim.bound is not None and bound is None):
        return Evidence(why="no seed that all rows have" if not shared else f"no setting '{claim.bound}'")
    ours = {seed: values[0].by_seed[seed] for seed in shared}
    base = {seed: values[1].by_seed[seed] if bound is None else bound for seed in shared}
    sign = -1 if claim.relation in ("lower", "below") else 1
    by_seed = {seed: sign * (ours[seed] - base[seed]) + 0.0 for seed in shared}  # no -0.0
    controls = {side.label: share for side in claim.controls
                if (share := share_of(side, table, where, column, by_seed, base, sign)) is not None}  # fmt: skip
    diverged = [f"{row.diverged} seeds of {row.method} diverged" for row in rows if row.diverged]
    test = tested(values[0], values[1], shared) if claim.relation in ("lower", "higher") else None
    return Evidence(by_seed, test, controls, why="; ".join(diverged))


def absent(side: Side, where: Settings) -> str:
    """Say which row is not there."""
    return f"no row of {replace(side, where={**where, **side.where}).label}"


def column_of(name: str, rows: Sequence[TableRow]) -> str | None:
    """Return the column of a metric that all rows have; where signatures differ, the first that they share."""
    shared = [column for column in rows[0].values if metric_name(column) == name
              and all(column in row.values for row in rows)]  # fmt: skip
    return name if name in shared else min(shared, default=None)


def share_of(
    side: Side, table: Table, where: Settings, column: str, by_seed: Mapping[int, float], base: Mapping[int, float],
    sign: int,
) -> float | None:  # fmt: skip
    """Return the share of an effect that a control has, over the seeds it has too; None without one row of it."""
    found = [row.values[column] for row in side.rows(table.rows, where) if column in row.values]
    if len(found) != 1 or found[0].conflict:
        return None
    seeds = [seed for seed in by_seed if seed in found[0].by_seed]
    whole = sum(by_seed[seed] for seed in seeds)
    return sum(sign * (found[0].by_seed[seed] - base[seed]) for seed in seeds) / whole if whole > 0 else None


def tested(ours: Value, theirs: Value, seeds: Sequence[int]) -> Comparison | None:
    """Return the paired test over the items of all seeds; None where one of them has no items, or no number."""
    one, other = ({seed: value.items[seed].load() for seed in seeds if seed in value.items} for value in (ours, theirs))
    mine = {seed: items for seed, items in one.items() if items is not None}
    their = {seed: items for seed, items in other.items() if items is not None}
    if len(mine) < len(seeds) or len(their) < len(seeds):
        return None
    try:
        return compare(mine, their)
    except ValueError:  # a perplexity that is infinite, or unlike forms of an older version
        return None


def at_equal(claim: Claim, table: Table, where: Settings) -> Evidence:
    """Compare two sweeps of decodings where `claim.at` is the same."""
    assert claim.than is not None
    sides = []
    for side in (claim.better, claim.than):
        rows = side.rows(table.rows, where)
        decodings = [row.decoding for row in rows]
        if not rows or len(set(decodings)) < len(decodings):
            return Evidence(why=f"several rows of one decoding of {side.label}" if rows else absent(side, where))
        x, y = column_of(claim.at, rows), column_of(claim.column, rows)
        if x is None or y is None:
            return Evidence(why=f"no column '{claim.column if x else claim.at}' that the rows share")
        sides.append(curves(rows, x, y))
    found = compare_at_equal(sides[0], sides[1], claim.points)
    sign = -1 if claim.wants == "lower" else 1
    by_seed = {seed: sign * value for seed, value in found.by_seed.items()}
    if not by_seed:
        return Evidence(tradeoff=found, why=f"no overlap: the two sweeps have no {claim.at} in common")
    return Evidence(by_seed, tradeoff=found)
