"""Matching: the models of a leaderboard's rows, and which model of an objective meets which of its baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bench.base.keys import key_of
from bench.leaderboards.controls import rivals_of_decoders, trained_as_long
from bench.leaderboards.quality_diversity.conditions import Conditions, conditions_of
from bench.leaderboards.quality_diversity.curves import Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, SETTINGS, WHOLE, setting_of
from bench.leaderboards.row import TableRow

__all__ = ["Match", "by_start", "match", "models_of", "n_whole_families"]


@dataclass(frozen=True)
class Match:
    """The models that an objective is compared by, or why it is not.

    Args:
        method, baseline: their names.
        ours, theirs: models under equal conditions; None where there are none.
        why: there are none.
    """

    method: str
    baseline: str
    ours: Model | None = None
    theirs: Model | None = None
    why: str = ""


def models_of(rows: Sequence[TableRow]) -> list[Model]:
    """Return the models of a leaderboard's rows: objectives, their baselines and maximum likelihood.

    Rows that differ in more than their decoding are of several models, and so are texts of several lengths. Rows of a
    decoding that is not in `FAMILIES` are passed over, and so are those by a method's whole distribution where its own
    has the setting, too.
    """
    methods = {"mle", *rivals_of_decoders(), *map(trained_as_long, rivals_of_decoders())}
    found: dict[tuple[str, str, Conditions], dict[str, TableRow]] = defaultdict(dict)
    for row in rows:
        setting = setting_of(row.decoding)
        if row.method in methods and setting in SETTINGS:
            by_setting = found[row.method, key_of(row.config), conditions_of(row)]
            if setting not in by_setting or not row.decoding.startswith(WHOLE):
                by_setting[setting] = row
    models = []
    for (method, _, conditions), of_model in found.items():
        ordered = {setting: of_model[setting] for setting in SETTINGS if setting in of_model}
        models.append(Model(method, ordered, conditions))
    return models


def by_start(models: Sequence[Model]) -> dict[Conditions, list[Model]]:
    """Return models by the conditions of what they start from, in order: those of one section, which have one size."""
    found: dict[Conditions, list[Model]] = defaultdict(list)
    for model in models:
        found[model.conditions.start].append(model)
    return dict(sorted(found.items(), key=lambda item: item[0].order))


def n_whole_families(models: Sequence[Model], method: str) -> int:
    """Return how many families of decoders the model of a method has whole that has most; 0 without a model."""
    most = 0
    for model in models:
        if model.method == method:
            most = max(most, sum(set(settings) <= set(model.rows) for settings in FAMILIES.values()))
    return most


def match(method: str, models: Sequence[Model], elsewhere: Mapping[str, Sequence[Model]]) -> Match:
    """Return the model of an objective and that of its baseline which are alike and share most settings.

    Nothing is chosen where several share as many.

    Args:
        method: the objective.
        models: of one size and evaluation.
        elsewhere: models of the leaderboard by method, of every size and evaluation.
    """
    baseline = trained_as_long(method)
    here = {model.method for model in models}
    for names, reason in ((set(elsewhere), "not run"), (here, "not stored with this length, size and evaluation")):
        if absent := [name for name in (method, baseline) if name not in names]:
            return Match(method, baseline, why=f"{reason}: {', '.join(absent)}")
    ours = [model for model in models if model.method == method]
    theirs = [model for model in models if model.method == baseline]
    alike = [pair for pair in product(ours, theirs) if pair[0].conditions == pair[1].conditions]
    if not alike:
        return Match(method, baseline, why=f"no {baseline} was trained for as many steps")
    most = max(map(_n_shared, alike))
    best = [pair for pair in alike if _n_shared(pair) == most]
    if len(best) > 1:
        why = f"{len(best)} pairs of it and {baseline} are alike in size, steps and settings; keep one in a store"
        return Match(method, baseline, why=why)
    return Match(method, baseline, *best[0])


def _n_shared(pair: tuple[Model, Model]) -> int:
    """Return how many settings two models have in common."""
    return len(set(pair[0].rows) & set(pair[1].rows))
