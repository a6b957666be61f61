"""Overall: methods against the baseline over several tasks (Agarwal et al. 2021), and who is closest to people on one.

A task counts with its primary column, and with the decoding in which the baseline does best there: the same for all.
Scores are taken relative to the baseline's mean on the task, 1 being as good, so that tasks have one scale. A task with
too few seeds, or where the number divided by is near 0, is left out and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.statistics import views
from bench.leaderboards.statistics.analysis import baseline_of
from bench.leaderboards.statistics.intervals import SMALLEST, Interval, aggregate, probability_of_improvement, seed_mean
from bench.leaderboards.table import Table, metric_name
from bench.tasks import TASKS

__all__ = ["BASELINE", "Overall", "closest", "overall", "overall_lines"]

BASELINE = "mle"
FEWEST = 2
"""Tasks that an aggregate is over."""
NEAR_ZERO = {True: 1.0, False: 0.1}
"""By whether higher is better, means and seeds at most this large are no scale for others: a point of percent; a KLD or
perplexity that no model has."""

Scores = tuple[list[float], list[float]]
"""Of one task, a method's and the baseline's values by seed, relative to the baseline's mean."""


@dataclass(frozen=True)
class Overall:
    """One method against the baseline over tasks.

    Args:
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
    found = []
    for method, by_task in _by_method(tables).items():
        scores = {task: one for task, one in by_task.items() if not isinstance(one, str)}
        if len(scores) >= FEWEST:
            found.append(_overall(method, scores))
    return sorted(found, key=lambda one: -one.relative.value)


def overall_lines(tables: Sequence[Table]) -> list[str]:
    """Return a line for each method, and one of what is left out, for what stands under all tables."""
    lines = []
    for one in overall(tables):
        where = f"over {len(one.tasks)} tasks ({', '.join(one.tasks)}), primary columns"
        relative = f"{one.method} is at {_shown(one.relative)} of {BASELINE} (interquartile mean)"
        lines.append(f"{where}: {relative}, better with probability {_shown(one.improves)}")
    why: dict[str, None] = {}
    for by_task in _by_method(tables).values():
        if len(by_task) >= FEWEST:
            why |= dict.fromkeys(one for one in by_task.values() if isinstance(one, str))
    if why:
        lines.append(f"left out of what is aggregated over tasks: {'; '.join(why)}")
    return lines


def _by_method(tables: Sequence[Table]) -> dict[str, dict[str, Scores | str]]:
    """Return for each method its scores on each task that it shares with the baseline, or why there are none."""
    found: dict[str, dict[str, Scores | str]] = {}
    for table in tables:
        base = _baseline(table)
        if base is None:
            continue
        row, column = base
        for other in _beside(table, row):
            scores = _relative(other.values.get(column), row.values[column])
            if isinstance(scores, str):
                scores = f"{table.task} ({metric_name(column)}: {scores})"
            if scores is not None:
                found.setdefault(other.method, {}).setdefault(table.task, scores)
    return found


def _beside(table: Table, base: TableRow) -> Iterator[TableRow]:
    """Yield the rows that are compared with a row of the baseline: like it in decoding, backbone and training."""
    place = table.rows.index(base)
    for row in table.rows:
        alike = (row.decoding, row.backbone) == (base.decoding, base.backbone)
        if row is not base and alike and baseline_of(table, row) == place:
            yield row


def closest(table: Table) -> list[str]:
    """Return who is closest to people over the shown columns that people's texts are scored by, as one line or none."""
    if not table.human:
        return []
    human = {name: value.mean for name, value in table.human[0].values.items()
             if name in table.columns and value.mean is not None}  # fmt: skip
    values = {row.label: {name: row.values[name].mean if name in row.values else None for name in human}
              for row in table.rows}  # fmt: skip
    if len(human) < FEWEST or len(values) < FEWEST:
        return []
    ranks = [one for one in views.closest_to_human(values, human) if one.mean is not None]
    said = ", ".join(f"{one.method} {one.mean:.1f}" for one in ranks[:5])
    return [f"closest to human, mean rank over {', '.join(human)}: {said}"] if ranks else []


def _baseline(table: Table) -> tuple[TableRow, str] | None:
    """Return the best row of the baseline and the primary column's name."""
    primary = TASKS[table.task].primary if table.task in TASKS else ""
    for row in table.rows:  # best first
        for name, value in row.values.items():
            if row.method == BASELINE and metric_name(name) == primary and value.mean:
                return row, name
    return None


def _relative(ours: Value | None, theirs: Value) -> Scores | str | None:
    """Return both methods' scores relative to the baseline's mean, over the seeds both have.

    Where higher is better a score is value / baseline, where lower is better baseline / value. Returns why there are
    none where one may not divide or has too few seeds; None where there is nothing to compare.
    """
    if ours is None or ours.conflict or theirs.conflict or theirs.higher_is_better is None or not theirs.mean:
        return None
    seeds = sorted(set(ours.by_seed) & set(theirs.by_seed))
    if len(seeds) < SMALLEST:
        return f"under {SMALLEST} seeds"
    mine, base = ([side.by_seed[seed] for seed in seeds] for side in (ours, theirs))
    up = theirs.higher_is_better
    if _near_zero(base, NEAR_ZERO[up]):
        return f"{BASELINE} is near 0"
    if up:
        return [one / theirs.mean for one in mine], [one / theirs.mean for one in base]
    if _near_zero(mine, NEAR_ZERO[up]):
        return "a method is near 0, where lower is better"
    return [theirs.mean / one for one in mine], [theirs.mean / one for one in base]


def _near_zero(values: Sequence[float], least: float) -> bool:
    """Return whether values are no scale for others: the mean or a seed is small, or the interval includes 0."""
    found = seed_mean(values)
    assert found.half is not None
    return min(map(abs, [found.mean, *values])) <= least or abs(found.mean) <= found.half


def _overall(method: str, by_task: Mapping[str, Scores]) -> Overall:
    n = min(len(ours) for ours, _ in by_task.values())
    ours = {task: pair[0][:n] for task, pair in by_task.items()}
    theirs = {task: pair[1][:n] for task, pair in by_task.items()}
    return Overall(method, list(by_task), aggregate(ours), probability_of_improvement(ours, theirs))


def _shown(value: Interval) -> str:
    return f"{value.value:.2f}" + ("" if value.low is None else f" [{value.low:.2f}, {value.high:.2f}]")
