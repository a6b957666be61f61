"""Judged: what is known of one value of a leaderboard beside its mean."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALPHA", "Judged"]

ALPHA = 0.05
"""A p at most this large is a difference."""


@dataclass(frozen=True)
class Judged:
    """Interval, tie group and difference from the baseline.

    Args:
        half: half the width of the 95 % interval over seeds.
        group: 0 for the best row of the column and those that do not differ from it, then 1, ...; None if not tested.
        p: of the difference from the baseline, after Holm; None for the baseline and where not tested.
        difference: from the baseline, of all seeds together.
        low, high: ends of its 95 % bootstrap interval over test items.
        against: the baseline's row, by its place.
        markable: whether the column's rows are told apart by seeds, so that the value may be marked.
    """

    half: float | None = None
    group: int | None = None
    p: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    against: int | None = None
    markable: bool = False

    @property
    def differs(self) -> bool:
        """Whether the difference from the baseline is significant, in a column whose rows seeds tell apart."""
        return self.markable and self.p is not None and self.p <= ALPHA
