"""Evidence: what stored rows say of claims: effect, seeds, test over items, controls. No verdict is drawn from it."""

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
from bench.metrics.sums import Sums


@dataclass(frozen=True)
class Evidence:
    """What stored rows say.

    Args:
        by_seed: effect of each seed that all rows have, positive in the claimed direction; empty where there is none.
        test: over the test items of all these seeds; None where the column or a row has no sums.
        shares: share of the effect that each control has, by its label.
        tradeoff: of `at_equal`, the sweep of `better` less that of `than`.
        n: examples that were scored.
        on: the leaderboard they are from.
        why: what is missing, or what else a reader must know.
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
        if self.test is None:
            return None
        return self.test.p

    @property
    def effect(self) -> float | None:
        """Mean over seeds; None without a seed."""
        if not self.by_seed:
            return None
        return statistics.fmean(self.by_seed.values())


@dataclass(frozen=True)
class ClaimEvidence:
    """A claim with its evidence; the rule that draws a verdict from it is under revision.

    Args:
        claim: the claim.
        evidence: for it.
        adjusted: p after Holm among the tests of its file; None without a test.
        corrected: evidence of the comparison without a known fault; None where the claim names no fault.
    """

    claim: Claim
    evidence: Evidence
    adjusted: float | None = None
    corrected: Evidence | None = None

    @property
    def over_seeds(self) -> SeedMean | None:
        """Mean effect with its interval over seeds; None without a seed."""
        if not self.evidence.by_seed:
            return None
        return seed_mean(list(self.evidence.by_seed.values()))


def evidence_of(file: ClaimFile, tables: Sequence[Table], preset: str = "small") -> list[ClaimEvidence]:
    """Gather the evidence of every claim of a file.

    Args:
        file: claims and the runs that make their rows.
        tables: of any tasks, with all columns.
        preset: tables of another preset are left out, since scale may decide what is claimed.
    """
    gathered = []
    for claim in file.claims:
        run = file.run_of(claim)
        tables_of_claim = [table for table in tables if table.task == run.task and table.preset == preset]
        without_fault = corrected_claim(claim)
        corrected = None
        if without_fault is not None:
            corrected = gather(without_fault, tables_of_claim, run.where)
        gathered.append(ClaimEvidence(claim, gather(claim, tables_of_claim, run.where), corrected=corrected))
    return with_adjusted_p(gathered)


def with_adjusted_p(gathered: Sequence[ClaimEvidence]) -> list[ClaimEvidence]:
    """Return the same with p adjusted by Holm over all their tests, those of corrected comparisons included."""
    p_values: list[float] = []
    places: dict[int, int] = {}  # where in `p_values` the test of a claim is, by the claim's place
    for place, of_claim in enumerate(gathered):
        if of_claim.evidence.p is not None:
            places[place] = len(p_values)
            p_values.append(of_claim.evidence.p)
        if of_claim.corrected is not None and of_claim.corrected.p is not None:
            p_values.append(of_claim.corrected.p)
    adjusted = holm(p_values)
    after = list(gathered)
    for place, test in places.items():
        after[place] = replace(gathered[place], adjusted=adjusted[test])
    return after


def corrected_claim(claim: Claim) -> Claim | None:
    """Return the same claim on the rows without the known fault; None where the claim names no fault."""
    if claim.corrected is None:
        return None
    better, than = claim.corrected.better or claim.better, claim.corrected.than or claim.than
    return replace(claim, better=better, than=than, controls=(), corrected=None)


def gather(claim: Claim, tables: Sequence[Table], where: Settings) -> Evidence:
    """Return the evidence of the first leaderboard that has any for a claim; else say what is missing.

    Args:
        claim: to look up.
        tables: of the task and preset it is about.
        where: settings of the run that makes its rows.
    """
    missing = Evidence(why="nothing is stored for it")
    for table in tables:
        on = "; ".join(filter(None, [table.title, table.watermark]))
        evidence = replace(evidence_on(claim, table, where), n=table.n, on=on)
        if evidence.by_seed:
            return evidence
        if missing.n == 0 or "no row" in missing.why:
            missing = evidence
    return missing


def evidence_on(claim: Claim, table: Table, where: Settings) -> Evidence:
    """Return the evidence of one leaderboard for a claim."""
    if claim.relation == "at_equal":
        return at_equal(claim, table, where)
    rows = []
    for side in filter(None, (claim.better, claim.than)):
        matching = side.rows(table.rows, where)
        if not matching:
            return Evidence(why=absent(side, where))
        if len(matching) > 1:
            labels = " | ".join(row.label for row in matching)
            return Evidence(why=f"{len(matching)} rows of {side.label}: {labels}")
        rows += matching
    column = column_of(claim.column, rows)
    if column is None:
        return Evidence(why=f"no column '{claim.column}' that the rows share")
    values = [row.values[column] for row in rows]
    if any(value.conflict for value in values):
        return Evidence(why="unlike numbers are stored for one seed")
    seeds = sorted(set.intersection(*(set(value.by_seed) for value in values)))
    if not seeds:
        return Evidence(why="no seed that all rows have")
    baseline = baseline_of(claim, rows, values, seeds)
    if baseline is None:
        return Evidence(why=f"no setting '{claim.bound}'")
    effect = Effect(column, 1, baseline)
    if claim.relation in ("lower", "below"):
        effect = replace(effect, sign=-1)
    by_seed = {seed: effect.of(values[0], seed) + 0.0 for seed in seeds}  # + 0.0 makes 0.0 of -0.0
    test = None
    if claim.relation in ("lower", "higher"):
        test = paired_test(values[0], values[1], seeds)
    shares = shares_of(claim.controls, table, where, effect, by_seed)
    diverged = [f"{row.diverged} seeds of {row.method} diverged" for row in rows if row.diverged]
    return Evidence(by_seed, test, shares, why="; ".join(diverged))


@dataclass(frozen=True)
class Effect:
    """How a claim's effect is computed from a value of its column.

    Args:
        column: the column.
        sign: 1 where the higher value is claimed, -1 where the lower.
        baseline: by seed, what the value is compared with.
    """

    column: str
    sign: int
    baseline: Mapping[int, float]

    def of(self, value: Value, seed: int) -> float:
        """Return the effect of one seed: the difference from the baseline in the claimed direction."""
        return self.sign * (value.by_seed[seed] - self.baseline[seed])


def baseline_of(
    claim: Claim, rows: Sequence[TableRow], values: Sequence[Value], seeds: Sequence[int]
) -> Mapping[int, float] | None:
    """Return, by seed, what a claim's row is compared with; None for a bound by a setting the row does not have."""
    if claim.bound is None:
        return {seed: values[1].by_seed[seed] for seed in seeds}
    bound = bound_of(claim.bound, rows[0])
    if bound is None:
        return None
    return dict.fromkeys(seeds, bound)


