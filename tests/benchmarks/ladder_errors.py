"""Ladder errors: how often a ladder says what is not so, by simulation; exits with 1 where it is too often.

    OMP_NUM_THREADS=1 python tests/benchmarks/ladder_errors.py [--draws 2000] [--seed 0]

A draw is a ladder: some metrics, three rungs, some methods with the baseline first, a few seeds. The noise of a seed is
independent, with a standard deviation of each method on each rung in each metric. The rules are the package's: pairs
get a moderated t and Holm over the ladder (`pairs`), trends likewise (`transfer`).

Wrong is, in any metric: an order that is established and is not so; and a word that is not so. Each rate is the share
of ladders in which anything of the kind is said. Both together may be 5 % (7.5 % with t(3) noise) and two Monte-Carlo
errors. True effects, in the usual seed-sd:

- nothing: all methods are alike; every order and every word is wrong;
- mixed: every other method is alike, the rest are far apart; orders among the alike ones are wrong;
- stable: methods are far apart, on every rung alike; growing, shrinking and crossing are wrong;
- crossed: differences go from far below 0 to as far above it; growing and shrinking are wrong;
- grown: differences grow with size; shrinking and crossing are wrong.

Found is the share of true orders, and of true words against the baseline, that are said.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.leaderboards.ladder.pairs import ORDERS
from bench.leaderboards.ladder.transfer import TRENDS, weights
from bench.leaderboards.statistics.moderated import squeezed
from bench.leaderboards.statistics.special import t_tail
from bench.leaderboards.statistics.value_statistics import ALPHA

SIZES = (100_000, 1_000_000, 10_000_000)
STRONG = 400.0
"""Distance of neighbouring methods that are far apart."""
CHUNK = 50
"""Ladders held at a time."""
ERRORS = 2.0
"""Monte-Carlo errors that a rate may be above its bound."""
WORDS = ("growing", "shrinking", "crossing")

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Rule = Callable[[Floats, float], tuple[Floats, Floats]]
"""From variances `[..., contrasts]` and their degrees to squeezed variances and degrees."""


@dataclass(frozen=True)
class World:
    """What a ladder and its noise are like.

    Args:
        methods: the baseline and the others.
        seeds: of each.
        log_sd: standard deviation of the logarithm of the seed-sd.
        heavy: whether noise is Student's t with 3 degrees of freedom, scaled to a variance of 1.
        metrics: that are judged.
    """

    methods: int
    seeds: int = 3
    log_sd: float = 0.0
    heavy: bool = False
    metrics: int = 6

    @property
    def bound(self) -> float:
        """Largest rate of ladders that say anything wrong."""
        if self.heavy:
            return 1.5 * ALPHA
        return ALPHA

    def __str__(self) -> str:
        noise = "normal"
        if self.heavy:
            noise = "t(3)"
        return f"{self.methods} methods, {self.seeds} seeds, {noise}, log-sd {self.log_sd:g}, {self.metrics} metrics"


WORLDS = (
    World(12),
    World(12, log_sd=0.5),
    World(12, log_sd=1.0),
    World(12, log_sd=1.0, heavy=True),
    World(12, seeds=2, log_sd=0.5),
    World(12, seeds=5, log_sd=0.5),
    World(6, log_sd=0.5),
    World(6, log_sd=1.0, heavy=True),
    World(4, log_sd=1.0),
    World(3, log_sd=1.0),
    World(6, log_sd=1.0, metrics=1),
)


@dataclass(frozen=True)
class Said:
    """What ladders say.

    Args:
        orders: `[draws, metrics, rungs, pairs]`, 1 where the first method of a pair is said to be better, -1 where the
            second is, 0 where the order is open.
        words: by word, `[draws, metrics, methods - 1]`, whether it is said of a method against the baseline.
    """

    orders: NDArray[np.int64]
    words: dict[str, Booleans]


def effects_of(kind: str, methods: int) -> Floats:
    """Return the true means `[rungs, methods]` of a kind."""
    x = np.log10(np.array(SIZES, dtype=np.float64))
    line = ((x - x.mean()) / (x[-1] - x.mean()))[:, None]  # -1 at the smallest size, 1 at the largest
    far = STRONG * np.arange(methods, dtype=np.float64)[None, :]
    if kind == "nothing":
        return np.zeros((len(SIZES), methods))
    if kind == "mixed":
        return np.where(np.arange(methods) % 2 == 0, 0.0, far) + 0 * line
    if kind == "stable":
        return far + 0 * line
    if kind == "crossed":
        return far * line
    return far * (1.5 + line)


TRUE_WORD = {"nothing": "", "mixed": "", "stable": "", "crossed": "crossing", "grown": "growing"}


def draw(world: World, draws: int, rng: np.random.Generator) -> Floats:
    """Return noise `[draws, metrics, rungs, methods, seeds]`."""
    shape = (draws, world.metrics, len(SIZES), world.methods, world.seeds)
    noise = rng.standard_normal(shape)
    if world.heavy:
        noise = rng.standard_t(3, shape) / math.sqrt(3)
    return noise * np.exp(world.log_sd * rng.standard_normal(shape[:-1]))[..., None]


def said_of(values: Floats, rule: Rule = squeezed) -> Said:
    """Return what ladders say.

    Args:
        values: `[draws, metrics, rungs, methods, seeds]`, higher is better.
        rule: how variances are squeezed; that of the package, unless another one is to be seen to fail.
    """
    pairs = list(combinations(range(values.shape[3]), 2))
    first, second = np.array(pairs).T
    by_seed = values[:, :, :, first] - values[:, :, :, second]  # [draws, metrics, rungs, pairs, seeds]
    orders = np.where(holm(p_of(by_seed, rule)) <= ORDERS, np.sign(by_seed.mean(-1)), 0).astype(np.int64)

    slope, middle = (np.einsum("r,dmrps->dmps", np.array(weight), by_seed) for weight in weights(SIZES))
    against = [place for place, pair in enumerate(pairs) if pair[0] == 0]  # the baseline less each other method
    p = np.maximum(p_of(slope, rule), p_of(middle, rule))[..., against]
    same = (np.sign(slope.mean(-1)) * np.sign(middle.mean(-1)))[..., against]
    trend = holm(p) <= TRENDS
    crossing = crosses(orders[..., against])
    words = {"growing": trend & (same > 0) & ~crossing, "shrinking": trend & (same < 0) & ~crossing}
    return Said(orders, {**words, "crossing": crossing})


def crosses(orders: NDArray[np.int64]) -> Booleans:
    """Return where rungs, along the third axis, have unlike established orders."""
    return np.asarray((orders > 0).any(2) & (orders < 0).any(2))


def p_of(by_seed: Floats, rule: Rule) -> Floats:
    """Return the two-sided p of each contrast `[..., contrasts]` of a column, from its values by seed."""
    seeds = by_seed.shape[-1]
    variance, degrees = rule(by_seed.var(-1, ddof=1), seeds - 1)
    return t_tail(by_seed.mean(-1) / np.sqrt(variance / seeds), degrees)


def holm(p: Floats) -> Floats:
    """Return `significance.holm` over everything of a draw, in the shape given."""
    flat = p.reshape(len(p), -1)
    order, count = np.argsort(flat, axis=1), flat.shape[1]
    steps = np.minimum(1, np.take_along_axis(flat, order, 1) * (count - np.arange(count)))
    adjusted = np.empty_like(flat)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(steps, axis=1), 1)
    return adjusted.reshape(p.shape)


def judged(said: Said, effects: Floats, kind: str) -> dict[str, Floats]:
    """Return by draw what is wrong and what is found.

    Args:
        said: of the ladders.
        effects: true means `[rungs, methods]`.
        kind: of the effects.
    """
    first, second = np.array(list(combinations(range(effects.shape[1]), 2))).T
    truth = np.sign(effects[:, first] - effects[:, second])  # [rungs, pairs]
    draws = len(said.orders)
    wrong_order = ((said.orders != 0) & (said.orders != truth)).reshape(draws, -1).any(1)
    wrong_word = np.zeros(draws, dtype=bool)
    for word in WORDS:
        if kind != "mixed" and word != TRUE_WORD[kind]:
            wrong_word |= said.words[word].reshape(draws, -1).any(1)
    rates = {"order": wrong_order, "word": wrong_word, "wrong": wrong_order | wrong_word}
    if truth.any():
        right = (said.orders == truth) & (truth != 0)
        rates["orders found"] = right.reshape(draws, -1).sum(1) / (truth != 0).sum() / said.orders.shape[1]
    if TRUE_WORD[kind]:
        rates["words found"] = said.words[TRUE_WORD[kind]].reshape(draws, -1).mean(1)
    return {name: np.asarray(rate, dtype=np.float64) for name, rate in rates.items()}


def measure(world: World, draws: int, seed: int, rule: Rule = squeezed) -> dict[tuple[str, str], Floats]:
    """Return by kind of effects and name of the rate its value in each draw.

    Args:
        world: what ladders are like.
        draws: ladders of each kind; all kinds have the same noise.
        seed: of the draws.
        rule: how variances are squeezed.
    """
    rng, parts = np.random.default_rng(seed), dict[tuple[str, str], list[Floats]]()
    for start in range(0, draws, CHUNK):
        noise = draw(world, min(CHUNK, draws - start), rng)
        for kind in TRUE_WORD:
            effects = effects_of(kind, world.methods)
            said = said_of(noise + effects[:, :, None], rule)
            for name, rate in judged(said, effects, kind).items():
                parts.setdefault((kind, name), []).append(rate)
    return {place: np.concatenate(found) for place, found in parts.items()}


def missed(world: World, rates: dict[tuple[str, str], Floats]) -> list[str]:
    """Return what is above its bound."""
    lines = []
    for (kind, name), found in rates.items():
        error = found.std(ddof=1) / math.sqrt(len(found))
        if name == "wrong" and found.mean() > world.bound + ERRORS * error:
            lines.append(f"{world}, {kind}: {found.mean():.2%} wrong, at most {world.bound:.1%} + {ERRORS * error:.2%}")
    return lines


def table(rates: dict[tuple[str, str], Floats]) -> str:
    """Return a line for each kind of effects, in percent."""
    names = ("order", "word", "wrong", "orders found", "words found")
    lines = [f"  {'effects':10}" + "".join(f"{name:>14}" for name in names)]
    for kind in TRUE_WORD:
        cells = []
        for name in names:
            shown = "-"
            if (kind, name) in rates:
                shown = f"{100 * rates[kind, name].mean():.1f}"
            cells.append(f"{shown:>14}")
        lines.append(f"  {kind:10}{''.join(cells)}")
    return "\n".join(lines)


def main() -> int:
    """Print the table; return 1 where a rate is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    failures, start = list[str](), time.perf_counter()
    for place, world in enumerate(WORLDS):
        rates = measure(world, args.draws, args.seed + place)
        failures += missed(world, rates)
        print(
            f"{world}: {args.draws} ladders a line, at most {world.bound:.1%} of them wrong\n{table(rates)}", flush=True
        )
    print("".join(f"MISSED: {line}\n" for line in failures), end="")
    print(f"{len(failures)} missed, {time.perf_counter() - start:.0f} s")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
