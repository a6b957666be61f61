"""Decision: what an interval says of a claim, as two facts. A pure rule: no files, no rows.

The errors of the rule were simulated before it was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.moderated import Effect
from bench.leaderboards.statistics.sequential import adjusted_over_looks, level_of_a_look
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["Decision", "Marks", "MeasuredClaim", "decide", "decide_paper", "marks"]

Direction = Literal["established", "reversed", "open"]
Size = Literal["compatible", "smaller", "larger", "open"]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Decision:
    """What an interval says of a claim.

    Args:
        direction: `established` where the whole interval is above 0, `reversed` where it is below, else `open`.
        size: `compatible` where the claimed size is in the interval, `smaller` where the interval is below it, `larger`
            where it is above; `open` without a claimed size or without an interval.
        equivalent: whether the whole interval is nearer to 0 than the smallest effect of interest.
    """

    direction: Direction
    size: Size
    equivalent: bool

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted: only where it is reversed, or equivalent to nothing.

        An effect that is smaller than claimed, with a direction that is open, refutes nothing.
        """
        return self.direction == "reversed" or self.equivalent

    @property
    def decided(self) -> bool:
        """Whether no more seeds are asked for: the direction is known, or the effect is too small to be of interest."""
        return self.direction != "open" or self.equivalent


@dataclass(frozen=True)
class MeasuredClaim:
    """A claim that has an effect; sizes as for `decide`."""

    effect: Effect
    claimed: float | None = None
    smallest: float | None = None

    @property
    def p_equivalent(self) -> float:
        """Two-sided p of an effect that is of interest; 1 where no smallest one is stated."""
        if self.smallest is None:
            return 1.0
        return self.effect.p_equivalent(self.smallest)


@dataclass(frozen=True)
class Marks:
    """The statements of the rule, each true or not; arrays of one shape."""

    established: Booleans
    reversed: Booleans
    smaller: Booleans
    larger: Booleans
    equivalent: Booleans


def marks(low: ArrayLike, high: ArrayLike, claimed: float = np.nan, smallest: float = np.nan) -> Marks:
    """Return which statements intervals make; a bound or size that is NaN makes none.

    Equivalence is two one-sided tests (Schuirmann 1987). Its interval usually has the level 1 - 2 alpha; here it has
    the level of all other statements, 1 - alpha. It can refute a paper, and the narrower interval is wrong in 5.3 %
    where 5 % are meant.

    Args:
        low, high: ends of the intervals, positive in the claimed direction.
        claimed: size in the unit of the interval, above 0.
        smallest: smallest effect of interest, above 0.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return Marks(
        established=low > 0,
        reversed=high < 0,
        smaller=high < claimed,
        larger=low > claimed,
        equivalent=(-smallest < low) & (high < smallest),
    )


def decide(interval: Interval, claimed: float | None = None, smallest: float | None = None) -> Decision:
    """Return what an interval says of a claim.

    Args:
        interval: of the effect, positive in the claimed direction. For a ratio it is that of the logarithm of the
            ratio, and the sizes are logarithms too. Without ends, everything is open.
        claimed: the size that the paper states, in the interval's unit; None for a claim of direction alone, or where
            the scale is not the paper's.
        smallest: smallest effect of interest, in the interval's unit; None where none is stated.

    Raises:
        ValueError: a size that is not above 0.

    >>> decide(Interval(1.0, 0.2, 1.8), claimed=2.0)
    Decision(direction='established', size='smaller', equivalent=False)
    >>> decide(Interval(0.1, -0.2, 0.4), claimed=2.0, smallest=0.5).refuted
    True
    """
    for name, size in (("claimed size", claimed), ("smallest effect of interest", smallest)):
        if size is not None and not size > 0:
            raise ValueError(f"expected a {name} above 0 in the claimed direction, or None, got {size}")
    if interval.low is None or interval.high is None:
        return Decision("open", "open", False)
    said = marks(interval.low, interval.high, _size(claimed), _size(smallest))
    return Decision(_direction(said), _size_of(said, claimed), bool(said.equivalent))


def decide_paper(measured: Sequence[MeasuredClaim], alpha: float = ALPHA) -> list[Decision]:
    """Return the decisions of all tested claims of one paper.

    How intervals and Holm go together: each interval has the level of a look and says what it says of its own claim. A
    direction counts only if its two-sided p, adjusted over the looks and, by Holm (1979), over all tested claims of the
    paper, is at most alpha; equivalence likewise, with a Holm of its own. An adjusted p is never below the plain one.
    So what counts always has an interval that says it too. What does not count is `open`, whatever its interval
    says alone. Then the chance that any direction of a paper is wrong is at most alpha, at every number of seeds and
    over all looks; and so is the chance that any equivalence is. Sizes are estimates and are not adjusted: no size
    refutes.

    Args:
        measured: every claim of the paper that has an effect; leaving one out makes the others too easy.
        alpha: of the whole paper and of all looks.
    """
    level = level_of_a_look(alpha)
    directions = adjusted_over_looks([claim.effect.p for claim in measured])
    equivalences = adjusted_over_looks([claim.p_equivalent for claim in measured])
    decisions = []
    for claim, direction, equivalence in zip(measured, directions, equivalences, strict=True):
        decision = decide(claim.effect.interval(level), claim.claimed, claim.smallest)
        if direction > alpha:
            decision = replace(decision, direction="open")
        if equivalence > alpha:
            decision = replace(decision, equivalent=False)
        decisions.append(decision)
    return decisions


def _size(size: float | None) -> float:
    if size is None:
        return np.nan
    return size


def _direction(said: Marks) -> Direction:
    if said.established:
        return "established"
    if said.reversed:
        return "reversed"
    return "open"


def _size_of(said: Marks, claimed: float | None) -> Size:
    if claimed is None:
        return "open"
    if said.smaller:
        return "smaller"
    if said.larger:
        return "larger"
    return "compatible"
