"""Replication report: what stored runs say of one paper's claims, for a terminal, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.claim.claim_files import Claim, ClaimFile
from bench.leaderboards.claim.evidence import ClaimEvidence, corrected
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
    gathered: Sequence[ClaimEvidence]

    @property
    def claims(self) -> list[ClaimEvidence]:
        """What the paper claims."""
        return [one for one in self.gathered if not one.claim.alarm]

    @property
    def alarms(self) -> list[ClaimEvidence]:
        """Checks of ours on the data."""
        return [one for one in self.gathered if one.claim.alarm]

    @property
    def summary(self) -> str:
        """How many claims there are, and of how many there are numbers."""
        held = sum(1 for one in self.claims if one.evidence.by_seed)
        untested = len(self.file.untested)
        return f"{len(self.claims)} claims, {held} with stored runs; {untested} not testable at this scale"

    @property
    def on(self) -> list[str]:
        """The leaderboards that the evidence is from, with what keeps them from being comparable."""
        return sorted({one.evidence.on for one in self.gathered if one.evidence.by_seed})


def terminal(papers: Sequence[Replication]) -> str:
    """Return the report as plain text."""
    parts = [f"{NOTICE}. {EXPLAINED}"]
    for paper in papers:
        lines = [f"{paper.file.name}: {paper.summary}", *(f"  on {on}" for on in paper.on)]
        for one in paper.claims:
            lines.append(f"  {one.claim.says} ({one.claim.paper})")
            lines += [f"      {line}" for line in evidence(one)]
        lines += [f"  {alarm(one)}" for one in paper.alarms]
        lines += [f"  not testable at this scale: {one.says} ({one.paper}): {one.why}" for one in paper.file.untested]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def markdown(papers: Sequence[Replication]) -> str:
    """Return the report as Markdown: a table of evidence for each paper, and the sweeps below it."""
    parts = [f"**{NOTICE.capitalize()}.** {EXPLAINED}"]
    for paper in papers:
        lines = [f"### {paper.file.name}", "", f"{paper.summary}.", *(f"\n*On {_cell(on)}*" for on in paper.on), "",
                 "| claim | where | evidence |",
                 "|---|---|---|"]  # fmt: skip
        sweeps: list[str] = []
        for one in paper.claims:
            table = sweep(one)
            told = "; ".join(line for line in evidence(one) if line not in table)
            lines.append(f"| {_cell(one.claim.says)} | {_cell(one.claim.paper)} | {_cell(told)} |")
            if table:
                sweeps += ["", one.claim.says, "", "```", *table, "```"]
        lines += sweeps
        for one in paper.alarms:
            lines += ["", _cell(alarm(one))]
        if paper.file.untested:
            untested = [f"- {one.says} ({one.paper}): {one.why}" for one in paper.file.untested]
            lines += ["", "Not testable at this scale:", "", *untested]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")


def content(papers: Sequence[Replication]) -> list[dict[str, Any]]:
    """Return the report as plain content."""
    return [{"paper": paper.file.name, "notice": NOTICE, "claims": [_content(one) for one in paper.claims],
             "alarms": [{**_content(one), "raised": raised(one)} for one in paper.alarms],
             "untested": [vars(one) for one in paper.file.untested]} for paper in papers]  # fmt: skip


def _content(one: ClaimEvidence) -> dict[str, Any]:
    claim, found, over_seeds, fixed = one.claim, one.evidence, one.over_seeds, one.corrected
    sides = {name: side.label for name, side in (("better", claim.better), ("than", claim.than)) if side}
    return {
        "says": claim.says, "paper": claim.paper, "column": claim.column, "relation": claim.relation, **sides,
        "bound": claim.bound, "at": claim.at, "threshold_of_ours": threshold(claim) or None,
        "effect": found.effect, "half": over_seeds.half if over_seeds else None,
        "by_seed": {str(seed): value for seed, value in found.by_seed.items()}, "n_rows": found.n, "on": found.on,
        "p": found.p, "p_holm": one.adjusted, "n_items": found.test.n if found.test else None,
        "controls": dict(found.shares),
        "corrected": None if fixed is None else {"effect": fixed.effect, "why": fixed.why or None},
        "sweep": sweep(one), "why": found.why,
    }  # fmt: skip


def evidence(one: ClaimEvidence) -> list[str]:
    """Return what stored runs say of a claim, as lines."""
    lines = []
    if one.over_seeds is not None:
        lines.append(effect(one))
    lines += [f"control {label} has {share:.0%} of it" for label, share in one.evidence.shares.items()]
    lines += without_fault(one)
    lines += sweep(one)
    if one.evidence.why:
        lines.append(one.evidence.why)
    return lines


def effect(one: ClaimEvidence) -> str:
    """Return the effect over seeds, the threshold and the test in one line."""
    claim, found, over_seeds = one.claim, one.evidence, one.over_seeds
    assert over_seeds is not None
    interval = "" if over_seeds.half is None else f" +- {over_seeds.half:.2f}"
    seeds = ", ".join(f"seed {seed} {value:+.2f}" for seed, value in found.by_seed.items())
    about = [f"n={over_seeds.n}: {seeds}"]
    if threshold(claim):
        about.append(f"threshold of ours: {threshold(claim)}")
    test = ""
    if found.test and one.adjusted is not None:
        test = f"; p {_p(one.adjusted)} over {found.test.n:,} items"
    return f"{subject(claim)}: {over_seeds.mean:+.2f}{interval} ({'; '.join(about)}){test}, {found.n:,} rows"


def without_fault(one: ClaimEvidence) -> list[str]:
    """Return the effect of the comparison without a known fault, or why there is none; nothing without a fault."""
    claim, fixed = one.claim.corrected, corrected(one.claim)
    if claim is None or fixed is None or one.corrected is None:
        return []
    against = f" against {fixed.than.label}" if fixed.than else ""
    said = f"without a fault ({claim.why}), {fixed.better.label}{against}"
    if one.corrected.effect is not None:
        return [f"{said}: {one.corrected.effect:+.2f}"]
    return [f"{said}: {one.corrected.why}"]


def raised(one: ClaimEvidence) -> bool | None:
    """Return whether an alarm is raised; None where nothing is stored for it."""
    if not one.evidence.by_seed:
        return None
    return min(one.evidence.by_seed.values()) < 0


def alarm(one: ClaimEvidence) -> str:
    """Return an alarm and whether it is raised, in one line."""
    state = {True: "RAISED", False: "not raised", None: "nothing is stored"}[raised(one)]
    return f"alarm of ours, {state}: {'; '.join([one.claim.says, *evidence(one)])}"


def sweep(one: ClaimEvidence) -> list[str]:
    """Return the table of a comparison of two sweeps, or nothing."""
    claim, found = one.claim, one.evidence.tradeoff
    if found is None or found.difference is None or claim.than is None:
        return []
    return render(found, claim.at, claim.column, claim.better.method, claim.than.method)


def subject(claim: Claim) -> str:
    """Return what the effect is a difference of."""
    if claim.relation == "at_equal":
        return f"{claim.column} at equal {claim.at}"
    return claim.column if claim.bound is None else f"{claim.column} {claim.relation} {claim.bound}"


def threshold(claim: Claim) -> str:
    """Return the size that counts here, which is ours and not the authors'; nothing where the sign alone counts."""
    if claim.relation == "near":
        return f"within {claim.within:g}"
    if isinstance(claim.bound, float | int):
        return f"{claim.relation} {claim.bound:g}"
    if claim.factor:
        return f"{claim.factor:g} times as much"
    return f"at least {claim.floor:g}" if claim.floor else ""


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else "< 0.001"