def absent(side: Side, where: Settings) -> str:
    """Say which row is not stored."""
    return f"no row of {replace(side, where={**where, **side.where}).label}"


def column_of(name: str, rows: Sequence[TableRow]) -> str | None:
    """Return the column of a metric that all rows have; where signatures differ, the first that they share."""
    shared = []
    for column in rows[0].values:
        if metric_name(column) == name and all(column in row.values for row in rows):
            shared.append(column)
    if name in shared:
        return name
    return min(shared, default=None)


def shares_of(
    controls: Sequence[Side], table: Table, where: Settings, effect: Effect, by_seed: Mapping[int, float]
) -> dict[str, float]:
    """Return, by control, the share of a claim's effect that it has too, over the seeds that it has.

    Controls without exactly one row are left out, and all of them where the effect is not positive.

    Args:
        controls: of the claim.
        table: where their rows are looked for.
        where: settings of the claim's run.
        effect: of the claim.
        by_seed: effect of the claim's own row.
    """
    shares = {}
    for control in controls:
        values = [row.values[effect.column] for row in control.rows(table.rows, where) if effect.column in row.values]
        if len(values) != 1 or values[0].conflict:
            continue
        seeds = [seed for seed in by_seed if seed in values[0].by_seed]
        whole = sum(by_seed[seed] for seed in seeds)
        if whole > 0:
            shares[control.label] = sum(effect.of(values[0], seed) for seed in seeds) / whole
    return shares


def paired_test(ours: Value, theirs: Value, seeds: Sequence[int]) -> Comparison | None:
    """Return the paired test over test items and all seeds; None where a seed has no sums, or no number."""
    our_items, their_items = items_of(ours, seeds), items_of(theirs, seeds)
    if our_items is None or their_items is None:
        return None
    try:
        return compare(our_items, their_items)
    except ValueError:  # a perplexity that is infinite, or unlike forms of an older version
        return None


def items_of(value: Value, seeds: Sequence[int]) -> dict[int, Sums] | None:
    """Return the sums of every seed; None where one of them has none."""
    by_seed = {}
    for seed in seeds:
        if seed not in value.sums:
            return None
        items = value.sums[seed].load()
        if items is None:
            return None
        by_seed[seed] = items
    return by_seed


def at_equal(claim: Claim, table: Table, where: Settings) -> Evidence:
    """Compare two sweeps of decodings where `claim.at` is the same."""
    assert claim.than is not None
    sweeps = []
    for side in (claim.better, claim.than):
        rows = side.rows(table.rows, where)
        if not rows:
            return Evidence(why=absent(side, where))
        if len({row.decoding for row in rows}) < len(rows):
            return Evidence(why=f"several rows of one decoding of {side.label}")
        x, y = column_of(claim.at, rows), column_of(claim.column, rows)
        if x is None:
            return Evidence(why=f"no column '{claim.at}' that the rows share")
        if y is None:
            return Evidence(why=f"no column '{claim.column}' that the rows share")
        sweeps.append(curves(rows, x, y))
    tradeoff = compare_at_equal(sweeps[0], sweeps[1], claim.points)
    sign = 1
    if claim.wants == "lower":
        sign = -1
    by_seed = {seed: sign * difference for seed, difference in tradeoff.by_seed.items()}
    if not by_seed:
        return Evidence(tradeoff=tradeoff, why=f"no overlap: the two sweeps have no {claim.at} in common")
    return Evidence(by_seed, tradeoff=tradeoff)
