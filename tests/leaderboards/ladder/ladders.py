"""Ladders for tests, from true means and seeded noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench.leaderboards.ladder.scores import Ladder, Rung

SIZES = {"0.1M": 100_000, "1M": 1_000_000, "10M": 10_000_000}
NAMES = ("mle", "emo", "gem", "simctg", "tailr", "trime", "power", "entmax")


def ladder_of(
    true: Mapping[str, Sequence[Sequence[float]]],
    *,
    noise: float = 0.0,
    seeds: int = 3,
    lower: Sequence[str] = (),
    names: Sequence[str] = NAMES,
) -> Ladder:
    """A ladder with the means of metric, rung and method, and noise of that sd; `lower` are better when lower."""
    rng, rungs = np.random.default_rng(0), []
    count = max(len(means) for means in true.values())
    for place, (name, parameters) in enumerate(list(SIZES.items())[:count]):
        values = {}
        for metric, means in true.items():
            values[metric] = {
                method: {seed: mean + noise * float(rng.standard_normal()) for seed in range(seeds)}
                for method, mean in zip(names, means[place], strict=False)
            }
        rungs.append(Rung(name, parameters, 2.0, values, 20 * parameters // (place + 1)))
    return Ladder("text", "mle", tuple(rungs), {metric: metric not in lower for metric in true})


def below(ladder: Ladder, rungs: int = -1) -> Ladder:
    """The ladder without its upper rungs."""
    return Ladder(ladder.task, ladder.baseline, ladder.rungs[:rungs], ladder.higher_is_better)
