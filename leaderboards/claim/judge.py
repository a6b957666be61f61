"""Judging: evidence on every claim of a paper becomes verdicts.

The rule is `decision.py`. Here are its inputs: effects moderated over all contrasts of a column, with what the test
items add to their error, and who may speak at all. p-values are adjusted over the looks and over a paper's claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.leaderboards.claim.checks import checked
from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Run
from bench.leaderboards.claim.decision import Decision, MeasuredClaim, decide_paper
from bench.leaderboards.claim.estimands import size_of
from bench.leaderboards.claim.evidence import BySeed, Evidence, corrected_claim, gather
from bench.leaderboards.claim.gates import competence
from bench.leaderboards.claim.scale import at_papers_scale, backbone_of, off_scale
from bench.leaderboards.claim.ties import tie
from bench.leaderboards.claim.verdicts import Paper, Verdict, kind_of
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.moderated import Contrast, Effect, contrast_of, moderate
from bench.leaderboards.statistics.sequential import (
    adjusted_over_looks,
    last_look,
    level_of_a_look,
    next_look,
    seeds_needed,
)
from bench.leaderboards.statistics.share import EXPLAINED, share_of_effect
from bench.leaderboards.table import Table

__all__ = ["judge"]


def judge(file: ClaimFile, tables: Sequence[Table], preset: str = "small") -> Paper:
    """Return the verdict on every claim of a file.

    Args:
        file: claims and the runs that make their rows.
        tables: of any tasks, with all columns.
        preset: tables of another preset are left out, since scale may decide what is claimed.
    """
    verdicts = []
    for of_file in file.claims:
        claim, run = at_papers_scale(of_file, file.run_of(of_file), preset)
        of_claim = [table for table in tables if table.task == run.task and table.preset == preset]
        verdicts.append(_with_effect(_gathered(claim, run, of_claim)))
    verdicts = _decided(verdicts)
    for place, verdict in enumerate(verdicts):
        verdict = replace(verdict, tied=tie(verdict))
        verdict = replace(verdict, kind=kind_of(verdict))
        if verdict.kind == "inconclusive" and verdict.effect is not None and not verdict.tied:
            verdict = replace(verdict, needs=seeds_needed(verdict.effect))
        verdicts[place] = verdict
    return Paper(file, verdicts, checked(file, tables, preset))


def _gathered(claim: Claim, run: Run, tables: Sequence[Table]) -> Verdict:
    """Return a claim with its evidence, and with what stops it from being judged."""
    backbone = backbone_of(claim)
    evidence, corrected = gather(claim, tables, run.where, backbone), None
    if not claim.every_seed:
        evidence = _at_last_look(evidence)
    without_fault = corrected_claim(claim)
    if without_fault is not None:
        corrected = _at_last_look(gather(without_fault, tables, run.where, backbone))
    verdict = Verdict(claim, run, evidence, corrected=corrected)
    if evidence.table is None or evidence.row is None:
        return verdict
    scale = off_scale(claim, evidence.table, evidence.row)
    able = competence(claim, run, evidence.table)
    stopped = ""
    if able is not None and able.passed is False:
        stopped = able.why
    elif claim.relation == "near" and scale:
        stopped = f"how much is alike is a matter of size: {scale}"
    return replace(verdict, off_scale=scale, competence=able, stopped=stopped)


def _at_last_look(evidence: Evidence) -> Evidence:
    """Return the same over the first seeds that make a look; the others wait for the next one, and it is said."""
    seeds = sorted(evidence.by_seed)
    look = last_look(len(seeds))
    if look is None or look == len(seeds):
        return evidence
    waiting = f"{len(seeds) - look} seeds are beyond the last look"
    if following := next_look(look):
        waiting = f"{len(seeds) - look} seeds wait for the look at {following}"
    by_seed = {seed: evidence.by_seed[seed] for seed in seeds[:look]}
    return replace(evidence, by_seed=by_seed, why="; ".join(filter(None, [evidence.why, waiting])))


def _with_effect(verdict: Verdict) -> Verdict:
    """Return the same with its effect and interval, and the shares of its controls."""
    claim, evidence = verdict.claim, verdict.evidence
    if claim.every_seed:
        return replace(verdict, decision=_of_every_seed(evidence.by_seed))
    effect = _effect(evidence)
    if effect is None:
        return verdict
    interval, shares = effect.interval(level_of_a_look()), _shares(evidence)
    explained = [label for label, share in shares.items() if share.low is not None and share.low > EXPLAINED]
    return replace(
        verdict, effect=effect, interval=interval, gap=_gap(evidence), shares=shares, explained_by=tuple(explained)
    )


def _of_every_seed(by_seed: BySeed) -> Decision | None:
    """Return what seeds decide of a statement about every model: one against it reverses it."""
    if len(by_seed) < 2:
        return None
    if min(by_seed.values()) > 0:
        return Decision("established", "open", False)
    return Decision("reversed", "open", False)


def _effect(evidence: Evidence) -> Effect | None:
    """Return an effect moderated over its column; None with fewer than two seeds."""
    if len(evidence.by_seed) < 2:
        return None
    own = contrast_of(list(evidence.by_seed.values()), evidence.item_variance, evidence.items)
    return moderate([own, *_column(evidence)])[0]


def _gap(evidence: Evidence) -> Interval | None:
    """Return the gap that an effect is a share of, over the seeds of the effect; None where it is of none."""
    gaps = [evidence.gaps[seed] for seed in evidence.by_seed if seed in evidence.gaps]
    if len(gaps) < 2:
        return None
    return moderate([contrast_of(gaps)])[0].interval(level_of_a_look())


def _column(evidence: Evidence) -> list[Contrast]:
    """Return the contrasts of the other rows of a column."""
    return [contrast_of(list(by_seed.values())) for by_seed in evidence.column]


def _shares(evidence: Evidence) -> dict[str, Interval]:
    """Return the share of the effect that each control has, with its interval, over the seeds that both have."""
    shares = {}
    for label, of_control in evidence.controls.items():
        seeds = [seed for seed in evidence.by_seed if seed in of_control]
        if len(seeds) < 2:
            continue
        effect = [evidence.by_seed[seed] for seed in seeds]
        control = [of_control[seed] for seed in seeds]
        column = [contrast_of(effect), *_column(evidence)]
        shares[label] = share_of_effect(control, effect, column, level_of_a_look())
    return shares


def _decided(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the same with what is decided, over all claims of the paper that are tested.

    A claim that is stopped, or waits for a control, is not tested and costs the others nothing. Corrected comparisons
    count as tests: they may turn a verdict.
    """
    places, measured = [], []
    corrected: dict[int, MeasuredClaim] = {}
    for place, verdict in enumerate(verdicts):
        if verdict.effect is None or verdict.stopped or verdict.waits:
            continue
        places.append(place)
        measured.append(_measured(verdict, verdict.effect))
        if verdict.corrected is not None:
            effect = _effect(verdict.corrected)
            if effect is not None:
                corrected[place] = MeasuredClaim(effect)
    both = [*measured, *corrected.values()]
    decisions, adjusted = decide_paper(both), adjusted_over_looks([one.effect.p for one in both])
    after = list(verdicts)
    for place, decision, p in zip(places, decisions, adjusted, strict=False):
        after[place] = replace(verdicts[place], decision=_of_relation(verdicts[place], decision), p=p)
    for place, decision in zip(corrected, decisions[len(measured) :], strict=True):
        after[place] = replace(after[place], corrected_decision=decision)
    return after


def _measured(verdict: Verdict, effect: Effect) -> MeasuredClaim:
    """Return a claim as the rule takes it: with sizes only where they can be compared with the paper's."""
    if verdict.off_scale:
        return MeasuredClaim(effect)
    return MeasuredClaim(effect, size_of(verdict.claim), verdict.claim.smallest or None)


def _of_relation(verdict: Verdict, decision: Decision) -> Decision:
    """Return what is decided of a claim; one that two rows are alike is established where they are equivalent."""
    if verdict.claim.relation != "near" or verdict.interval is None:
        return decision
    if decision.equivalent:
        return Decision("established", "open", False)
    low, high, within = verdict.interval.low, verdict.interval.high, verdict.claim.smallest
    outside = low is not None and high is not None and (low > within or high < -within)
    if outside and decision.direction != "open":
        return Decision("reversed", "open", False)
    return Decision("open", "open", False)
