"""Verdicts: words for what intervals over seeds say, and the rule of each. No files, no rows.

Of an objective's gain under one setting, and the share of it that decoders give maximum likelihood:

- `not comparable`: the decoders do not reach the objective's quality with maximum likelihood, or the share is a bound
  (all that they reach is of better quality) that explains nothing. Nothing is extrapolated.
- `no gain`: the mean gain is not above 0, so there is nothing to explain.
- `explained`: the whole interval of the share is above `EXPLAINED`, as for any control of a claim.
- `training adds`: the whole interval of the share is below it.
- `open`: the interval has it inside, or there is none because seeds are few or the gain may be 0.

Of two fronts:

- `not comparable`: they have no common range, in some seed.
- `ahead` or `behind`: the whole interval of the mean difference is on the side of 0 where the objective is better, or
  on the other.
- `open`: otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bench.leaderboards.statistics.intervals import Interval, SeedMean
from bench.leaderboards.statistics.share import EXPLAINED

__all__ = ["FrontVerdict", "ShareVerdict", "front_verdict", "share_verdict"]

ShareVerdict = Literal["not comparable", "no gain", "explained", "training adds", "open"]
FrontVerdict = Literal["not comparable", "ahead", "behind", "open"]


def share_verdict(gain: Sequence[float], share: Interval | None, at_least: bool = False) -> ShareVerdict:
    """Return the word for a gain and the share of it that decoders have.

    Args:
        gain: of each seed, positive where the objective is better; empty where no seed can be compared.
        share: None with fewer than 2 seeds.
        at_least: whether the share is a lower bound.

    >>> share_verdict([2.0, 2.1, 1.9], Interval(0.2, 0.1, 0.3)), share_verdict([-1.0, -2.0], None)
    ('training adds', 'no gain')
    """
    if not gain:
        return "not comparable"
    if sum(gain) <= 0:
        return "no gain"
    if share is not None and share.low is not None and share.low > EXPLAINED:
        return "explained"
    if at_least:
        return "not comparable"
    if share is None or share.high is None:
        return "open"
    if share.high < EXPLAINED:
        return "training adds"
    return "open"


def front_verdict(difference: SeedMean | None, sign: int = 1) -> FrontVerdict:
    """Return the word for the mean difference of two fronts.

    Args:
        difference: of the objective less its baseline; None where they have no common range.
        sign: 1 where a higher value is better, -1 where a lower is.

    >>> front_verdict(SeedMean(1.0, 0.5, 3)), front_verdict(SeedMean(1.0, 0.5, 3), -1)
    ('ahead', 'behind')
    >>> front_verdict(SeedMean(1.0, 1.5, 3)), front_verdict(None)
    ('open', 'not comparable')
    """
    if difference is None:
        return "not comparable"
    if difference.half is None:
        return "open"
    better = sign * difference.mean
    if better - difference.half > 0:
        return "ahead"
    if better + difference.half < 0:
        return "behind"
    return "open"
