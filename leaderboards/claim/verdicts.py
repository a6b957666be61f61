"""Verdicts: what the evidence on a claim decides, in two facts and one word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.leaderboards.claim.checks import Check
from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Run
from bench.leaderboards.claim.decision import Decision
from bench.leaderboards.claim.evidence import Evidence
from bench.leaderboards.claim.gates import Competence
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.moderated import Effect

__all__ = ["KINDS", "Kind", "Paper", "Verdict", "holds_zero", "kind_of"]

Kind = Literal["established", "explained", "artefact", "refuted", "inconclusive", "not testable here", "not run"]
KINDS: Mapping[Kind, str] = {
    "established": "the direction is as claimed",
    "explained": "the direction is as claimed, and the interval of a control's share of the effect is above 3/4",
    "artefact": "the direction is as claimed, and without a known fault of the released code it is the other one",
    "refuted": "the direction is the other one, or at the paper's scale the effect is too small to be of interest",
    "inconclusive": (
        "the seeds so far leave the direction open, or what it is without a known fault of the released code; or the "
        "direction may be that of a setting that was picked by next to nothing"
    ),
    "not testable here": "the models do not beat the task's trivial controls, or it is a matter of size alone",
    "not run": "a row that it needs, or a trivial control of its task, is not stored",
}
"""What a verdict may be, and what it means."""


@dataclass(frozen=True)
class Verdict:
    """A claim, its evidence and what it decides.

    Args:
        claim: the claim.
        run: that makes its rows.
        evidence: for it.
        kind: the verdict in one word, of `KINDS`.
        decision: direction and size; None where nothing could be judged.
        effect: moderated over its column; None with fewer than two seeds.
        interval: of the effect, at the level of one look.
        p: of no effect, adjusted over the looks and the paper's claims; None where the claim is not tested.
        gap: of the estimand `share`, what the shares are of, with its interval; None without two seeds.
        shares: by the label of each control, its share of the effect with an interval; None without an effect.
        explained_by: labels of the controls that explain it.
        corrected: evidence of the comparison without a known fault; None where the claim names no fault.
        corrected_decision: what that evidence decides.
        stopped: why its models cannot speak, or nothing.
        off_scale: why sizes are not judged, or nothing.
        competence: of the run's baseline; None without a gate.
        needs: an estimate of the seeds, in all, that would decide it; None where it is decided or cannot be said.
        tied: why its direction may be that of a setting, or nothing.
    """

    claim: Claim
    run: Run
    evidence: Evidence
    kind: Kind = "not run"
    decision: Decision | None = None
    effect: Effect | None = None
    interval: Interval | None = None
    p: float | None = None
    gap: Interval | None = None
    shares: Mapping[str, Interval] | None = None
    explained_by: tuple[str, ...] = ()
    corrected: Evidence | None = None
    corrected_decision: Decision | None = None
    stopped: str = ""
    off_scale: str = ""
    competence: Competence | None = None
    needs: int | None = None
    tied: str = ""

    @property
    def waits(self) -> bool:
        """Whether a trivial control has to be run before its models may speak."""
        return self.competence is not None and self.competence.passed is None

    @property
    def gap_is_open(self) -> bool:
        """Whether the gap that its effect is a share of may be 0: then the share is not defined."""
        return self.gap is not None and holds_zero(self.gap)


@dataclass(frozen=True)
class Paper:
    """A file of claims, the verdict on each, and our regression checks.

    Args:
        file: the claims.
        verdicts: one a claim.
        checks: of ours.
        costs: a line for each method whose training hours the paper states, with what it took here.
    """

    file: ClaimFile
    verdicts: Sequence[Verdict]
    checks: Sequence[Check] = ()
    costs: Sequence[str] = ()


def holds_zero(interval: Interval) -> bool:
    """Return whether an interval has 0 in it; one without ends, since nothing varies, where its value is 0.

    >>> holds_zero(Interval(1.0, -1.0, 3.0)), holds_zero(Interval(1.0, 0.5, 1.5)), holds_zero(Interval(1.0, None, None))
    (True, False, False)
    """
    if interval.low is None or interval.high is None:
        return interval.value == 0
    return interval.low <= 0 <= interval.high


def kind_of(verdict: Verdict) -> Kind:
    """Return a verdict in one word."""
    if not verdict.evidence.by_seed:
        return "not run"
    if verdict.stopped:
        return "not testable here"
    if verdict.waits:
        return "not run"
    decision, corrected = verdict.decision, verdict.corrected_decision
    if decision is None or not decision.decided:
        return "inconclusive"
    if verdict.tied:
        return "inconclusive"
    if decision.refuted:
        return "refuted"
    if corrected is not None and corrected.direction == "reversed":
        return "artefact"
    if verdict.claim.corrected is not None and (corrected is None or corrected.direction == "open"):
        return "inconclusive"
    if verdict.explained_by:
        return "explained"
    return "established"
