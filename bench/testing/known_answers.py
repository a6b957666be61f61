"""Known answers: a verifier on claims that people have judged, so that a wrongly loaded checkpoint shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import MissingError
from bench.metrics import MetricEntry
from bench.tasks.files.known_answers import ANSWERS, Known

__all__ = ["Checked", "judged", "spread"]

if TYPE_CHECKING:
    from bench.metrics.score import Score

Z = 1.959964
"""Of a 95 % interval."""


@dataclass(frozen=True)
class Checked:
    """What a verifier said of claims with known answers.

    Args:
        column: its column in tables.
        signature: what it was.
        n_true: claims that people hold for true.
        n_false: claims that they do not.
        true_held: percent of the true ones that it holds for true.
        false_held: percent of the false ones that it holds for true.
    """

    column: str
    signature: str
    n_true: int
    n_false: int
    true_held: float
    false_held: float

    @property
    def accuracy(self) -> float:
        """Percent of right verdicts."""
        right = self.true_held * self.n_true + (100 - self.false_held) * self.n_false
        return right / (self.n_true + self.n_false)

    @property
    def balanced(self) -> tuple[float, float]:
        """Mean of the accuracies on true and on false claims, and half of its 95 % interval; chance is 50."""
        spread = sum(p * (100 - p) / n for p, n in ((self.true_held, self.n_true), (self.false_held, self.n_false)))
        return (self.true_held + 100 - self.false_held) / 2, Z * math.sqrt(spread) / 2

    @property
    def informs(self) -> bool:
        """Whether it is better than guessing."""
        mean, half = self.balanced
        return mean - half > 50

    @property
    def text(self) -> str:
        """For people."""
        mean, half = self.balanced
        verdict = "no better than guessing"
        if self.informs:
            verdict = "better than guessing"
        return (
            f"{self.column}: accuracy {self.accuracy:.1f} % of {self.n_true + self.n_false:,} claims; balanced "
            f"{mean:.1f} +- {half:.1f}; holds {self.true_held:.1f} % of {self.n_true:,} true and "
            f"{self.false_held:.1f} % of {self.n_false:,} false ones for true; {verdict}; {self.signature}"
        )


def judged(name: str, entry: MetricEntry, data_dir: Path | None, limit: int | None = None) -> Checked:
    """Let a metric family score claims that are true, and claims that are not, as it scores a system's texts.

    Args:
        name: of the family.
        entry: of it, which says which claims it judges.
        data_dir: holds logicnlg/, xsum/ or cnndm/ with the known answers.
        limit: about so many claims, evenly spaced; None for all.

    Raises:
        MissingError: its model or the claims are not here.
    """
    claims = spread(ANSWERS[entry.answers](data_dir), limit)
    true = [claim for claim in claims if claim.is_true]
    false = [claim for claim in claims if not claim.is_true]
    score, true_held = held_of(name, entry, true)
    _, false_held = held_of(name, entry, false)
    return Checked(score.name, score.signature, len(true), len(false), true_held, false_held)


def held_of(name: str, entry: MetricEntry, claims: Sequence[Known]) -> tuple[Score, float]:
    """Return a family's score on claims, and the percent of them that it holds for true."""
    if not claims:
        raise MissingError("expected true and false claims, found none of one kind; take more")
    rows = [{"id": claim.id, "text": claim.text} for claim in claims]
    scores = entry.load()(rows, {claim.id: claim.gold for claim in claims})
    score: Score = next(score for score in scores if score.higher_is_better is not None)
    if score.value is None:
        raise MissingError(f"{name}: {score.signature.rpartition('not applicable: ')[2]}")
    if score.higher_is_better:
        return score, score.value
    return score, 100 - score.value


def spread(claims: Sequence[Known], limit: int | None) -> Sequence[Known]:
    """Return about so many claims, evenly spaced, in pairs as they lie."""
    pairs = [claims[at : at + 2] for at in range(0, len(claims), 2)]
    if limit is None or limit >= len(claims):
        return claims
    wanted = max(1, limit // 2)
    return [claim for i in range(wanted) for claim in pairs[i * len(pairs) // wanted]]
