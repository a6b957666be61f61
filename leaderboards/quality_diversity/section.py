"""Section: from leaderboards to the comparisons of every objective that a decoder might replace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from bench.leaderboards.controls import rivals_of_decoders
from bench.leaderboards.quality_diversity.comparison import (
    CLAIMED,
    COMPARED,
    CurvePair,
    FrontDifference,
    Gains,
    Share,
    contrast,
    front_difference,
    gains_of,
    pair_of,
    share_of,
)
from bench.leaderboards.quality_diversity.curves import Axes, Model
from bench.leaderboards.quality_diversity.decoders import SETTINGS
from bench.leaderboards.quality_diversity.gaps import gaps
from bench.leaderboards.quality_diversity.matching import Match, by_start, match, models_of, n_whole_families
from bench.leaderboards.table import Table

__all__ = ["Objective", "Section", "cells_of", "sections"]

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
        gaps: stored settings and seeds that they are compared without, for people.
        why: what is missing, where there are none.
    """

    method: str
    baseline: str
    ours: Model | None = None
    theirs: Model | None = None
    pairs: Mapping[Axes, CurvePair] = field(default_factory=dict)
    fronts: Sequence[FrontDifference] = ()
    shares: Sequence[Share] = ()
    gaps: Sequence[str] = ()
    why: str = ""


@dataclass(frozen=True)
class Section:
    """The objectives of one leaderboard on one backbone of one size, evaluated in one way.

    Args:
        table: the leaderboard.
        backbone: its name.
        conditions: length of the texts, and what else parts it from other sections, for people.
        models: all of the leaderboard on this backbone.
        objectives: in the order of the list of methods.
        missing: settings without a point of some model; its pair is compared without them.
        passed_over: models that are compared with nothing in any section of the leaderboard, for people.
    """

    table: Table
    backbone: str
    conditions: str
    models: Sequence[Model]
    objectives: Sequence[Objective]
    missing: Sequence[str]
    passed_over: Sequence[str]


def sections(tables: Sequence[Table]) -> list[Section]:
    """Return the sections in which maximum likelihood has several families of decoders.

    Each leaderboard and backbone has one for each size of model, length of texts and batch size of the evaluation.

    Args:
        tables: with all columns.
    """
    found = []
    for table in tables:
        for backbone, places in table.blocks.items():
            found += _sections(table, backbone, models_of([table.rows[place] for place in places]))
    return found


def cells_of(found: Sequence[Section]) -> set[str]:
    """Return the keys of the trained cells that sections speak of: objectives, baselines and maximum likelihood."""
    keys: set[str] = set()
    for section in found:
        for model in section.models:
            for row in model.rows.values():
                keys |= row.keys
    return keys


def _sections(table: Table, backbone: str, models: Sequence[Model]) -> list[Section]:
    """Return the sections of one leaderboard and backbone."""
    groups = by_start(models)
    by_method: dict[str, list[Model]] = defaultdict(list)
    for model in models:
        by_method[model.method].append(model)
    matches = {}
    for start, group in groups.items():
        if n_whole_families(group, "mle") >= LEAST_FAMILIES:
            matches[start] = [match(method, group, by_method) for method in rivals_of_decoders()]
    passed_over = _passed_over(models, list(chain.from_iterable(matches.values())))
    found = []
    for start, of_start in matches.items():
        objectives = _objectives(of_start)
        title = start.text(groups)
        found.append(Section(table, backbone, title, models, objectives, _missing(objectives), passed_over))
    return found


def _missing(objectives: Sequence[Objective]) -> list[str]:
    """Return the settings of which some pair has no points."""
    missing: set[str] = set()
    for one in objectives:
        for pair in one.pairs.values():
            missing |= set(SETTINGS) - set(pair.ours.points)
    return [name for name in SETTINGS if name in missing]


def _passed_over(models: Sequence[Model], matches: Sequence[Match]) -> list[str]:
    """Return the models that no objective is compared by, for people."""
    used = {id(model) for one in matches for model in (one.ours, one.theirs)}
    every = [model.conditions for model in models]
    found = []
    for model in models:
        if id(model) not in used:
            conditions = model.conditions.text(every)
            found.append(f"{model.method} ({conditions}, {len(model.rows)} of {len(SETTINGS)} settings)")
    return sorted(found)


def _objectives(matches: Sequence[Match]) -> list[Objective]:
    """Compare every objective with its baseline."""
    pairs = {}
    for one in matches:
        if one.ours is not None and one.theirs is not None:
            pairs[one.method] = {axes: pair_of(one.ours, one.theirs, axes) for axes in (*COMPARED, *CLAIMED)}
    shares = _shares(pairs, {one.method: id(one.theirs) for one in matches})
    objectives = []
    for one in matches:
        if one.ours is None or one.theirs is None:
            objectives.append(Objective(one.method, one.baseline, why=one.why))
            continue
        of_axes = pairs[one.method]
        fronts = [front_difference(of_axes[axes], axes) for axes in COMPARED]
        notes: dict[str, None] = {}
        for axes in of_axes:
            notes |= dict.fromkeys(gaps(one.ours, one.theirs, axes))
        found = Objective(
            one.method, one.baseline, one.ours, one.theirs, of_axes, fronts, shares[one.method], list(notes)
        )
        objectives.append(found)
    return objectives


def _shares(pairs: Mapping[str, Mapping[Axes, CurvePair]], baselines: Mapping[str, int]) -> dict[str, list[Share]]:
    """Return the shares of every objective; those with one baseline inform each other's noise.

    Args:
        pairs: of each objective.
        baselines: which model each objective is compared with.
    """
    shares: dict[str, list[Share]] = {method: [] for method in pairs}
    for axes in CLAIMED:
        gains: dict[str, Gains] = {method: gains_of(of_axes[axes]) for method, of_axes in pairs.items()}
        for method in pairs:
            alike = [gains[other] for other in pairs if baselines[other] == baselines[method]]
            column = [found for found in map(contrast, alike) if found is not None]
            shares[method].append(share_of(gains[method], axes, column))
    return shares
