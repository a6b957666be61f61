"""Intervals: how far a mean over seeds, a value over items, a difference or an aggregate over tasks can be trusted.

Two variances are kept apart. Seeds (training noise): Student-t, because a bootstrap of few seeds is much too narrow
(coverage of a nominal 95 % at n = 3: t 95 %, percentile bootstrap 73 %). Items (which examples were drawn): bootstrap.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench.leaderboards.statistics.resampling import draws, resamples
from bench.leaderboards.statistics.special import t_quantile
from bench.metrics.sums import Form, Sums, values_of

__all__ = [
    "LEVEL",
    "ROUNDS",
    "SMALLEST",
    "Interval",
    "SeedMean",
    "aggregate",
    "bootstrap",
    "bootstrap_difference",
    "bootstrap_differences",
    "interquartile_mean",
    "probability_of_improvement",
    "seed_mean",
    "student_t",
]

LEVEL = 0.95
ROUNDS = 2000
"""Bootstrap samples: the ends of a 95 % interval are then good to about a twentieth of its width."""
BITS = 64
"""More than a float has, and room to round."""
SMALLEST = 3
"""Fewer seeds give no interval."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SeedMean:
    """Mean over seeds; `half` is half the width of its interval, None under `SMALLEST` seeds."""

    mean: float
    half: float | None
    n: int


@dataclass(frozen=True)
class Interval:
    """A value with an interval; `low` and `high` are None where there is too little to give one."""

    value: float
    low: float | None
    high: float | None


def seed_mean(values: Sequence[float], level: float = LEVEL) -> SeedMean:
    """Return the mean over seeds and the half width of its Student-t interval: `t(n - 1) * s / sqrt(n)`.

    Exact for normal noise (Student 1908): it covers 95 % at n = 3 too.

    Raises:
        ValueError: no value, or one that is not finite: a diverged seed is not a number.

    >>> interval = seed_mean([20.0, 21.0, 22.0])
    >>> interval.mean, round(interval.half, 4), seed_mean([20.0, 21.0]).half
    (21.0, 2.4841, None)
    """
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"expected one finite value or more, got {list(values)}")
    n, mean = len(values), statistics.fmean(values)
    if n < SMALLEST:
        return SeedMean(mean, None, n)
    return SeedMean(mean, student_t(n - 1, level) * standard_deviation(values) / math.sqrt(n), n)


