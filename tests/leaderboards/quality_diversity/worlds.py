"""Made-up models whose curves are straight lines: what a decoder gives and what training adds is known."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bench.leaderboards.quality_diversity.curves import Model
from bench.leaderboards.quality_diversity.decoders import FAMILIES, REFERENCE
from bench.leaderboards.row import TableRow, Value

SEEDS = (0, 1, 2)
NOISE = {0: 0.0, 1: 0.02, 2: -0.02}
"""How much freer each seed writes."""


def freedom(setting: str) -> float:
    """How free a setting is: 0.1, 0.5 and 0.9 in each family, as its settings go from cautious to free."""
    for settings in FAMILIES.values():
        if setting in settings:
            return 0.1 + 0.4 * settings.index(setting)
    raise ValueError(setting)


def columns(free: float, fewer: float = 0.0) -> dict[str, float]:
    """The values of a model that writes so freely; `fewer` is what it repeats less at the same quality."""
    return {
        "sample-ppl": math.exp(3 + 4 * free),
        "self-bleu-2": 60 - 40 * free - fewer,
        "seq-rep-4": 40 - 20 * free - fewer,
    }


def model(
    method: str,
    freer: float = 0.0,
    fewer: float = 0.0,
    settings: tuple[str, ...] | None = None,
    luck: float = 0.0,
    length: int = 64,
) -> Model:
    """A model that writes freer than maximum likelihood under each setting, and repeats less, one seed by luck."""
    rows = {}
    for family in FAMILIES.values():
        for setting in family:
            if settings is None or setting in settings:
                by_seed = {}
                for seed, noise in NOISE.items():
                    more = freer * (1 + noise)
                    by_seed[seed] = columns(freedom(setting) + noise + more, fewer * (1 + noise) + luck * noise)
                rows[setting] = row(method, setting, by_seed, length)
    return Model(method, rows)


def row(method: str, setting: str, by_seed: Mapping[int, Mapping[str, float]], length: int = 64) -> TableRow:
    """One line of a leaderboard."""
    values = {}
    for name in by_seed[0]:
        numbers = {seed: found[name] for seed, found in by_seed.items()}
        values[name] = Value(numbers, False, f"{name}|version:1")
    decoding = f"{setting}+max_new_tokens={length}"
    return TableRow(method, "small-causal", decoding, {}, values=values, seeds=set(by_seed), keys={f"{method}-key"})


assert freedom(REFERENCE) == 0.1
