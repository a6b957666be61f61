"""Verdicts: what the evidence on the claims of a paper decides, in one of five words.

All comparisons of a claim must hold (intersection-union test): its p is the largest of theirs. Where one points the
other way, the p of a reversal is the smallest of those, times the number of comparisons. Both are adjusted by Holm over
the claims of the paper that are tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bench.leaderboards.claim.claim_files import Claim, ClaimFile
from bench.leaderboards.claim.evidence import PartEvidence, gather
from bench.leaderboards.claim.scale import PAPER, Scale, at_papers_scale, off_scale, scale_of
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.statistics.paired import MIN_SEEDS, holm
from bench.leaderboards.statistics.sums_reader import SumsReader
from bench.leaderboards.table import Table

__all__ = ["WORDS", "Paper", "Verdict", "Word", "judge"]

Word = Literal["seen here", "reversed here", "open", "not run", "not testable here"]
WORDS: Mapping[str, str] = {
    "seen here": "every comparison of the claim has the claimed direction, p at most 0.05 after Holm, or the same "
    "value in every seed",
    "reversed here": "a comparison of the claim has the other direction, p at most 0.05 after Holm",
    "open": "neither, with the seeds that were run",
    "not run": "a row that it compares, a control that it declares or a trivial control was not run",
    "not testable here": "a side does not clearly beat the task's trivial controls, or the claim is out of reach",
}


@dataclass(frozen=True)
class Verdict:
    """A claim and what its evidence decides.

    Args:
        claim, word: the claim and its verdict.
        why: what stops it, or which of several comparisons is reversed.
        p: of the verdict or, while it is open, of the nearer of both; after Holm. None where it was not tested.
        parts, corrected: the evidence, and the same without a known fault of the released code.
        scale: of the rows; None without any.
        off_scale: why the rows are not those of the paper's table.
    """

    claim: Claim
    word: Word
    why: tuple[str, ...] = ()
    p: float | None = None
    parts: tuple[PartEvidence, ...] = ()
    corrected: tuple[PartEvidence, ...] = ()
    scale: Scale | None = None
    off_scale: str = ""

    @property
    def is_tested(self) -> bool:
        """Whether its comparisons were tested; where they were not, nothing shows their effects."""
        return self.word not in ("not run", "not testable here")

    @property
    def is_shared(self) -> bool:
        """Whether it is seen here, and a control in place of the method has nine tenths of every effect or more."""
        shares: dict[str, list[float]] = {}
        for control in (control for part in self.parts for control in part.controls if control.replaced == "method"):
            shares.setdefault(control.label, []).append(control.share)
        return self.word == "seen here" and any(min(of_control) >= 0.9 for of_control in shares.values())

    @property
    def agrees(self) -> str:
        """Whether rows at the paper's scale agree with the paper; empty at any other scale."""
        if self.off_scale or self.word not in ("seen here", "reversed here"):
            return ""
        return "agrees with the paper" if self.word == "seen here" else "disagrees with the paper"


@dataclass(frozen=True)
class Paper:
    """The verdicts on the claims of a paper."""

    file: ClaimFile
    verdicts: Sequence[Verdict]


def judge(file: ClaimFile, tables: Sequence[Table], preset: str = "small") -> Paper:
    """Return the verdict on every claim of a file.

    Args:
        file: claims, and the runs that make their rows.
        tables: of any tasks, with all columns.
        preset: `paper` for tables at the papers' own settings, or `small` for those that the runs of the file name.
    """
    verdicts, sums = [], SumsReader()
    for listed in file.claims:
        claim, runs = at_papers_scale(listed, file) if preset == PAPER else (listed, file.runs)
        tested = () if claim.out_of_reach else claim.parts
        parts = tuple(gather(claim, part, runs[part.run], tables, sums) for part in tested)
        bare = replace(claim, controls=())
        corrected = tuple(gather(bare, part, runs[part.run], tables) for part in claim.corrected_parts)
        off = off_scale(claim, parts, preset)
        verdicts.append(_stopped(Verdict(claim, "open", (), None, parts, corrected, scale_of(parts), off)))
    return Paper(file, _decided(verdicts))


def _stopped(verdict: Verdict) -> Verdict:
    """Return a verdict with its word where something keeps the claim from being tested."""
    if verdict.claim.out_of_reach:
        return replace(verdict, word="not testable here", why=(verdict.claim.out_of_reach,))
    failed = dict.fromkeys(gate.why for part in verdict.parts for gate in part.gates if gate.state == "failed")
    if failed:
        parts = [part.missing for part in verdict.parts if part.effect is None]
        not_run = ", ".join(dict.fromkeys(name for missing in parts for name in missing.split(", ")))
        why = [f"not run: {not_run}"] if not_run else []
        return replace(verdict, word="not testable here", why=(*why, *failed))
    missing = dict.fromkeys(part.missing for part in verdict.parts if part.missing)
    missing |= dict.fromkeys(gate.why for part in verdict.parts for gate in part.gates if gate.state == "not run")
    if missing:
        return replace(verdict, word="not run", why=tuple(missing))
    few = {len(test.by_seed) for part in verdict.parts for test in part.contrasts if test.p is None}
    if few:
        return replace(verdict, why=(f"{min(few)} seeds, and an interval takes {MIN_SEEDS}",))
    return verdict


def _decided(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the same with what is decided of all claims that are tested."""
    tested = [place for place, verdict in enumerate(verdicts) if verdict.word == "open" and not verdict.why]
    decided = list(verdicts)
    for place, p in zip(tested, holm([_p(verdicts[place]) for place in tested]), strict=True):
        verdict = replace(verdicts[place], p=p)
        against = _against(verdict)
        if p <= ALPHA and against:
            which = f"in {', '.join(against)}"
            if len(against) == len(verdict.parts):
                which = f"in all {len(against)} comparisons"
            verdict = replace(verdict, word="reversed here", why=(which,) if len(verdict.parts) > 1 else ())
        elif p <= ALPHA:
            verdict = replace(verdict, word="seen here")
        decided[place] = verdict
    return decided


def _p(verdict: Verdict) -> float:
    """Return the p of a claim: of all its tests together, or of those that point the other way."""
    signed = _signed(verdict)
    other_way = [p for _, mean, p in signed if mean < 0]
    return min(1.0, len(signed) * min(other_way)) if other_way else max(p for _, _, p in signed)


def _against(verdict: Verdict) -> list[str]:
    """Return the comparisons that are reversed beyond the number of comparisons of the claim."""
    signed = _signed(verdict)
    parts = [part.part for part, mean, p in signed if mean < 0 and len(signed) * p <= ALPHA]
    return [f"{part.column} against {part.against.label}" for part in parts]


def _signed(verdict: Verdict) -> list[tuple[PartEvidence, float, float]]:
    """Return the mean and the p of everything that must be above 0, with the part that it is of."""
    pairs = [(part, test) for part in verdict.parts for test in part.contrasts]
    return [(part, test.mean, test.p) for part, test in pairs if test.p is not None]