def standard_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, correctly rounded: in every bit what `statistics.stdev` returns.

    It takes a fifth of the time; the tables of a large store ask for 50,000. Floats are whole numbers over powers of
    two, so over the largest of these the sum of squares is an exact whole number, and only the root is rounded.

    >>> standard_deviation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), standard_deviation([1.0, 1.0])
    (2.138089935299395, 0.0)
    """
    ratios = [float(value).as_integer_ratio() for value in values]
    over = max(ratio[1] for ratio in ratios)
    whole = [above * (over // below) for above, below in ratios]
    n = len(whole)
    return _rounded_root(n * sum(value * value for value in whole) - sum(whole) ** 2, n * (n - 1) * over * over)


def _rounded_root(above: int, below: int) -> float:
    """Return the square root of a fraction as the nearest float.

    The root is taken in whole numbers to more than twice a float's bits. Where something is cut off, its last bit is
    set, so that a root just above the middle of two floats is not taken for the middle.
    """
    shift = max(0, 2 * BITS - above.bit_length() + below.bit_length())
    shift += shift % 2
    quotient, rest = divmod(above << shift, below)
    root = math.isqrt(quotient)
    if rest or root * root != quotient:
        root |= 1
    return root / (1 << shift // 2)


@lru_cache(maxsize=256)
def student_t(df: int, level: float = LEVEL) -> float:
    """Return the t that a Student-t variable stays within, on both sides, with probability `level`.

    Args:
        df: degrees of freedom, a whole number.
        level: 0.95 for the 97.5 % quantile.

    >>> round(student_t(2), 6), round(student_t(9), 6)
    (4.302653, 2.262157)
    """
    if df < 1 or not 0 < level < 1:
        raise ValueError(f"expected at least 1 degree of freedom and a level between 0 and 1, got {df} and {level}")
    return float(t_quantile(1 - level, df))


def bootstrap(items: Sums, level: float = LEVEL, rounds: int = ROUNDS, seed: int = 0) -> Interval:
    """Return a column's value and its bootstrap interval over items (BCa: Efron 1987; percentiles for BLEU).

    Covers what it says for means, ratios, perplexities and BLEU of some fifty items or more that are drawn on their
    own; too narrow for fewer, for heavy tails, and where items come in groups (the sentences of one table). BLEU has a
    corner where hypotheses are as long as references; BCa covers only 92 % there and percentiles 94 to 95 %.

    Args:
        items: at least 2 rows, else there is no interval.
        level: probability of covering.
        rounds: bootstrap samples.
        seed: of the draws.

    >>> interval = bootstrap(Sums(Form("mean", 100.0), [[1, 1]] * 60 + [[0, 1]] * 40))
    >>> interval.value, interval.low < 52, 68 < interval.high
    (60.0, True, True)
    """
    (interval,) = _bootstrap([[items]], level, rounds, seed)
    return interval


def bootstrap_difference(
    ours: Sums, theirs: Sums, level: float = LEVEL, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Return `ours - theirs` and its bootstrap interval; a sample takes the same rows of both.

    Arguments and coverage as for `bootstrap`.

    Raises:
        ValueError: the two are not of one form and the same number of rows.

    >>> better = Sums(Form("mean"), [[i % 5 + 1, 1] for i in range(50)])
    >>> worse = Sums(Form("mean"), [[i % 5, 1] for i in range(50)])
    >>> interval = bootstrap_difference(better, worse)
    >>> interval.value, round(interval.low, 9), round(interval.high, 9)
    (1.0, 1.0, 1.0)
    """
    (interval,) = bootstrap_differences([(ours, theirs)], level, rounds, seed)
    return interval


def bootstrap_differences(
    pairs: Sequence[tuple[Sums, Sums]], level: float = LEVEL, rounds: int = ROUNDS, seed: int = 0
) -> list[Interval]:
    """Return what `bootstrap_difference` returns for each of many pairs; draws are made once for as many items.

    Args:
        pairs: ours and theirs.
        level, rounds, seed: as for `bootstrap`.

    Raises:
        ValueError: unlike forms or numbers of rows, or what `bootstrap` refuses.
    """
    for pair in pairs:
        ours, theirs = pair
        if ours.form != theirs.form or len(ours) != len(theirs):
            sides = " and ".join(f"{len(side)} rows of {side.form}" for side in pair)
            raise ValueError(f"expected the same examples and one form, got {sides}")
    by_size: dict[int, list[int]] = {}
    for place, (ours, _) in enumerate(pairs):
        by_size.setdefault(len(ours), []).append(place)
    intervals: dict[int, Interval] = {}
    for places in by_size.values():
        found = _bootstrap([pairs[place] for place in places], level, rounds, seed)
        intervals.update(zip(places, found, strict=True))
    return [intervals[place] for place in range(len(pairs))]


def _bootstrap(systems: Sequence[Sequence[Sums]], level: float, rounds: int, seed: int) -> list[Interval]:
    """Return the interval of the value of each single side, or of the difference of two sides, all of as many rows."""
    _check(level, rounds)
    n = len(systems[0][0])
    intervals = [Interval(_seen(sides), None, None) for sides in systems]
    sampled = [place for place, interval in enumerate(intervals) if n > 1 and math.isfinite(interval.value)]
    if not sampled:
        return intervals
    tables = [np.concatenate([side.values for side in systems[place]], axis=1) for place in sampled]
    samples = np.empty((len(sampled), rounds))
    for start, counts in resamples(rounds, n, seed):
        for row, place, values in zip(samples, sampled, tables, strict=True):
            sums = counts @ values  # one system alone: more columns in one product may round otherwise
            sides = systems[place]
            row[start : start + len(counts)] = _difference(np.split(sums, len(sides), axis=1), sides[0].form)
    for row, place in zip(samples, sampled, strict=True):
        intervals[place] = _interval(systems[place], row, level)
    return intervals


