"""Counts: how many claims have which verdict, by paper and by where the paper says them, and a paragraph on a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench.leaderboards.claim.checks import Check
from bench.leaderboards.claim.verdicts import KINDS, Paper, Verdict

__all__ = ["by_kind", "by_origin", "check_states", "check_summary", "counted", "share_stopped", "summary"]

ORIGINS = ("cell", "sentence", "figure")
"""Where a paper may say something; `Claim.origin` decides."""


def by_kind(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Return how many verdicts are of each kind, in the order of `KINDS`."""
    counts = Counter(verdict.kind for verdict in verdicts)
    return {kind: counts[kind] for kind in KINDS}


def by_origin(verdicts: Sequence[Verdict], kind: str) -> dict[str, int]:
    """Return how many verdicts of a kind are on cells, sentences and figures of papers."""
    counts = Counter(verdict.claim.origin for verdict in verdicts if verdict.kind == kind)
    return {origin: counts[origin] for origin in ORIGINS}


def check_states(checks: Sequence[Check]) -> dict[str, int]:
    """Return how many regression checks pass, fail and have nothing stored."""
    counts = Counter(check.state for check in checks)
    return {state: counts[state] for state in ("pass", "fail", "not run")}


def share_stopped(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims are stopped before they are judged, for people."""
    stopped = sum(1 for verdict in verdicts if verdict.kind == "not testable here")
    share = 0.0
    if verdicts:
        share = stopped / len(verdicts)
    return f"{stopped} of {len(verdicts)} claims ({share:.0%}) are not testable here"


def summary(paper: Paper) -> str:
    """Return one paragraph on a paper: its verdicts, what stops claims, and what is judged of sizes."""
    verdicts = paper.verdicts
    counts = [f"{n} {kind}" for kind, n in by_kind(verdicts).items() if n]
    untested = len(paper.file.untested)
    sentences = [
        f"{len(verdicts)} claims of the paper are put to the test: {', '.join(counts) or 'none'}",
        f"{untested} more need what a small run does not have",
    ]
    stops = sorted({verdict.stopped for verdict in verdicts if verdict.kind == "not testable here"})
    if stops:
        sentences.append(f"{share_stopped(verdicts)}: {'; '.join(stops)}")
    sizes = [verdict for verdict in verdicts if verdict.decision is not None and not verdict.off_scale]
    if sizes:
        judged = Counter(verdict.decision.size for verdict in sizes if verdict.decision is not None)
        sentences.append(f"sizes: {', '.join(f'{n} {size}' for size, n in judged.items())}")
    else:
        sentences.append("no row is at the paper's scale, so directions are judged and no sizes")
    refuted = [verdict.claim.says for verdict in verdicts if verdict.kind == "refuted"]
    if refuted:
        sentences.append(f"refuted: {'; '.join(refuted)}")
    return ". ".join(_upper(sentence) for sentence in sentences) + "."


def check_summary(paper: Paper) -> str:
    """Return how our regression checks on a paper stand, for people."""
    states = ", ".join(f"{n} {state}" for state, n in check_states(paper.checks).items() if n)
    return f"{len(paper.checks)} regression checks of ours, no claims: {states or 'none'}"


def counted(papers: Sequence[Paper]) -> list[list[str]]:
    """Return the table of counts: a row for each kind of verdict, a column for each paper and each origin."""
    every = [verdict for paper in papers for verdict in paper.verdicts]
    lines = [["verdict", *(paper.file.name for paper in papers), "all", *(f"by a {origin}" for origin in ORIGINS)]]
    for kind, n in by_kind(every).items():
        of_papers = [by_kind(paper.verdicts)[kind] for paper in papers]
        lines.append([kind, *map(str, of_papers), str(n), *map(str, by_origin(every, kind).values())])
    return lines


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
