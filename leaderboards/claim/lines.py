"""Lines of one claim: what the paper has, what our rows have, and why the verdict is what it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.leaderboards.claim.checks import Check
from bench.leaderboards.claim.claim_files import Claim, Compared, RegressionCheck
from bench.leaderboards.claim.evidence import Evidence, corrected_claim
from bench.leaderboards.claim.verdicts import Verdict
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.sequential import LOOKS, level_of_a_look
from bench.leaderboards.statistics.tradeoff import render

__all__ = [
    "check_line",
    "effect_text",
    "evidence_lines",
    "paper_line",
    "published_text",
    "share_text",
    "shown",
    "sweep_lines",
    "threshold",
    "verdict_line",
]

OPEN_GAP = "not defined: the gap itself is open"
"""What is said of a share whose denominator may be 0."""
NO_SPREAD = "not defined: seeds do not vary"
"""What is said of a share that no interval can be given for."""


def shown(claim: Compared, effect: float) -> str:
    """Return an effect for people, in the words of its estimand.

    >>> from dataclasses import replace
    >>> from bench.leaderboards.claim.sides import Side
    >>> less = Claim("t", "s", "kld", "lower", Side("a"), Side("b"), quote="q", estimand="ratio", published=0.5)
    >>> shown(less, 0.6931)
    '0.5 times'
    >>> part = replace(less, estimand="share")
    >>> shown(part, 0.756), shown(part, 1.07), shown(part, -0.4)
    ('76% of the gap', 'all of the gap', 'none of the gap')
    """
    return f"{_number(claim, effect)}{_unit(claim)}"


def _number(claim: Compared, effect: float) -> str:
    """Return an effect without its unit."""
    estimand = _estimand(claim)
    if estimand == "ratio":
        return f"{math.exp(claim.sign * effect):.3g}"
    if estimand == "share":
        return share_text(effect)
    return f"{effect:+.2f}"


def _unit(claim: Compared) -> str:
    """Return what stands behind an effect, or behind the last of several."""
    return {"ratio": " times", "share": " of the gap"}.get(_estimand(claim), "")


def _estimand(claim: Compared) -> str:
    if isinstance(claim, Claim):
        return claim.estimand
    return ""


def share_text(share: float) -> str:
    """Return a share for people; outside 0 to 1 it is no share of anything, and has no number.

    >>> share_text(0.756), share_text(1.39), share_text(-0.2)
    ('76%', 'all', 'none')
    """
    if share > 1:
        return "all"
    if share < 0:
        return "none"
    return f"{share:.0%}"


def paper_line(claim: Claim) -> str:
    """Return what the paper has: its number and its words."""
    parts = [published_text(claim)]
    if claim.quote:
        parts.append(f'"{claim.quote}"')
    return "; ".join(filter(None, parts))


def published_text(claim: Claim) -> str:
    """Return the paper's number; nothing where it has words alone."""
    if claim.published is None:
        return ""
    if claim.estimand == "ratio":
        return f"{claim.published:g} times"
    if claim.estimand == "share":
        return f"{claim.published:.1%} of the gap to human text"
    if claim.than is None:
        return f"{claim.published:g}"
    return f"{claim.published:+g}"


def verdict_line(verdict: Verdict) -> str:
    """Return a verdict with its two facts and, of an inconclusive one, the seeds that it would take."""
    parts: list[str] = [verdict.kind]
    if verdict.kind in ("not run", "not testable here"):
        return verdict.kind
    if verdict.decision is not None:
        parts.append(f"direction {verdict.decision.direction}")
        if not verdict.off_scale:
            parts.append(f"size {verdict.decision.size}")
    if verdict.kind == "explained":
        parts.append(f"by {', '.join(verdict.explained_by)}")
    if verdict.kind == "inconclusive":
        parts.append(_seeds_line(verdict))
    return ", ".join(parts)


def _seeds_line(verdict: Verdict) -> str:
    """Return what would decide a verdict that is inconclusive."""
    if verdict.tied:
        return f"{verdict.tied}: more trials would tell"
    if verdict.needs is None:
        return "no number of seeds can be estimated"
    if verdict.needs > LOOKS[-1]:
        return (
            f"the last look, at {LOOKS[-1]} seeds, is likely to leave it open (about {verdict.needs} would decide it)"
        )
    return f"about {verdict.needs} seeds would decide it (an estimate)"


def evidence_lines(verdict: Verdict, *, short: bool = False) -> list[str]:
    """Return what stored runs say of a claim, as lines.

    Args:
        verdict: on it.
        short: name the seeds, without the effect of each.
    """
    evidence, lines = verdict.evidence, []
    if evidence.by_seed:
        lines.append(_effect_line(verdict, short))
    for label, share in (verdict.shares or {}).items():
        lines.append(_control_line(label, share, verdict.interval))
    lines += _corrected_lines(verdict)
    if verdict.stopped:
        lines.append(f"stopped: {verdict.stopped}")
    elif verdict.competence is not None:
        lines.append(f"competence: {verdict.competence.why}")
    if verdict.off_scale and not verdict.stopped and verdict.claim.estimand != "sign":
        lines.append(f"size not judged: {verdict.off_scale}")
    if evidence.why:
        lines.append(evidence.why)
    return lines