def _interval(sides: Sequence[Sums], samples: Floats, level: float) -> Interval:
    """Return the interval of a system that has a finite value from its bootstrap samples."""
    form, value = sides[0].form, _seen(sides)
    samples = samples[np.isfinite(samples)]
    if form.kind == "bleu":
        return Interval(value, *_percentiles(samples, level))
    without = _difference([side.total - side.values for side in sides], form)
    return Interval(value, *_bca(value, samples, without[np.isfinite(without)], level))


def _seen(sides: Sequence[Sums]) -> float:
    """Return the value of one side, or the difference of two, over all rows."""
    return float(_difference([side.total for side in sides], sides[0].form))


def _difference(sums: Sequence[Floats], form: Form) -> Floats:
    """The value of one side, or the first less the second."""
    values = [values_of(side, form) for side in sums]
    if len(values) == 1:
        return values[0]
    return values[0] - values[1]


def _bca(value: float, samples: Floats, without: Floats, level: float) -> tuple[float, float]:
    """Ends of the bias-corrected and accelerated interval; `without` has the value without each item in turn."""
    normal = statistics.NormalDist()
    slack = 1e-12 * max(abs(value), float(np.abs(samples).max()))  # sums in another order
    below = float(np.mean(samples < value - slack) + np.mean(np.abs(samples - value) <= slack) / 2)
    shift = normal.inv_cdf(min(max(below, 0.5 / len(samples)), 1 - 0.5 / len(samples)))
    pull = without.mean() - without
    scale = 6 * float((pull**2).sum()) ** 1.5
    skew = 0.0
    if scale > 0:  # the power of a tiny spread is 0
        skew = float((pull**3).sum()) / scale
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        z = shift + normal.inv_cdf(share)
        ends.append(normal.cdf(shift + z / max(1 - skew * z, 1e-9)))
    low, high = np.quantile(samples, ends)
    return float(low), float(high)


def interquartile_mean(values: ArrayLike) -> float:
    """Return the mean of the middle half of all values (Agarwal et al. 2021, section 4.3).

    A quarter of them, rounded down, is left out on each side, as in the authors' `rliable`.

    >>> interquartile_mean([[1, 2, 3, 4], [5, 6, 7, 100]])
    4.5
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size or not np.isfinite(array).all():
        raise ValueError(f"expected one finite value or more, got {array.tolist()!r:.80}")
    return float(_iqm(array.reshape(1, -1))[0])


def aggregate(
    scores: Mapping[str, Sequence[float]], level: float = LEVEL, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Return the interquartile mean over tasks and seeds with its stratified bootstrap interval (Agarwal et al. 2021).

    Seeds are drawn within each task. Drawing n of n seeds makes an interval too narrow by sqrt((n - 1) / n), which is
    a fifth at n = 3; here n - 1 are drawn (Rao and Wu 1988), unlike in `rliable`. With 8 tasks of 3 seeds that covers
    93 % instead of 86 %. Fewer are still too narrow (4 tasks of 3 seeds: 89 %; one task: 73 %, use `seed_mean`).

    Args:
        scores: by task, one method's value of each seed, on a scale that all tasks share (normalise first).
        level: probability of covering.
        rounds: bootstrap samples.
        seed: of the draws.

    Returns:
        No interval under `SMALLEST` seeds.

    Raises:
        ValueError: no task, another number of seeds for one task than another, or a value that is not finite.

    >>> interval = aggregate({"a": [0.25, 0.5, 0.5], "b": [0.5, 0.5, 0.75]})
    >>> interval.value, interval.low <= 0.5 <= interval.high
    (0.5, True)
    """
    table = _table(scores)
    _check(level, rounds)
    value, n = interquartile_mean(table), table.shape[1]
    if n < SMALLEST:
        return Interval(value, None, None)
    at = draws((rounds, len(table), n - 1), n, seed)
    samples = _iqm(table[np.arange(len(table))[:, None], at].reshape(rounds, -1))
    return Interval(value, *_percentiles(samples, level))


