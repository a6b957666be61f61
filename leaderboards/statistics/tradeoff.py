"""Trade-off: quality against diversity. A decoder sweep is a curve, and two curves are compared at equal diversity.

A single setting says little: any method can be moved along its curve (Caccia et al. 2020), and a decoder that
keeps more candidates at the same k is further along it. Nothing is extrapolated.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.intervals import SeedMean, seed_mean

__all__ = [
    "At",
    "Curve",
    "Tradeoff",
    "at_equal",
    "compare",
    "curve",
    "curves",
    "mean_difference",
    "overlap",
    "render",
    "value_at",
]

Curve = Sequence[tuple[float, float]]
"""Points (x, y) with rising x, joined by straight lines."""
AXES = (("self-bleu-2", "kld"), ("self-bleu-2", "ms-jaccard-1"))
"""Diversity and quality that `at_equal` speaks of."""
POINTS = 3
"""Points shown where a claim states none."""


@dataclass(frozen=True)
class At:
    """Two curves at one x: each one's mean over seeds, and the mean difference with its interval."""

    x: float
    ours: float
    theirs: float
    difference: SeedMean


@dataclass(frozen=True)
class Tradeoff:
    """Two methods at equal x.

    Args:
        by_seed: mean of ours less theirs over the seed's overlap; without the seeds that have none.
        difference: its mean over seeds, None without any overlap.
        shared: range of x that every such seed's overlap has; None where there is none.
        at: the two at stated x of that range.
        beyond: stated x that are outside of it, and are not shown.
    """

    by_seed: Mapping[int, float]
    difference: SeedMean | None = None
    shared: tuple[float, float] | None = None
    at: Sequence[At] = ()
    beyond: Sequence[float] = ()


def curve(points: Iterable[tuple[float, float]]) -> Curve:
    """Return points in the order of x; those of one x become their mean.

    >>> curve([(2, 1), (1, 5), (2, 3)])
    [(1, 5.0), (2, 2.0)]
    """
    alike: dict[float, list[float]] = defaultdict(list)
    for x, y in points:
        alike[x].append(y)
    return [(x, statistics.fmean(alike[x])) for x in sorted(alike)]


def curves(rows: Iterable[TableRow], x: str, y: str) -> dict[int, Curve]:
    """Return one curve for each seed from the rows of a sweep; a row with a conflict in a column gives no point."""
    points: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if x not in row.values or y not in row.values or row.values[x].conflict or row.values[y].conflict:
            continue
        for seed, value in row.values[x].by_seed.items():
            if seed in row.values[y].by_seed:
                points[seed].append((value, row.values[y].by_seed[seed]))
    return {seed: curve(points[seed]) for seed in sorted(points)}


def overlap(ours: Curve, theirs: Curve) -> tuple[float, float] | None:
    """Return the range of x that two curves share, or None.

    >>> overlap([(0, 1), (4, 1)], [(3, 1), (9, 1)]), overlap([(0, 1)], [(3, 1), (9, 1)])
    ((3, 4), None)
    """
    if not ours or not theirs:
        return None
    low, high = max(ours[0][0], theirs[0][0]), min(ours[-1][0], theirs[-1][0])
    if low > high:
        return None
    return low, high


def value_at(line: Curve, x: float) -> float:
    """Return y at an x within the curve.

    Raises:
        ValueError: x is outside of it; nothing is extrapolated.

    >>> value_at([(0, 0), (4, 8)], 1)
    2.0
    """
    if not line or not line[0][0] <= x <= line[-1][0]:
        raise ValueError(f"expected x within the curve, got {x}")
    for (left, y), (right, after) in zip(line, line[1:], strict=False):
        if x <= right:
            return y + (after - y) * ((x - left) / (right - left))
    return float(line[-1][1])


def mean_difference(ours: Curve, theirs: Curve) -> float | None:
    """Return the mean of ours less theirs over the x both have: the area between the lines over its width, exactly.

    >>> mean_difference([(0, 1), (2, 1)], [(0, 0), (4, 4)])
    0.0
    """
    both = overlap(ours, theirs)
    if both is None:
        return None
    low, high = both
    inside = {x for x, _ in (*ours, *theirs) if low < x < high}
    corners = sorted(inside | {low, high})
    gaps = [value_at(ours, x) - value_at(theirs, x) for x in corners]
    if low == high:
        return gaps[0]
    areas = [(corners[i + 1] - corners[i]) * (gaps[i] + gaps[i + 1]) / 2 for i in range(len(corners) - 1)]
    return sum(areas) / (high - low)


