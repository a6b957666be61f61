"""Cells of a ladder's tables: numbers, shares, effects and whole Markdown tables as text."""

from __future__ import annotations

import math

from bench.leaderboards.ladder.decisions import Regret
from bench.leaderboards.ladder.pairs import PairEffect
from bench.leaderboards.statistics.intervals import Interval, SeedMean

__all__ = [
    "NONE",
    "effect_cell",
    "interval_cell",
    "mean_cell",
    "number",
    "regret_cell",
    "share",
    "signed",
]

NONE = "–"
"""What is not known."""


def number(value: float | None) -> str:
    """Return a number with three digits, large ones whole.

    >>> number(0.012345), number(40.0), number(999.9), number(12345.6), number(0.0), number(math.inf), number(None)
    ('0.0123', '40.0', '1000', '12346', '0', '∞', '–')
    """
    if value is None:
        return NONE
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:#.3g}"


def signed(value: float) -> str:
    """Return a difference with its sign.

    >>> signed(1.5), signed(-0.25), signed(0.0)
    ('+1.50', '−0.250', '0')
    """
    if value == 0:
        return "0"
    if value < 0:
        return f"−{number(-value)}"
    return f"+{number(value)}"


def share(value: float | None) -> str:
    """Return a share in percent.

    >>> share(0.875), share(-0.1), share(-0.001), share(None)
    ('88 %', '−10 %', '0 %', '–')
    """
    if value is None:
        return NONE
    percent = round(100 * value)
    if percent < 0:
        return f"−{-percent} %"
    return f"{percent} %"


def mean_cell(value: SeedMean) -> str:
    """Return a mean over seeds with half the width of its interval, where it has one."""
    if value.half is None:
        return number(value.mean)
    return f"{number(value.mean)} ± {number(value.half)}"


def interval_cell(interval: Interval) -> str:
    """Return a difference with half the width of its interval, which is as wide on both sides.

    >>> interval_cell(Interval(1.5, 1.0, 2.0)), interval_cell(Interval(-1.0, None, None))
    ('+1.50 ± 0.500', '−1.00')
    """
    if interval.low is None or interval.high is None:
        return signed(interval.value)
    return f"{signed(interval.value)} ± {number(interval.high - interval.value)}"


def effect_cell(found: PairEffect | None) -> str:
    """Return a difference with its interval, in bold where its direction is established."""
    if found is None:
        return NONE
    text = interval_cell(found.effect.interval())
    if found.direction:
        return f"**{text}**"
    return text


def regret_cell(regret: Regret | None) -> str:
    """Return what is lost, in the metric's unit and in standard deviations of a seed."""
    if regret is None:
        return NONE
    if regret.in_seeds is None:
        return number(regret.value)
    return f"{number(regret.value)} ({number(regret.in_seeds)} sd)"