def probability_of_improvement(
    ours: Mapping[str, Sequence[float]],
    theirs: Mapping[str, Sequence[float]],
    better: Literal["higher", "lower"] = "higher",
    level: float = LEVEL,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Interval:
    """Return how likely a run of ours beats one of theirs on a task drawn at random (Agarwal et al. 2021, section 4.3).

    Mean over tasks of the share of pairs of runs that ours wins, ties as halves: Mann and Whitney's U / (n * m). The
    tasks need no common scale. The interval draws n - 1 seeds of n within each task and method, as `aggregate` does;
    where all pairs of runs agree it has no width, and says less than it seems to.

    Args:
        ours: by task, the value of each seed.
        theirs: likewise, for the same tasks.
        better: which value wins.
        level, rounds, seed: as for `aggregate`.

    Raises:
        ValueError: not the same tasks, or what `aggregate` refuses.

    >>> probability_of_improvement({"a": [3, 4], "b": [1, 2]}, {"a": [1, 2], "b": [1, 2]}).value
    0.75
    """
    if set(ours) != set(theirs):
        raise ValueError(f"expected the same tasks, got {sorted(ours)} and {sorted(theirs)}")
    our_scores, their_scores = _table(ours), _table({task: theirs[task] for task in ours})  # [tasks, seeds]
    _check(level, rounds)
    ahead = our_scores[:, :, None] - their_scores[:, None, :]  # [tasks, our seeds, their seeds]
    if better == "lower":
        ahead = -ahead
    wins = np.sign(ahead) / 2 + 0.5
    value, (tasks_n, n, m) = float(wins.mean()), wins.shape
    if min(n, m) < SMALLEST:
        return Interval(value, None, None)
    rows, columns = draws((rounds, tasks_n, n - 1), n, seed), draws((rounds, tasks_n, m - 1), m, seed + 1)
    tasks = np.arange(tasks_n)[:, None, None]
    samples = wins[tasks, rows[..., None], columns[..., None, :]].mean(axis=(1, 2, 3))
    return Interval(value, *_percentiles(samples, level))


def _iqm(values: Floats) -> Floats:
    """Interquartile mean of each row."""
    n = values.shape[1]
    return np.sort(values, axis=1)[:, n // 4 : n - n // 4].mean(axis=1)


def _percentiles(samples: Floats, level: float) -> tuple[float, float]:
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _table(scores: Mapping[str, Sequence[float]]) -> Floats:
    """Scores as `[tasks, seeds]`."""
    sizes = {len(values) for values in scores.values()}
    if len(sizes) != 1 or 0 in sizes:
        by_task = {task: len(values) for task, values in scores.items()}
        raise ValueError(f"expected the same number of seeds for every task, got {by_task}; take those that all have")
    table = np.array(list(scores.values()), dtype=np.float64)
    if not np.isfinite(table).all():
        bad = [task for task, row in zip(scores, table, strict=True) if not np.isfinite(row).all()]
        raise ValueError(f"expected finite values, got others for {bad}")
    return table


def _check(level: float, rounds: int) -> None:
    if not 0 < level < 1 or rounds < 100:
        raise ValueError(f"expected a level between 0 and 1 and at least 100 rounds, got {level} and {rounds}")