def compare(ours: Mapping[int, Curve], theirs: Mapping[int, Curve], at: Sequence[float] = ()) -> Tradeoff:
    """Compare two methods at equal x, seed by seed.

    Args:
        ours, theirs: by seed.
        at: the x to show; evenly spaced over what all seeds share when empty.
    """
    ranges, by_seed = [], {}
    for seed in sorted(set(ours) & set(theirs)):
        both = overlap(ours[seed], theirs[seed])
        mean = mean_difference(ours[seed], theirs[seed])
        if both is not None and mean is not None:
            ranges.append(both)
            by_seed[seed] = mean
    if not by_seed:
        return Tradeoff({}, beyond=tuple(at))
    low, high = max(start for start, _ in ranges), min(end for _, end in ranges)
    difference = seed_mean(list(by_seed.values()))
    if low > high:
        return Tradeoff(by_seed, difference, beyond=tuple(at))
    wanted = at or sorted({low + (high - low) * (step + 1) / (POINTS + 1) for step in range(POINTS)})
    inside = [x for x in wanted if low <= x <= high]
    beyond = tuple(x for x in wanted if x not in inside)
    our_curves, their_curves = [ours[seed] for seed in by_seed], [theirs[seed] for seed in by_seed]
    return Tradeoff(by_seed, difference, (low, high), [_at(x, our_curves, their_curves) for x in inside], beyond)


def _at(x: float, ours: Sequence[Curve], theirs: Sequence[Curve]) -> At:
    """Both at one x."""
    a, b = [value_at(line, x) for line in ours], [value_at(line, x) for line in theirs]
    gaps = seed_mean([left - right for left, right in zip(a, b, strict=True)])
    return At(x, statistics.fmean(a), statistics.fmean(b), gaps)


def render(tradeoff: Tradeoff, x: str, y: str, ours: str, theirs: str) -> list[str]:
    """Return lines of a small table: at equal x, both values and their difference."""
    if tradeoff.difference is None:
        return [f"no overlap: the two sweeps have no {x} in common"]
    if tradeoff.shared is None:
        return [f"no {x} that the sweeps of every seed reach"]
    low, high = tradeoff.shared
    rows = [[x, f"{y}: {ours}", theirs, "difference"]]
    rows += [[f"{at.x:.2f}", f"{at.ours:.3f}", f"{at.theirs:.3f}", shown(at.difference)] for at in tradeoff.at]
    lines = _aligned(rows)
    lines.append(f"over {x} {low:.2f} to {high:.2f}, which both sweeps reach: {shown(tradeoff.difference)}")
    if tradeoff.beyond:
        lines.append(f"not shown, out of reach: {x} {', '.join(f'{value:g}' for value in tradeoff.beyond)}")
    return lines


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of texts as lines, each column as wide as its widest text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def shown(value: SeedMean) -> str:
    """Return a mean difference with its interval, or with the number of seeds that give none.

    >>> shown(SeedMean(0.25, None, 2)), shown(SeedMean(0.25, 0.1, 3))
    ('+0.250 (n=2)', '+0.250 +- 0.100 (n=3)')
    """
    interval = ""
    if value.half is not None:
        interval = f" +- {value.half:.3f}"
    return f"{value.mean:+.3f}{interval} (n={value.n})"


def at_equal(rows: Sequence[TableRow]) -> list[str]:
    """Return lines on each method of a table with several decodings: its difference from the baseline's at equal x.

    Methods are compared with the baseline of the same backbone; without one, or with several, there is no line.
    """
    sweeps = _sweeps(rows)
    lines = []
    for sweep in sweeps:
        method, backbone = sweep[0].method, sweep[0].backbone
        baselines = [base for base in sweeps if (base[0].method, base[0].backbone) == (BASELINE, backbone)]
        if method == BASELINE or len(baselines) != 1:
            continue
        for x, y in AXES:
            tradeoff = compare(curves(sweep, x, y), curves(baselines[0], x, y))
            if tradeoff.difference is not None and tradeoff.shared is not None:
                low, high = tradeoff.shared
                less = f"{y} of {method} less {BASELINE}'s: {shown(tradeoff.difference)}"
                lines.append(f"at equal {x} ({low:.1f} to {high:.1f}), {less}")
    return lines


def _sweeps(rows: Sequence[TableRow]) -> list[list[TableRow]]:
    """Return the rows of each trained model that has several decodings."""
    models: dict[tuple[str, frozenset[str]], list[TableRow]] = defaultdict(list)
    for row in rows:
        models[row.method, frozenset(row.keys)].append(row)
    return [sweep for sweep in models.values() if _several_decodings(sweep)]


def _several_decodings(rows: Sequence[TableRow]) -> bool:
    return len({row.decoding for row in rows}) > 1
