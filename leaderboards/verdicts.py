"""Verdicts: what papers claim, judged on stored numbers by direction, size and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.claim_files import Claim, ClaimFile
from bench.leaderboards.evidence import Evidence, gather
from bench.leaderboards.intervals import SeedMean, seed_mean
from bench.leaderboards.significance import ALPHA, holm
from bench.leaderboards.table import Table

EXPLAINED = 0.75
"""A control that has this share of an effect explains it."""
KINDS = ("holds", "weak", "fails", "explained", "artefact", "not enough data")


@dataclass(frozen=True)
class Verdict:
    """What stored cells say of a claim.

    Args:
        kind: `holds`: right sign for every shared seed, the claimed size, and a test over items that agrees where there
            are items. `weak`: only the sign. `fails`. `explained`: holds, and a control has most of the effect.
            `artefact`: holds, but not once a fault is corrected. `not enough data`.
        evidence: of the claim.
        adjusted: p after Holm among the tests of its file; None without a test.
        corrected: evidence of the corrected comparison.
        why: what kept it from holding, or must be known.
    """

    claim: Claim
    kind: str
    evidence: Evidence
    adjusted: float | None = None
    corrected: Evidence | None = None
    why: str = ""

    @property
    def text(self) -> str:
        """The verdict in a few words."""
        if self.kind == "explained":
            return f"explained by {self.control}"
        if self.kind == "artefact" and self.claim.corrected is not None:
            return f"artefact ({self.claim.corrected.why})"
        return self.kind

    @property
    def control(self) -> str:
        """The control that has the largest share of the effect, or nothing."""
        shares = self.evidence.shares
        return max(shares, key=shares.__getitem__) if shares else ""

    @property
    def over_seeds(self) -> SeedMean | None:
        """Mean effect with its interval over seeds."""
        return seed_mean(list(self.evidence.by_seed.values())) if self.evidence.by_seed else None


def judge(file: ClaimFile, tables: Sequence[Table], preset: str = "small") -> list[Verdict]:
    """Judge every claim of a file.

    Args:
        file: claims and the runs that make their rows.
        tables: of any tasks, with all columns.
        preset: leaderboards of another are not looked at; what is claimed is a matter of scale.
    """
    pairs = []
    for claim in file.claims:
        run = file.run_of(claim)
        mine = [table for table in tables if table.task == run.task and table.preset == preset]
        fixed = corrected(claim)
        pairs.append((gather(claim, mine, run.where), gather(fixed, mine, run.where) if fixed else None))
    flat = [evidence for pair in pairs for evidence in pair]
    tests = [evidence.p for evidence in flat if evidence is not None and evidence.p is not None]
    left = iter(holm(tests))
    adjusted = [next(left) if evidence is not None and evidence.p is not None else None for evidence in flat]
    return [decided(claim, found, adjusted[2 * place], fixed, adjusted[2 * place + 1])
            for place, (claim, (found, fixed)) in enumerate(zip(file.claims, pairs, strict=True))]  # fmt: skip


def corrected(claim: Claim) -> Claim | None:
    """Return the comparison without the known fault."""
    if claim.corrected is None:
        return None
    better, than = claim.corrected.better or claim.better, claim.corrected.than or claim.than
    return replace(claim, better=better, than=than, controls=(), corrected=None)


def decided(
    claim: Claim, found: Evidence, adjusted: float | None, fixed: Evidence | None, fixed_adjusted: float | None
) -> Verdict:
    """Decide one claim from its evidence and that of its corrected form."""
    kind, why = weighed(claim, found, adjusted)
    verdict = Verdict(claim, kind, found, adjusted, fixed)
    verdict = replace(verdict, why="; ".join(filter(None, [why, unsure(verdict), found.why])))
    if kind != "holds":
        return verdict
    if fixed is not None:
        again, _ = weighed(claim, fixed, fixed_adjusted)
        if again == "not enough data":
            missing = f"as released; the corrected comparison is not there: {fixed.why}"
            return replace(verdict, why="; ".join(filter(None, [verdict.why, missing])))
        if again == "weak":
            return replace(verdict, kind="weak", why="only the sign is left once the comparison is corrected")
        if again == "fails":
            return replace(verdict, kind="artefact")
    if verdict.control and found.shares[verdict.control] >= EXPLAINED:
        return replace(verdict, kind="explained")
    return verdict


def unsure(verdict: Verdict) -> str:
    """Return a warning where other seeds might well have the other sign, or nothing."""
    over_seeds = verdict.over_seeds
    if over_seeds is None or over_seeds.half is None or verdict.kind != "holds" or verdict.claim.relation == "near":
        return ""
    return "the interval over seeds includes 0" if abs(over_seeds.mean) < over_seeds.half else ""


def weighed(claim: Claim, found: Evidence, adjusted: float | None) -> tuple[str, str]:
    """Return `holds`, `weak`, `fails` or `not enough data`, and what kept it from holding."""
    effect = found.effect
    if effect is None:
        return "not enough data", ""
    if claim.relation == "near":
        return ("holds", "") if abs(effect) <= claim.within else ("fails", "")
    least = 0.0 if claim.relation == "below" else None  # at most the bound; every other difference is above 0
    if not all(value > 0 or value == least for value in found.by_seed.values()):
        return "fails", ""
    if not found.enough:
        return "weak", "the sign is right for every seed, the size is not"
    if adjusted is not None and adjusted > ALPHA:
        return "weak", "the test over items does not tell the two apart"
    return "holds", ""
