"""Gaps: settings and seeds that two models are compared without, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.leaderboards.quality_diversity.curves import Axes, Model, columns_of
from bench.leaderboards.quality_diversity.decoders import WHOLE
from bench.leaderboards.row import TableRow

__all__ = ["gaps"]


def gaps(ours: Model, theirs: Model, axes: Axes) -> list[str]:
    """Return why settings and seeds that are stored are left out of a comparison in two metrics."""
    columns = columns_of(axes, [*ours.rows.values(), *theirs.rows.values()])
    notes, seeds = [], []
    for model in (ours, theirs):
        found, of_all = _gaps_of(model, columns)
        notes += found
        seeds.append(of_all)
    if all(seeds) and not seeds[0] & seeds[1]:
        notes.append(
            f"{ours.method} and {theirs.method} share no seed: under all their settings they have {_named(seeds[0])} "
            f"and {_named(seeds[1])}"
        )
    return notes


def _gaps_of(model: Model, columns: Axes) -> tuple[list[str], set[int]]:
    """Return what one model lacks, and the seeds that all its settings have."""
    notes, by_setting = [], {}
    if whole := [setting for setting, row in model.rows.items() if row.decoding.startswith(WHOLE)]:
        notes.append(
            f"{model.method} writes by its whole distribution under {', '.join(whole)}: its own has no such cut"
        )
    for setting, row in model.rows.items():
        why = _why_no_point(row, (columns.at, columns.column))
        if why:
            notes.append(f"{model.method} under `{setting}` is left out: {why}")
            continue
        by_setting[setting] = set(row.values[columns.at].by_seed) & set(row.values[columns.column].by_seed)
    every = set[int]().union(*by_setting.values())
    kept = set(every)
    for setting, seeds in by_setting.items():
        kept &= seeds
        if seeds != every:
            notes.append(f"{model.method} under `{setting}` lacks {_named(every - seeds)}; all are compared without")
    if every and not kept:
        notes.append(f"{model.method} has no seed under all its settings")
    return notes, kept


def _why_no_point(row: TableRow, columns: Sequence[str]) -> str:
    """Return what is in the way of a point, or nothing."""
    for column in columns:
        value = row.values.get(column)
        if value is None:
            return f"no {column}"
        if value.conflict:
            return f"two numbers of one seed in {column}"
        if not value.by_seed:
            return f"no {column}, {value.why_none}"
    return ""


def _named(seeds: Iterable[int]) -> str:
    """Return seeds for people.

    >>> _named([2]), _named([1, 0])
    ('seed 2', 'seeds 0, 1')
    """
    some = sorted(seeds)
    if len(some) == 1:
        return f"seed {some[0]}"
    return f"seeds {', '.join(map(str, some))}"
