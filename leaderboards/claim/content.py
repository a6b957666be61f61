"""The replication report as plain content, for `bench claims --json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bench.leaderboards.claim.checks import Check
from bench.leaderboards.claim.claim_files import Compared
from bench.leaderboards.claim.counts import by_kind, summary
from bench.leaderboards.claim.evidence import Evidence
from bench.leaderboards.claim.lines import sweep_lines, threshold
from bench.leaderboards.claim.verdicts import Paper, Verdict

__all__ = ["content"]


def content(papers: Sequence[Paper]) -> list[dict[str, Any]]:
    """Return the report of each paper."""
    return [_paper(paper) for paper in papers]


def _paper(paper: Paper) -> dict[str, Any]:
    return {
        "paper": paper.file.name,
        "summary": summary(paper),
        "rebuttal": paper.file.rebuttal,
        "counts": by_kind(paper.verdicts),
        "claims": [_verdict(verdict) for verdict in paper.verdicts],
        "costs": list(paper.costs),
        "regression_checks": [_check(check) for check in paper.checks],
        "untested": [asdict(untested) for untested in paper.file.untested],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    claim, evidence = verdict.claim, verdict.evidence
    found = {
        **_compared(claim),
        "quote": claim.quote,
        "origin": claim.origin,
        "estimand": claim.estimand,
        "published": claim.published,
        "kind": verdict.kind,
        "direction": None,
        "size": None,
        "equivalent": None,
        **_evidence(evidence),
        "low": None,
        "high": None,
        "degrees": None,
        "p": verdict.p,
        "explained_by": list(verdict.explained_by),
        "controls": {label: asdict(share) for label, share in (verdict.shares or {}).items()},
        "corrected": None,
        "competence": None,
        "stopped": verdict.stopped,
        "size_not_judged": verdict.off_scale,
        "seeds_needed": verdict.needs,
        "tied": verdict.tied,
    }
    if verdict.decision is not None:
        found |= asdict(verdict.decision)
    if verdict.interval is not None:
        found |= {"low": verdict.interval.low, "high": verdict.interval.high}
    if verdict.effect is not None:
        found["degrees"] = verdict.effect.degrees
    if evidence.test is not None:
        found |= {"p_items": evidence.test.p, "n_items": evidence.test.n}
    if verdict.corrected is not None:
        found["corrected"] = {"effect": verdict.corrected.effect, "why": verdict.corrected.why}
    if verdict.competence is not None:
        found["competence"] = asdict(verdict.competence)
    return found


def _check(check: Check) -> dict[str, Any]:
    return {
        **_compared(check.check),
        "threshold_of_ours": threshold(check.check) or None,
        "state": check.state,
        **_evidence(check.evidence),
        "sweep": sweep_lines(check),
    }


def _compared(compared: Compared) -> dict[str, Any]:
    sides = {"better": compared.better.label}
    if compared.than is not None:
        sides["than"] = compared.than.label
    return {
        "says": compared.says,
        "paper": compared.paper,
        "column": compared.column,
        "relation": compared.relation,
        **sides,
        "bound": compared.bound,
        "at": compared.at,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "effect": evidence.effect,
        "by_seed": {str(seed): effect for seed, effect in evidence.by_seed.items()},
        "n_rows": evidence.n,
        "on": evidence.on,
        "why": evidence.why,
    }