def _effect_line(verdict: Verdict, short: bool) -> str:
    """Return the effect over seeds, its interval and its tests in one line."""
    claim, evidence = verdict.claim, verdict.evidence
    assert evidence.effect is not None
    if verdict.gap_is_open:
        return f"{_subject(claim)}: a share of the gap is {OPEN_GAP} (n={len(evidence.by_seed)}), {evidence.n:,} rows"
    details = [seeds_text(list(evidence.by_seed)) if short else _by_seed(claim, evidence)]
    if verdict.effect is not None:
        details.append(f"{verdict.effect.degrees:.1f} degrees")
    tests = []
    if verdict.p is not None:
        tests.append(f"p {_p(verdict.p)} over looks and claims")
    if evidence.test is not None:
        tests.append(f"p {_p(evidence.test.p)} over {evidence.test.n:,} items")
    after = "".join(f"; {test}" for test in tests)
    interval = _interval_text(verdict)
    if interval:
        interval += f" at {level_of_a_look():.1%}"
    mean = f"{_subject(claim)}: {shown(claim, evidence.effect)}{interval}"
    return f"{mean} ({'; '.join(details)}){after}, {evidence.n:,} rows"


def effect_text(verdict: Verdict) -> str:
    """Return the effect over seeds, with its interval where there is one; nothing where no effect is known."""
    if verdict.evidence.effect is None or verdict.gap_is_open:
        return ""
    return shown(verdict.claim, verdict.evidence.effect) + _interval_text(verdict)


def _interval_text(verdict: Verdict) -> str:
    """Return the interval of the effect behind a comma; nothing where there is none."""
    claim, interval = verdict.claim, verdict.interval
    if interval is None or interval.low is None or interval.high is None:
        return ""
    ends = [_number(claim, interval.low), _number(claim, interval.high)]
    if claim.estimand == "ratio" and claim.sign < 0:
        ends.reverse()
    return f", {ends[0]} to {ends[1]}{_unit(claim)}"


def _control_line(label: str, share: Interval, effect: Interval | None) -> str:
    """Return how much of an effect a control has, with the interval of that.

    Args:
        label: of the control.
        share: its part of the effect.
        effect: the interval of the whole effect.
    """
    if share.low is None or share.high is None:
        why = OPEN_GAP
        if effect is not None and effect.low is None and effect.value:
            why = NO_SPREAD
        return f"control {label}: its share is {why}"
    value = share_text(share.value)
    ends = list(dict.fromkeys(map(share_text, (share.low, share.high))))
    if ends == [value]:
        return f"control {label} has {value} of it"
    return f"control {label} has {value} of it, {' to '.join(ends)}"


def _by_seed(compared: Compared, evidence: Evidence) -> str:
    """Return the effect of each seed, behind the seeds."""
    effects = ", ".join(_number(compared, effect) for effect in evidence.by_seed.values())
    return f"{seeds_text(list(evidence.by_seed))}: {effects}{_unit(compared)}"


def seeds_text(seeds: Sequence[int]) -> str:
    """Return seeds in few words.

    >>> seeds_text([0, 1, 2]), seeds_text([0, 3]), seeds_text([4])
    ('seeds 0 to 2', 'seeds 0, 3', 'seed 4')
    """
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}"


def _corrected_lines(verdict: Verdict) -> list[str]:
    """Return the effect of the comparison without a known fault, or why there is none; no line without a fault."""
    corrected, without_fault = verdict.claim.corrected, corrected_claim(verdict.claim)
    if corrected is None or without_fault is None or verdict.corrected is None:
        return []
    comparison = without_fault.better.label
    if without_fault.than is not None:
        comparison = f"{comparison} against {without_fault.than.label}"
    effect = verdict.corrected.why
    if verdict.corrected.effect is not None:
        effect = shown(verdict.claim, verdict.corrected.effect)
    if verdict.corrected_decision is not None:
        effect = f"{effect}, direction {verdict.corrected_decision.direction}"
    return [f"without a fault ({corrected.why}), {comparison}: {effect}"]


def check_line(check: Check) -> str:
    """Return a regression check, its state and its effect in one line."""
    parts = [f"{check.state}: {check.check.says} ({check.check.paper})"]
    if check.evidence.effect is not None:
        limit = ""
        if threshold(check.check):
            limit = f"; threshold of ours: {threshold(check.check)}"
        seeds = _by_seed(check.check, check.evidence)
        parts.append(f"{_subject(check.check)}: {check.evidence.effect:+.2f} ({seeds}{limit})")
    if check.evidence.why:
        parts.append(check.evidence.why)
    return "; ".join(parts)


def sweep_lines(check: Check) -> list[str]:
    """Return the table of a comparison of two sweeps; no line for other checks."""
    compared, tradeoff = check.check, check.evidence.tradeoff
    if tradeoff is None or tradeoff.difference is None or compared.than is None:
        return []
    return render(tradeoff, compared.at, compared.column, compared.better.method, compared.than.method)


def threshold(check: RegressionCheck) -> str:
    """Return the size that counts in a regression check, which is ours; nothing where the sign alone counts."""
    if check.relation == "near":
        return f"within {check.within:g}"
    if isinstance(check.bound, float | int):
        return f"{check.relation} {check.bound:g}"
    if check.factor:
        return f"{check.factor:g} times as much"
    if check.floor:
        return f"at least {check.floor:g}"
    return ""


def _subject(compared: Compared) -> str:
    """Return what the effect is of."""
    if compared.relation == "at_equal":
        return f"{compared.column} at equal {compared.at}"
    if compared.bound is None:
        return compared.column
    return f"{compared.column} {compared.relation} {compared.bound}"


def _p(p: float) -> str:
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}"
