"""Replication report: what stored runs say of one paper's claims, for a terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.leaderboards.claim.claim_files import Claim, ClaimFile
from bench.leaderboards.claim.evidence import ClaimEvidence, corrected_claim
from bench.leaderboards.statistics.tradeoff import render

NOTICE = "verdict rule under revision"
EXPLAINED = (
    "This is the evidence alone. An effect is positive in the direction of its claim. "
    "A threshold is ours and not the authors'. p is adjusted by Holm over the file."
)


@dataclass(frozen=True)
class Replication:
    """A file of claims and the evidence on each."""

    file: ClaimFile
    evidence: Sequence[ClaimEvidence]

    @property
    def claims(self) -> list[ClaimEvidence]:
        """What the paper claims."""
        return [of_claim for of_claim in self.evidence if not of_claim.claim.alarm]

    @property
    def alarms(self) -> list[ClaimEvidence]:
        """Checks of ours on the data."""
        return [of_claim for of_claim in self.evidence if of_claim.claim.alarm]

    @property
    def summary(self) -> str:
        """How many claims there are, how many of them have numbers, and how many cannot be tested."""
        with_runs = sum(1 for of_claim in self.claims if of_claim.evidence.by_seed)
        untested = len(self.file.untested)
        return f"{len(self.claims)} claims, {with_runs} with stored runs; {untested} not testable at this scale"

    @property
    def on(self) -> list[str]:
        """The leaderboards that the evidence is from, with what keeps them from being comparable."""
        return sorted({of_claim.evidence.on for of_claim in self.evidence if of_claim.evidence.by_seed})


# Formats ----------------------------------------------------------------------------------------------------------


def terminal(papers: Sequence[Replication]) -> str:
    """Return the report as plain text."""
    return "\n\n".join([f"{NOTICE}. {EXPLAINED}", *map(_terminal_paper, papers)])


def _terminal_paper(paper: Replication) -> str:
    lines = [f"{paper.file.name}: {paper.summary}", *(f"  on {on}" for on in paper.on)]
    for of_claim in paper.claims:
        lines.append(f"  {of_claim.claim.says} ({of_claim.claim.paper})")
        lines += [f"      {line}" for line in evidence_lines(of_claim)]
    lines += [f"  {alarm_line(alarm)}" for alarm in paper.alarms]
    for untested in paper.file.untested:
        lines.append(f"  not testable at this scale: {untested.says} ({untested.paper}): {untested.why}")
    return "\n".join(lines)


def markdown(papers: Sequence[Replication]) -> str:
    """Return the report as Markdown: a table of evidence for each paper, and the sweeps below it."""
    return "\n\n".join([f"**{NOTICE.capitalize()}.** {EXPLAINED}", *map(_markdown_paper, papers)])


def _markdown_paper(paper: Replication) -> str:
    lines = [f"### {paper.file.name}", "", f"{paper.summary}."]
    lines += [f"\n*On {_escaped(on)}*" for on in paper.on]
    lines += ["", "| claim | where | evidence |", "|---|---|---|"]
    sweeps: list[str] = []
    for of_claim in paper.claims:
        claim, sweep = of_claim.claim, sweep_lines(of_claim)
        evidence = "; ".join(line for line in evidence_lines(of_claim) if line not in sweep)
        lines.append(f"| {_escaped(claim.says)} | {_escaped(claim.paper)} | {_escaped(evidence)} |")
        if sweep:
            sweeps += ["", claim.says, "", "```", *sweep, "```"]
    lines += sweeps
    for alarm in paper.alarms:
        lines += ["", _escaped(alarm_line(alarm))]
    if paper.file.untested:
        lines += ["", "Not testable at this scale:", ""]
    lines += [f"- {untested.says} ({untested.paper}): {untested.why}" for untested in paper.file.untested]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")


def content(papers: Sequence[Replication]) -> list[dict[str, Any]]:
    """Return the report as plain content."""
    return [_paper_content(paper) for paper in papers]


def _paper_content(paper: Replication) -> dict[str, Any]:
    return {
        "paper": paper.file.name,
        "notice": NOTICE,
        "claims": [_claim_content(of_claim) for of_claim in paper.claims],
        "alarms": [{**_claim_content(alarm), "raised": raised(alarm)} for alarm in paper.alarms],
        "untested": [asdict(untested) for untested in paper.file.untested],
    }


def _claim_content(of_claim: ClaimEvidence) -> dict[str, Any]:
    claim, evidence = of_claim.claim, of_claim.evidence
    sides = {"better": claim.better.label}
    if claim.than is not None:
        sides["than"] = claim.than.label
    half = n_items = corrected = None
    if of_claim.over_seeds is not None:
        half = of_claim.over_seeds.half
    if evidence.test is not None:
        n_items = evidence.test.n
    if of_claim.corrected is not None:
        corrected = {"effect": of_claim.corrected.effect, "why": of_claim.corrected.why or None}
    return {
        "says": claim.says,
        "paper": claim.paper,
        "column": claim.column,
        "relation": claim.relation,
        **sides,
        "bound": claim.bound,
        "at": claim.at,
        "threshold_of_ours": threshold(claim) or None,
        "effect": evidence.effect,
        "half": half,
        "by_seed": {str(seed): effect for seed, effect in evidence.by_seed.items()},
        "n_rows": evidence.n,
        "on": evidence.on,
        "p": evidence.p,
        "p_holm": of_claim.adjusted,
        "n_items": n_items,
        "controls": dict(evidence.shares),
        "corrected": corrected,
        "sweep": sweep_lines(of_claim),
        "why": evidence.why,
    }


# Lines of one claim -----------------------------------------------------------------------------------------------


def evidence_lines(of_claim: ClaimEvidence) -> list[str]:
    """Return what stored runs say of a claim, as lines."""
    lines = []
    if of_claim.over_seeds is not None:
        lines.append(effect_line(of_claim))
    lines += [f"control {label} has {share:.0%} of it" for label, share in of_claim.evidence.shares.items()]
    lines += corrected_lines(of_claim)
    lines += sweep_lines(of_claim)
    if of_claim.evidence.why:
        lines.append(of_claim.evidence.why)
    return lines


def effect_line(of_claim: ClaimEvidence) -> str:
    """Return the effect over seeds, the threshold and the test in one line."""
    claim, evidence, over_seeds = of_claim.claim, of_claim.evidence, of_claim.over_seeds
    assert over_seeds is not None
    interval = test = ""
    if over_seeds.half is not None:
        interval = f" +- {over_seeds.half:.2f}"
    if evidence.test and of_claim.adjusted is not None:
        test = f"; p {_p(of_claim.adjusted)} over {evidence.test.n:,} items"
    seeds = ", ".join(f"seed {seed} {effect:+.2f}" for seed, effect in evidence.by_seed.items())
    details = [f"n={over_seeds.n}: {seeds}"]
    if threshold(claim):
        details.append(f"threshold of ours: {threshold(claim)}")
    return f"{subject(claim)}: {over_seeds.mean:+.2f}{interval} ({'; '.join(details)}){test}, {evidence.n:,} rows"


def corrected_lines(of_claim: ClaimEvidence) -> list[str]:
    """Return the effect of the comparison without a known fault, or why there is none; no line without a fault."""
    corrected, without_fault = of_claim.claim.corrected, corrected_claim(of_claim.claim)
    if corrected is None or without_fault is None or of_claim.corrected is None:
        return []
    comparison = without_fault.better.label
    if without_fault.than is not None:
        comparison = f"{comparison} against {without_fault.than.label}"
    effect = of_claim.corrected.why
    if of_claim.corrected.effect is not None:
        effect = f"{of_claim.corrected.effect:+.2f}"
    return [f"without a fault ({corrected.why}), {comparison}: {effect}"]


def sweep_lines(of_claim: ClaimEvidence) -> list[str]:
    """Return the table of a comparison of two sweeps; no line for other claims."""
    claim, tradeoff = of_claim.claim, of_claim.evidence.tradeoff
    if tradeoff is None or tradeoff.difference is None or claim.than is None:
        return []
    return render(tradeoff, claim.at, claim.column, claim.better.method, claim.than.method)


def alarm_line(alarm: ClaimEvidence) -> str:
    """Return an alarm and whether it is raised, in one line."""
    state = {True: "RAISED", False: "not raised", None: "nothing is stored"}[raised(alarm)]
    return f"alarm of ours, {state}: {'; '.join([alarm.claim.says, *evidence_lines(alarm)])}"


def raised(alarm: ClaimEvidence) -> bool | None:
    """Return whether an alarm is raised; None where nothing is stored for it."""
    if not alarm.evidence.by_seed:
        return None
    return min(alarm.evidence.by_seed.values()) < 0


def subject(claim: Claim) -> str:
    """Return what the effect is a difference of."""
    if claim.relation == "at_equal":
        return f"{claim.column} at equal {claim.at}"
    if claim.bound is None:
        return claim.column
    return f"{claim.column} {claim.relation} {claim.bound}"


def threshold(claim: Claim) -> str:
    """Return the size that counts here, which is ours and not the authors'; nothing where the sign alone counts."""
    if claim.relation == "near":
        return f"within {claim.within:g}"
    if isinstance(claim.bound, float | int):
        return f"{claim.relation} {claim.bound:g}"
    if claim.factor:
        return f"{claim.factor:g} times as much"
    if claim.floor:
        return f"at least {claim.floor:g}"
    return ""


def _p(p: float) -> str:
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}"
