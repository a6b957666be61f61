"""Overall: methods against the baseline over several tasks (Agarwal et al. 2021), and who is closest to people on one.

A task counts with its primary column, and with the decoding in which the baseline does best there: the same for all.
Scores are taken relative to the baseline's mean on the task, 1 being as good, so that tasks have one scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.leaderboards import views
from bench.leaderboards.analysis import baseline_of
from bench.leaderboards.intervals import Interval, aggregate, probability_of_improvement
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.table import Table, metric_name
from bench.tasks import TASKS

__all__ = ["BASELINE", "Overall", "closest", "overall", "overall_lines"]

BASELINE = "mle"
FEWEST = 2
"""Tasks that an aggregate is over."""


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
    """Return methods that at least two tasks have beside the baseline, best first.

    A task with several tables (presets, subsets) counts with its first. Seeds: as many as all tasks of a method have.
    """
    scores: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for table in tables:
        base = _baseline(table)
        if base is None:
            continue
        row, column = base
        theirs = row.values[column]
        for other in table.rows:
            if other is row or (other.decoding, other.backbone) != (row.decoding, row.backbone):
                continue
            if baseline_of(table, other) != table.rows.index(row):  # trained otherwise
                continue
            if pair := _relative(other.values.get(column), theirs):
                scores.setdefault(other.method, {}).setdefault(table.task, pair)
    found = [_overall(method, by_task) for method, by_task in scores.items() if len(by_task) >= FEWEST]
    return sorted(found, key=lambda one: -one.relative.value)


def overall_lines(tables: Sequence[Table]) -> list[str]:
    """Return a line for each method, for what stands under all tables."""
    return [f"over {len(one.tasks)} tasks ({', '.join(one.tasks)}), primary columns: {one.method} is at "
            f"{_shown(one.relative)} of {BASELINE} (interquartile mean), better with probability {_shown(one.improves)}"
            for one in overall(tables)]  # fmt: skip


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


def _relative(ours: Value | None, theirs: Value) -> tuple[list[float], list[float]] | None:
    """Return both methods' scores relative to the baseline's mean, over the seeds both have."""
    if ours is None or ours.conflict or theirs.conflict or theirs.higher_is_better is None or not theirs.mean:
        return None
    seeds = sorted(set(ours.by_seed) & set(theirs.by_seed))
    mean, up = theirs.mean, theirs.higher_is_better
    both = ([side.by_seed[seed] / mean if up else mean / side.by_seed[seed] for seed in seeds if side.by_seed[seed]]
            for side in (ours, theirs))  # fmt: skip
    one, other = both
    return (one, other) if one and len(one) == len(other) == len(seeds) else None


def _overall(method: str, by_task: Mapping[str, tuple[list[float], list[float]]]) -> Overall:
    n = min(len(ours) for ours, _ in by_task.values())
    ours = {task: pair[0][:n] for task, pair in by_task.items()}
    theirs = {task: pair[1][:n] for task, pair in by_task.items()}
    return Overall(method, list(by_task), aggregate(ours), probability_of_improvement(ours, theirs))


def _shown(value: Interval) -> str:
    return f"{value.value:.2f}" + ("" if value.low is None else f" [{value.low:.2f}, {value.high:.2f}]")
