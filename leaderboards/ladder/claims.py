"""Claims on a ladder: the papers' claims whose two methods and metric a ladder has, as questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.leaderboards.claim.claim_files import Claim, ClaimFile
from bench.leaderboards.claim.sides import Side
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import Question

__all__ = ["claim_questions"]


def claim_questions(
    files: Iterable[ClaimFile], ladder: Ladder, decodings: Mapping[str, str] | None = None
) -> list[Question]:
    """Return the claims that one method stands above or below another in a metric of a ladder.

    They are asked of the ladder's text and settings, not of the paper's. A claim on rows of other settings, on two
    decodings or another one than the ladder's, on one row alone or on a human text is left out.

    Args:
        files: of claims.
        ladder: with the methods and metrics.
        decodings: of its methods; a method without one stands for any.

    Returns:
        In the order of the files; the first method is the one that does better in the metric where the claim is true.
    """
    questions = []
    for file in files:
        for place, claim in enumerate(file.claims, 1):
            if _can_be_asked(claim, ladder, decodings or {}):
                questions.append(_question(f"{file.short}/{place}", claim, ladder))
    return questions


def _can_be_asked(claim: Claim, ladder: Ladder, decodings: Mapping[str, str]) -> bool:
    if claim.than is None or claim.relation not in ("lower", "higher"):
        return False
    sides = (claim.better, claim.than)
    if any(side.where for side in sides) or claim.better.decoding != claim.than.decoding:
        return False
    if not all(_is_decoded(side, decodings) for side in sides):
        return False
    methods = {side.method for side in sides}
    return len(methods) == 2 and methods <= set(ladder.methods) and claim.column in ladder.metrics


def _is_decoded(side: Side, decodings: Mapping[str, str]) -> bool:
    """Return whether a side names no decoding, or that of its method."""
    if not side.decoding or side.method not in decodings:
        return True
    return side.decodes(decodings[side.method])


def _question(name: str, claim: Claim, ladder: Ladder) -> Question:
    """Return one claim as a question; where the worse value is claimed, its methods change sides."""
    assert claim.than is not None
    better, than = claim.better.method, claim.than.method
    if claim.sign != ladder.sign(claim.column):
        better, than = than, better
    return Question(claim.column, better, than, claim=name, says=claim.says, where=claim.paper, quote=claim.quote)
