"""Overall: methods against the baseline over several tasks (Agarwal et al. 2021), and who is closest to people on one.

A task counts with its primary column, and with the decoding in which the baseline does best there: the same for all.
Of several settings of a method one counts that test scores have not picked (`baseline.choices`).
Scores are taken relative to the baseline's mean on the task, 1 being as good, so that tasks have one scale. A task with
too few seeds, or where the number divided by is near 0, is left out and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards.row import Value
from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.baseline import BASELINE, baseline_row, choices, rows_beside
from bench.leaderboards.statistics.intervals import SMALLEST, Interval, aggregate, probability_of_improvement, seed_mean
from bench.leaderboards.table import Table, metric_name

__all__ = [
    "Overall",
    "Scores",
    "closest",
    "overall",
    "overall_lines",
    "relative_scores",
]

FEWEST = 2
"""Tasks that an aggregate is over; columns and methods of a ranking."""
NAMED = 5
"""Methods that the line of the closest names."""
NEAR_ZERO = {True: 1.0, False: 0.1}
"""By whether higher is better, means and seeds at most this large are no scale for others: a point of percent; a KLD or
perplexity that no model has."""

Scores = tuple[list[float], list[float]]
"""Of one task, a method's and the baseline's values by seed, relative to the baseline's mean."""


@dataclass(frozen=True)
class Overall:
    """One method against the baseline over tasks.

    Args:
        method: its name.
        tasks: where both have a primary value, over the seeds both have.
        relative: interquartile mean of scores relative to the baseline's mean; above 1 is better.
        improves: probability that a run of the method beats one of the baseline.
    """

    method: str
    tasks: Sequence[str]
    relative: Interval
    improves: Interval


def overall(tables: Sequence[Table]) -> list[Overall]:
    """Return methods that have scores beside the baseline's on at least two tasks, best first.

    A task with several tables (presets, subsets) counts with its first. Seeds: as many as all tasks of a method have.
    """
    return _aggregated(_by_method(tables))


def overall_lines(tables: Sequence[Table]) -> list[str]:
    """Return a line for each method, and one of what is left out, for what stands under all tables."""
    by_method = _by_method(tables)
    lines = []
    for method in _aggregated(by_method):
        where = f"over {len(method.tasks)} tasks ({', '.join(method.tasks)}), primary columns"
        relative = f"{method.method} is at {_shown(method.relative)} of {BASELINE} (interquartile mean)"
        lines.append(f"{where}: {relative}, better with probability {_shown(method.improves)}")
    reasons: dict[str, None] = {}
    for by_task in by_method.values():
        if len(by_task) >= FEWEST:
            reasons |= dict.fromkeys(scores for scores in by_task.values() if isinstance(scores, str))
    if reasons:
        lines.append(f"left out of what is aggregated over tasks: {'; '.join(reasons)}")
    return lines


def _aggregated(by_method: Mapping[str, Mapping[str, Scores | str]]) -> list[Overall]:
    """Return the aggregate of every method with scores on enough tasks, best first."""
    methods = []
    for method, by_task in by_method.items():
        scores = {task: pair for task, pair in by_task.items() if not isinstance(pair, str)}
        if len(scores) >= FEWEST:
            methods.append(_overall(method, scores))
    return sorted(methods, key=lambda method: -method.relative.value)


def _by_method(tables: Sequence[Table]) -> dict[str, dict[str, Scores | str]]:
    """Return for each method its scores on each task that it shares with the baseline, or why there are none."""
    by_method: dict[str, dict[str, Scores | str]] = {}
    for table in tables:
        primary = baseline_row(table)
        if primary is None:
            continue
        base, column = primary
        for method, choice in choices(rows_beside(table, base), base, column).items():
            scores: Scores | str | None = f"{method} has {choice.why}"
            if choice.row is not None:
                scores = relative_scores(choice.row.values[column], base.values[column])
            if isinstance(scores, str):
                scores = f"{table.task} ({metric_name(column)}: {scores})"
            if scores is not None:
                by_method.setdefault(method, {}).setdefault(table.task, scores)
    return by_method


def closest(table: Table) -> list[str]:
    """Return who is closest to people over the shown columns that people's texts are scored by, a line a backbone."""
    if not table.human:
        return []
    human = {}
    for column, value in table.human[0].values.items():
        if column in table.columns and value.mean is not None:
            human[column] = value.mean
    if len(human) < FEWEST:
        return []
    lines = []
    for backbone, block in table.blocks.items():
        means = {table.rows[place].label: table.rows[place].means(human) for place in block}
        ranks = [rank for rank in views.closest_to_human(means, human) if rank.mean is not None]
        if len(means) < FEWEST or not ranks:
            continue
        on = ""
        if len(table.blocks) > 1:
            on = f" on {backbone}"
        nearest = ", ".join(f"{rank.method} {rank.mean:.1f}" for rank in ranks[:NAMED])
        lines.append(f"closest to human{on}, mean rank over {', '.join(human)}: {nearest}")
    return lines


def relative_scores(ours: Value | None, theirs: Value) -> Scores | str | None:
    """Return both methods' scores relative to the baseline's mean, over the seeds both have.

    Where higher is better a score is value / baseline, where lower is better baseline / value. Returns why there are
    none where one may not divide or has too few seeds; None where there is nothing to compare.
    """
    if ours is None or ours.conflict or theirs.mean is None or theirs.higher_is_better is None:
        return None
    seeds = sorted(set(ours.by_seed) & set(theirs.by_seed))
    if len(seeds) < SMALLEST:
        return f"under {SMALLEST} seeds"
    scores, base = [ours.by_seed[seed] for seed in seeds], [theirs.by_seed[seed] for seed in seeds]
    least = NEAR_ZERO[theirs.higher_is_better]
    if _near_zero(base, least):
        return f"{BASELINE} is near 0"
    if min(base) < 0:
        return f"{BASELINE} is below 0"
    if theirs.higher_is_better:
        return [value / theirs.mean for value in scores], [value / theirs.mean for value in base]
    if _near_zero(scores, least):
        return "a method is near 0, where lower is better"
    if min(scores) < 0:
        return "a method is below 0, where lower is better"
    return [theirs.mean / value for value in scores], [theirs.mean / value for value in base]


def _near_zero(values: Sequence[float], least: float) -> bool:
    """Return whether values are no scale for others: the mean or a seed is small, or the interval includes 0."""
    spread = seed_mean(values)
    assert spread.half is not None
    return min(map(abs, [spread.mean, *values])) <= least or abs(spread.mean) <= spread.half


def _overall(method: str, by_task: Mapping[str, Scores]) -> Overall:
    n = min(len(ours) for ours, _ in by_task.values())
    ours = {task: pair[0][:n] for task, pair in by_task.items()}
    theirs = {task: pair[1][:n] for task, pair in by_task.items()}
    return Overall(method, list(by_task), aggregate(ours), probability_of_improvement(ours, theirs))


def _shown(value: Interval) -> str:
    if value.low is None:
        return f"{value.value:.2f}"
    return f"{value.value:.2f} [{value.low:.2f}, {value.high:.2f}]"
