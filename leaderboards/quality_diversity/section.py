"""Section: from leaderboards to the comparisons of every objective that a decoder might replace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.leaderboards.controls import rivals_of_decoders, trained_as_long
from bench.leaderboards.quality_diversity.comparison import (
    CLAIMED,
    COMPARED,
    FrontDifference,
    Gains,
    Pair,
    Share,
    contrast,
    front_difference,
    gains_of,
    pair_of,
    share_of,
)
from bench.leaderboards.quality_diversity.curves import Axes, Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, SETTINGS, setting_of
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table

__all__ = ["Objective", "Section", "cells_of", "models_of", "sections"]

LEAST_FAMILIES = 2
"""Families of decoders that a leaderboard has whole before it is shown."""


@dataclass(frozen=True)
class Objective:
    """What is said of one objective.

    Args:
        ours, theirs: its model and that of its baseline; None where nothing is stored.
        method, baseline: their names.
        pairs: what both reach, by axes.
        fronts: at equal values, in the order of `COMPARED`.
        shares: what decoders give, in the order of `CLAIMED`.
        why: what is missing, where there are none.
    """

    method: str
    baseline: str
    ours: Model | None = None
    theirs: Model | None = None
    pairs: Mapping[Axes, Pair] = field(default_factory=dict)
    fronts: Sequence[FrontDifference] = ()
    shares: Sequence[Share] = ()
    why: str = ""


@dataclass(frozen=True)
class Section:
    """The objectives of one leaderboard on one backbone.

    Args:
        table: the leaderboard.
        backbone: its name.
        models: by method.
        objectives: in the order of the list of methods.
        missing: settings that some model lacks; pairs are compared without them.
    """

    table: Table
    backbone: str
    models: Mapping[str, Model]
    objectives: Sequence[Objective]
    missing: Sequence[str]


def sections(tables: Sequence[Table]) -> list[Section]:
    """Return a section for each leaderboard and backbone on which maximum likelihood has several families of decoders.

    Args:
        tables: with all columns.
    """
    found = []
    for table in tables:
        for backbone, places in table.blocks.items():
            models = models_of([table.rows[place] for place in places])
            if "mle" in models and _whole_families(models["mle"]) >= LEAST_FAMILIES:
                found.append(_section(table, backbone, models))
    return found


def cells_of(found: Sequence[Section]) -> set[str]:
    """Return the keys of the trained cells that sections speak of: objectives, baselines and maximum likelihood."""
    methods = {"mle", *rivals_of_decoders(), *map(trained_as_long, rivals_of_decoders())}
    keys: set[str] = set()
    for section in found:
        for method in methods & set(section.models):
            keys = keys.union(*(row.keys for row in section.models[method].rows.values()))
    return keys


def models_of(rows: Sequence[TableRow]) -> dict[str, Model]:
    """Return the models of a leaderboard's rows by method; of several of one method, the one with most settings.

    Rows of a decoding that is not in `FAMILIES` are passed over.
    """
    by_cells: dict[tuple[str, frozenset[str]], dict[str, TableRow]] = defaultdict(dict)
    for row in rows:
        setting = setting_of(row.decoding)
        if setting in SETTINGS:
            by_cells[row.method, frozenset(row.keys)][setting] = row
    models: dict[str, Model] = {}
    for (method, _), by_setting in by_cells.items():
        before = models.get(method)
        if before is None or len(by_setting) > len(before.rows):
            ordered = {setting: by_setting[setting] for setting in SETTINGS if setting in by_setting}
            models[method] = Model(method, ordered)
    return models


def _whole_families(model: Model) -> int:
    return sum(set(settings) <= set(model.rows) for settings in FAMILIES.values())


def _section(table: Table, backbone: str, models: Mapping[str, Model]) -> Section:
    """Compare every objective with its baseline."""
    pairs = {}
    for method in rivals_of_decoders():
        baseline = trained_as_long(method)
        if method in models and baseline in models:
            pairs[method] = {axes: pair_of(models[method], models[baseline], axes) for axes in (*COMPARED, *CLAIMED)}
    shares = _shares(pairs)
    objectives = []
    for method in rivals_of_decoders():
        baseline = trained_as_long(method)
        if method not in pairs:
            absent = [name for name in (method, baseline) if name not in models]
            objectives.append(Objective(method, baseline, why=f"not run: {', '.join(absent)}"))
            continue
        fronts = [front_difference(pairs[method][axes], axes) for axes in COMPARED]
        ours, theirs = models[method], models[baseline]
        objectives.append(Objective(method, baseline, ours, theirs, pairs[method], fronts, shares[method]))
    lacking = [name for name in SETTINGS if any(name not in models[method].rows for method in _used(pairs))]
    return Section(table, backbone, models, objectives, lacking)


def _used(pairs: Mapping[str, object]) -> set[str]:
    """Return the methods that are compared, and their baselines."""
    return {*pairs, *map(trained_as_long, pairs)}


def _shares(pairs: Mapping[str, Mapping[Axes, Pair]]) -> dict[str, list[Share]]:
    """Return the shares of every objective; those with one baseline inform each other's noise."""
    shares: dict[str, list[Share]] = {method: [] for method in pairs}
    for axes in CLAIMED:
        gains: dict[str, Gains] = {method: gains_of(of_axes[axes]) for method, of_axes in pairs.items()}
        for method in pairs:
            alike = [gains[other] for other in pairs if trained_as_long(other) == trained_as_long(method)]
            column = [found for found in map(contrast, alike) if found is not None]
            shares[method].append(share_of(gains[method], axes, column))
    return shares
