"""Replication report: verdicts of one paper's claims, with their evidence, for a terminal, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.claim_files import Claim, ClaimFile
from bench.leaderboards.tradeoff import render
from bench.leaderboards.verdicts import KINDS, Verdict, corrected

SAID = {"explained": "explained by a control"}


@dataclass(frozen=True)
class Replication:
    """A file of claims and a verdict on each."""

    file: ClaimFile
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims of each verdict there is, in the order of `KINDS`."""
        found = Counter(verdict.kind for verdict in self.verdicts)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    @property
    def summary(self) -> str:
        """Counts in words."""
        parts = [f"{n} {SAID.get(kind, kind)}" for kind, n in self.counts.items()]
        return f"{len(self.verdicts)} claims: {', '.join(parts)}; {len(self.file.untested)} not testable at this scale"

    @property
    def on(self) -> list[str]:
        """The leaderboards that verdicts rest on, with what keeps them from being comparable."""
        return sorted({verdict.evidence.on for verdict in self.verdicts if verdict.evidence.by_seed})


def terminal(found: Sequence[Replication]) -> str:
    """Return the report as plain text."""
    parts = []
    for paper in found:
        lines = [f"{paper.file.name}: {paper.summary}", *(f"  on {on}" for on in paper.on)]
        for verdict in paper.verdicts:
            lines.append(f"  {verdict.text}: {verdict.claim.says} ({verdict.claim.paper})")
            lines += [f"      {line}" for line in evidence(verdict)]
        lines += [f"  not testable: {one.says} ({one.paper}): {one.why}" for one in paper.file.untested]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def markdown(found: Sequence[Replication]) -> str:
    """Return the report as Markdown: a table of verdicts for each paper, and the sweeps below it."""
    parts = []
    for paper in found:
        lines = [f"### {paper.file.name}", "", f"{paper.summary}.", *(f"\n*On {_cell(on)}*" for on in paper.on), "",
                 "| verdict | claim | where | evidence |",
                 "|---|---|---|---|"]  # fmt: skip
        sweeps: list[str] = []
        for verdict in paper.verdicts:
            table = sweep(verdict)
            cells = [f"**{verdict.text}**", verdict.claim.says, verdict.claim.paper,
                     "; ".join(line for line in evidence(verdict) if line not in table)]  # fmt: skip
            lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
            if table:
                sweeps += ["", verdict.claim.says, "", "```", *table, "```"]
        untested = [f"- {one.says} ({one.paper}): {one.why}" for one in paper.file.untested]
        parts.append(
            "\n".join([*lines, *sweeps, *(["", "Not testable at this scale:", "", *untested] if untested else [])])
        )
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")


def content(found: Sequence[Replication]) -> list[dict[str, Any]]:
    """Return the report as plain content."""
    return [{"paper": paper.file.name, "counts": paper.counts, "claims": [_content(v) for v in paper.verdicts],
             "untested": [vars(one) for one in paper.file.untested]} for paper in found]  # fmt: skip


def _content(verdict: Verdict) -> dict[str, Any]:
    claim, found, over_seeds = verdict.claim, verdict.evidence, verdict.over_seeds
    sides = {name: side.label for name, side in (("better", claim.better), ("than", claim.than)) if side}
    fixed = verdict.corrected
    return {
        "verdict": verdict.kind, "text": verdict.text, "says": claim.says, "paper": claim.paper,
        "column": claim.column, "relation": claim.relation, **sides, "bound": claim.bound, "floor": claim.floor,
        "factor": claim.factor, "within": claim.within, "at": claim.at,
        "effect": found.effect, "half": over_seeds.half if over_seeds else None,
        "by_seed": {str(seed): value for seed, value in found.by_seed.items()}, "n_rows": found.n, "on": found.on,
        "p": found.p, "p_holm": verdict.adjusted, "n_items": found.test.n if found.test else None,
        "controls": dict(found.shares),
        "corrected": None if fixed is None else {"effect": fixed.effect, "why": fixed.why or None},
        "sweep": sweep(verdict), "why": verdict.why,
    }  # fmt: skip


def evidence(verdict: Verdict) -> list[str]:
    """Return what a verdict rests on, as lines."""
    claim, found, over_seeds = verdict.claim, verdict.evidence, verdict.over_seeds
    lines = []
    if over_seeds is not None:
        seeds = ", ".join(f"seed {seed} {value:+.2f}" for seed, value in found.by_seed.items())
        interval = "" if over_seeds.half is None else f" +- {over_seeds.half:.2f}"
        test = f"; p {_p(verdict.adjusted)} over {found.test.n:,} items" if found.test and verdict.adjusted else ""
        lines.append(f"{subject(claim)}: {over_seeds.mean:+.2f}{interval} (n={over_seeds.n}: {seeds}; "
                     f"claimed {claimed(claim)}){test}, {found.n:,} rows")  # fmt: skip
    lines += [f"{label} has {share:.0%} of it" for label, share in found.shares.items()]
    fixed = corrected(claim)
    if fixed is not None and verdict.corrected is not None and verdict.corrected.effect is not None:
        against = f" against {fixed.than.label}" if fixed.than else ""
        lines.append(f"corrected, {fixed.better.label}{against}: {verdict.corrected.effect:+.2f}")
    return [*lines, *sweep(verdict), *([verdict.why] if verdict.why else [])]


def sweep(verdict: Verdict) -> list[str]:
    """Return the table of a comparison of two sweeps, or nothing."""
    claim, found = verdict.claim, verdict.evidence.tradeoff
    if found is None or found.difference is None or claim.than is None:
        return []
    return render(found, claim.at, claim.column, claim.better.method, claim.than.method)


def subject(claim: Claim) -> str:
    """Return what the effect is a difference of."""
    if claim.relation == "at_equal":
        return f"{claim.column} at equal {claim.at}"
    return claim.column if claim.bound is None else f"{claim.column} {claim.relation} {claim.bound}"


def claimed(claim: Claim) -> str:
    """Return the size that was claimed."""
    if claim.relation == "near":
        return f"within {claim.within:g}"
    if claim.relation == "below":
        return "at least 0"
    if claim.factor:
        return f"{claim.factor:g} times as much"
    return f"at least {claim.floor:g}" if claim.floor else "more than 0"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.001 else "< 0.001"
