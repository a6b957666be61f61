"""Verdict errors: how often the rule behind verdicts is wrong, by simulation; exits with 1 where it is too often.

    OMP_NUM_THREADS=1 python tools/benchmarks/verdict_errors.py [--quick] [--draws 10000] [--seed 0]

A draw is a column: 12 rows and their baseline, each trained with 20 seeds. Effects are counted in the seed-sd of a
contrast of two usual rows. Of each claim the true effect is nothing, half of it, all of it, or twice as much, and the
smallest effect of interest is half of it. The rule is the package's: `moderated`, `sequential`, `decision`, `share`.

Wrong is: established at an effect of at most 0, reversed at one of at least 0, smaller at one of at least the claim,
larger at one of at most the claim, equivalent at one of at least the smallest of interest. Each rate is the worst over
claims and effects, and may be 5 % (7.5 % with t(3) noise) and two Monte-Carlo errors. So may the chance that after Holm
any direction of a paper with as many claims is wrong, or any equivalence, and that a control with three quarters of an
effect explains it. Rates are for every n from 2 to 20 that was fixed beforehand (95 % intervals), for looks at n = 2,
3, 5, 8, 12, 20, where a statement counts as made if any look made it. Single statements keep their bound for who looks
at every n at the same level, too. Power may not fall as seeds are added.

Rows of one group of items (the sentences of a table) are correlated. The store keeps the sums of a group, so what is
drawn here is groups; all rows and seeds share them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from bench.leaderboards.claim.decision import Marks, marks
from bench.leaderboards.statistics.intervals import LEVEL
from bench.leaderboards.statistics.item_variance import shared_variance
from bench.leaderboards.statistics.moderated import limited_prior, squeezed
from bench.leaderboards.statistics.sequential import LOOKS, level_of_a_look
from bench.leaderboards.statistics.share import EXPLAINED, fieller, squeezed_covariance, with_noisy_control
from bench.leaderboards.statistics.special import t_quantile, t_tail
from bench.leaderboards.statistics.value_statistics import ALPHA

EVERY = tuple(range(2, max(LOOKS) + 1))
CLAIMS = (1.0, 2.0, 4.0)
"""Claimed sizes, in the seed-sd of a usual contrast."""
TIMES = (0.0, 0.5, 1.0, 2.0)
"""True effects, in the claim."""
SHOWN = ((1.0, 0.5), (1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (4.0, 0.5), (4.0, 0.0), (2.0, 0.0))
"""Claims and true effects, in the claim, of which it is shown how many are decided."""
INTEREST = 0.5
"""Smallest effect of interest, in the claim."""
SHARES = ((EXPLAINED, "wrong"), (1.0, "power"))  # that a control has of an effect, and what "explained" then is
GROUPS = 30
"""Groups of test items."""
CHUNK = 500
"""Draws held at a time."""
STATEMENTS = tuple(item.name for item in fields(Marks))
ERRORS = 2.0
"""Monte-Carlo errors that a rate may be above its bound."""
FALL = 3.0
"""Monte-Carlo errors that a power may be below that of one seed less; some thousand pairs are compared."""
UNSEEN = 0.001
"""A fall of so little is not looked at: the error of a rate near 0 is not known from a few draws that have it."""

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Paper = dict[str, tuple[Floats, Booleans]]
"""By kind, p-values of claims `[draws, claims]`, and which of them are of wrong statements."""
Said = tuple[str, str, Booleans]
"""Whether it is `wrong` or counts as `power`, what is said, and where: `[draws]` or `[draws, contrasts]`."""
Rule = Callable[[Floats, float], tuple[Floats, Floats]]
"""From variances `[draws, contrasts]` and their degrees to squeezed variances and degrees."""


@dataclass(frozen=True)
class World:
    """What noise is like.

    Args:
        log_sd: standard deviation of the logarithm of the rows' seed-sd.
        heavy: whether noise is Student's t with 3 degrees of freedom, scaled to a variance of 1.
        items: error of an effect from the choice of items, in the usual seed-sd; as much again goes to single seeds.
        contrasts: rows beside the baseline.
    """

    log_sd: float
    heavy: bool = False
    items: float = 0.0
    contrasts: int = 12

    @property
    def bound(self) -> float:
        """Largest rate of a wrong statement."""
        if self.heavy:
            return 1.5 * ALPHA
        return ALPHA

    def __str__(self) -> str:
        words = ["normal", f"log-sd {self.log_sd:g}", f"{self.contrasts} contrasts"]
        if self.heavy:
            words[0] = "t(3)"
        if self.items:
            words.append("correlated items")
        return ", ".join(words)


WORLDS = (
    World(0.0),
    World(0.5),
    World(1.0),
    World(0.0, heavy=True),
    World(0.5, heavy=True),
    World(1.0, heavy=True),
    World(0.0, items=0.5),
    World(1.0, items=0.5),
    World(1.0, contrasts=6),
    World(1.0, contrasts=5),
)


@dataclass(frozen=True)
class Noise:
    """Noise of contrasts.

    Args:
        seeds: `[draws, contrasts, seeds]`, that of each seed's difference.
        items: `[draws, contrasts, seeds, groups]`, what is in it of each group of items; None without.
        noisiest: `[draws]`, the contrast whose rows have the largest seed-sd.
    """

    seeds: Floats
    items: Floats | None
    noisiest: NDArray[np.int64]


@dataclass(frozen=True)
class Look:
    """What is seen of noise after so many seeds; arrays `[draws, contrasts]`.

    Args:
        seeds: their number.
        mean: of the noise.
        error: standard error of it.
        degrees: of freedom of the error.
    """

    seeds: int
    mean: Floats
    error: Floats
    degrees: Floats

    def half(self, level: float) -> Floats:
        """Return half the width of the interval."""
        return t_quantile(1 - level, self.degrees) * self.error

    def p(self, effect: Floats | float, against: float = 0.0) -> Floats:
        """Return the two-sided p of an effect of `against` where the true one is `effect`."""
        return t_tail((self.mean + effect - against) / self.error, self.degrees)

    def p_equivalent(self, effect: float, smallest: float) -> Floats:
        """Return what `Effect.p_equivalent` does."""
        seen = np.abs(self.mean + effect)
        return np.where(seen < smallest, t_tail((smallest - seen) / self.error, self.degrees), 1.0)


@dataclass
class Rates:
    """What was said in each draw, as a share of its contrasts, by when and what; one array a chunk."""

    wrong: dict[tuple[str, str], list[Floats]] = field(default_factory=dict)
    power: dict[tuple[str, str], list[Floats]] = field(default_factory=dict)
    shown: dict[tuple[str, str], list[Floats]] = field(default_factory=dict)

    def add(self, kind: str, when: str, what: str, seen: NDArray[np.generic]) -> None:
        """Keep one array `[draws, ...]`."""
        by_draw = np.asarray(seen, dtype=np.float64).reshape(len(seen), -1).mean(1)
        getattr(self, kind).setdefault((when, what), []).append(by_draw)

    def worst(self, when: str, what: str) -> tuple[float, float]:
        """Return the largest rate, with its Monte-Carlo error, of wrong statements of a kind."""
        return max(
            mean_and_error(found)
            for (at, name), found in self.wrong.items()
            if at == when and name.partition(" ")[0] == what
        )


def mean_and_error(by_draw: Sequence[Floats]) -> tuple[float, float]:
    """Return a rate and its Monte-Carlo error; draws are independent, the contrasts of one are not."""
    values = np.concatenate(by_draw)
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def draw(world: World, draws: int, rng: np.random.Generator) -> Noise:
    """Return noise of contrasts with one baseline, so that a usual one has a seed-sd of 1."""
    shape = (draws, world.contrasts + 1, max(LOOKS))
    scale = np.exp(world.log_sd * rng.standard_normal(shape[:2]))
    if world.heavy:
        noise = rng.standard_t(3, shape) / math.sqrt(3)
    else:
        noise = rng.standard_normal(shape)
    seeds = against_baseline(noise * scale[..., None])
    noisiest = scale[:, 1:].argmax(1)
    if not world.items:
        return Noise(seeds, None, noisiest)
    of_rows = rng.standard_normal((*shape[:2], 1, GROUPS)) + rng.standard_normal((*shape, GROUPS))
    items = against_baseline(of_rows * (world.items * math.sqrt(GROUPS)))
    return Noise(seeds + items.mean(-1), items, noisiest)


def against_baseline(rows: Floats) -> Floats:
    """Return the rows, along the second axis, less the first of them."""
    return (rows[:, 1:] - rows[:, :1]) / math.sqrt(2)


def look_at(noise: Noise, seeds: int, rule: Rule) -> Look:
    """Return what the first seeds show; the error is made as in `moderated.moderate`."""
    values = noise.seeds[..., :seeds]
    variance, degrees = rule(values.var(-1, ddof=1), seeds - 1)
    squared = variance / seeds
    if noise.items is not None:
        of_items = shared_variance(noise.items[..., :seeds, :])
        degrees = np.where(of_items > 0, np.minimum(degrees, GROUPS - 1), degrees)
        squared = squared + of_items
    return Look(seeds, values.mean(-1), np.sqrt(squared), degrees)


def kind_of(statement: str, times: float) -> str:
    """Return whether a statement is `wrong`, or counts as `power`, where the true effect is so many times the claim."""
    wrong = {
        "established": times <= 0,
        "reversed": times >= 0,
        "smaller": times >= 1,
        "larger": times <= 1,
        "equivalent": times >= INTEREST,
    }
    if wrong[statement]:
        return "wrong"
    return "power"


def of_claims(look: Look, level: float) -> Iterator[Said]:
    """Yield what is said of single claims, by claimed size and true effect."""
    half = look.half(level)
    for claim in CLAIMS:
        for times in TIMES:
            middle = look.mean + times * claim
            made = marks(middle - half, middle + half, claim, INTEREST * claim)
            for name in STATEMENTS:
                yield kind_of(name, times), f"{name} {times:g} x {claim:g}", getattr(made, name)


def holm(p: Floats) -> Floats:
    """Return `significance.holm` of each row."""
    order = np.argsort(p, axis=1)
    count = p.shape[1]
    steps = np.minimum(1, np.take_along_axis(p, order, 1) * (count - np.arange(count)))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(steps, axis=1), 1)
    return adjusted


def paper_p(look: Look) -> Paper:
    """Return, by kind, the p-values of a paper's claims, and which of them are of wrong statements.

    Its effects are all 0; every other one is 0 and the rest large; or all are exactly the smallest of interest.
    """
    nothing = look.p(0.0)
    of_none = np.ones(nothing.shape, dtype=bool)
    every_other = of_none & (np.arange(nothing.shape[1]) % 2 == 0)
    mixed = np.where(every_other, nothing, look.p(CLAIMS[-1]))
    return {
        "paper-direction all": (nothing, of_none),
        "paper-direction mixed": (mixed, every_other),
        "paper-equivalent": (look.p_equivalent(1.0, 1.0), of_none),
    }


def of_paper(paper: Paper, looks: int) -> Iterator[Said]:
    """Yield, `[draws]`, whether after Holm any of a paper's statements is wrong."""
    for label, (p, wrong) in paper.items():
        yield "wrong", label, ((holm(np.minimum(1, looks * p)) <= ALPHA) & wrong).any(1)


def of_control(noise: Noise, seeds: int, level: float) -> Iterator[Said]:
    """Yield, `[draws]`, whether the second contrast's effect is said to be explained by the first one.

    The first has three quarters of the effect, and then that is wrong, or all of it. In a second case it does not vary.
    """
    if noise.items is not None:
        return
    yield from of_still_control(noise.seeds[:, 1, :seeds], level)
    values = noise.seeds[..., :seeds]
    d0, variance = limited_prior(values.var(-1, ddof=1), seeds - 1)
    control, effect = values[:, 0], values[:, 1]
    both = ((control - control.mean(-1, keepdims=True)) * (effect - effect.mean(-1, keepdims=True))).sum(-1)
    seen = (control.var(-1, ddof=1), both / (seeds - 1), effect.var(-1, ddof=1))
    matrix, degrees = squeezed_covariance(seen, seeds - 1, d0[:, 1], variance)
    t = t_quantile(1 - level, degrees)
    for size, (share, kind) in product(CLAIMS, SHARES):
        means = control.mean(-1) + share * size, effect.mean(-1) + size
        low, _ = fieller(*means, matrix, seeds, t)
        yield kind, f"explained {share:g} of {size:g}", low > EXPLAINED
        ratio = means[0] / means[1]
        spread = np.sqrt((matrix[0] - 2 * ratio * matrix[1] + ratio**2 * matrix[2]) / seeds)
        yield "shown", f"delta {share:g} of {size:g}", ratio - t * spread / np.abs(means[1]) > EXPLAINED


def of_still_control(effect: Floats, level: float) -> Iterator[Said]:
    """Yield the same of a control without noise in a column without a prior; the other effect is `[draws, seeds]`."""
    seeds, nothing = effect.shape[-1], np.zeros(len(effect))
    matrix = with_noisy_control((nothing, nothing, effect.var(-1, ddof=1)))
    for size, (share, kind) in product(CLAIMS, SHARES):
        means = nothing + share * size, effect.mean(-1) + size
        low, _ = fieller(*means, matrix, seeds, t_quantile(1 - level, seeds - 1))
        yield kind, f"explained by a still control {share:g} of {size:g}", low > EXPLAINED


def add_ever(rates: Rates, when: str, said: Iterable[Said]) -> None:
    """File what any look says."""
    ever: dict[tuple[str, str], Booleans] = {}
    for kind, label, made in said:
        ever[kind, label] = ever.get((kind, label), False) | made
    for (kind, label), made in ever.items():
        rates.add(kind, when, label, made)


def add_stops(rates: Rates, looks: Sequence[Look]) -> None:
    """File which claims of a paper are decided after Holm by the last look, and how many seeds each took.

    All claims of the paper have the same size and the same true effect.
    """
    for claim, times in SHOWN:
        taken = np.full(looks[0].mean.shape, looks[-1].seeds)
        decided = np.zeros(taken.shape, dtype=bool)
        for look in looks:
            direction = holm(np.minimum(1, len(looks) * look.p(times * claim)))
            equivalence = holm(np.minimum(1, len(looks) * look.p_equivalent(times * claim, INTEREST * claim)))
            now = ~decided & (np.minimum(direction, equivalence) <= ALPHA)
            taken[now] = look.seeds
            decided |= now
        rates.add("shown", "decided", f"{times:g} x {claim:g}", decided)
        rates.add("shown", "seeds", f"{times:g} x {claim:g}", taken)


def measure(world: World, draws: int, seed: int, every: Sequence[int] = EVERY, rule: Rule = squeezed) -> Rates:
    """Return the rates of one world.

    Args:
        world: what noise is like.
        draws: columns.
        seed: of the draws.
        every: numbers of seeds that are looked at; the looks of the sequential rule are among them.
        rule: how variances are squeezed; that of the package, unless another one is to be seen to fail.
    """
    rng, rates = np.random.default_rng(seed), Rates()
    for start in range(0, draws, CHUNK):
        noise = draw(world, min(CHUNK, draws - start), rng)
        seen = [look_at(noise, seeds, rule) for seeds in every]
        looks = [look for look in seen if look.seeds in LOOKS]
        level, papers = level_of_a_look(), {look.seeds: paper_p(look) for look in seen}
        for look in seen:
            fixed = chain(of_claims(look, LEVEL), of_control(noise, look.seeds, LEVEL), of_paper(papers[look.seeds], 1))
            for kind, label, made in fixed:
                rates.add(kind, f"n={look.seeds}", label, made)
            noisiest = (look.mean > look.half(LEVEL))[np.arange(len(look.mean)), noise.noisiest]
            rates.add("shown", f"n={look.seeds}", "noisiest", noisiest)
        add_ever(rates, "looks", chain.from_iterable(of_claims(look, level) for look in looks))
        add_ever(rates, "looks", chain.from_iterable(of_control(noise, look.seeds, level) for look in looks))
        add_ever(rates, "looks", chain.from_iterable(of_paper(papers[look.seeds], len(LOOKS)) for look in looks))
        add_ever(rates, "every n", chain.from_iterable(of_claims(look, level) for look in seen))
        add_stops(rates, looks)
    return rates


def missed(world: World, rates: Rates, every: Sequence[int] = EVERY) -> list[str]:
    """Return what is above its bound, and where more seeds have less power."""
    lines = []
    for (when, label), found in rates.wrong.items():
        rate, error = mean_and_error(found)
        if rate > world.bound + ERRORS * error:
            lines.append(
                f"{world}, {when}, {label}: {rate:.2%} wrong, at most {world.bound:.1%} + {ERRORS * error:.2%}"
            )
    for fewer, more in zip(every, every[1:], strict=False):
        for (when, label), found in rates.power.items():
            if when == f"n={more}":
                gain, error = mean_and_error([np.concatenate(found) - np.concatenate(rates.power[f"n={fewer}", label])])
                if gain < -FALL * error - UNSEEN:
                    lines.append(f"{world}, {label}: power falls by {-gain:.2%} from n={fewer} to n={more}")
    return lines


def row(when: str, world: World, rates: Rates) -> str:
    """Return one line of the table, in percent."""
    names = [*STATEMENTS, "paper-direction", "paper-equivalent", "explained"]
    there = {label.partition(" ")[0] for at, label in rates.wrong if at == when}
    cells = [f"{100 * rates.worst(when, name)[0]:6.1f}" if name in there else f"{'-':>6}" for name in names]
    cells.append(" |")
    labels = [f"established 1 x {claim:g}" for claim in CLAIMS]
    labels += ["smaller 0.5 x 4", "larger 2 x 4", "equivalent 0 x 4", "explained 1 of 4"]
    for label in labels:
        found = rates.power.get((when, label))
        cells.append(f"{100 * mean_and_error(found)[0]:6.0f}" if found else f"{'-':>6}")
    for label in ("noisiest", "delta 1 of 4"):
        found = rates.shown.get((when, label))
        cells.append(f"{100 * mean_and_error(found)[0]:6.1f}" if found else f"{'-':>6}")
    return f"  {when:8}{''.join(cells)}"


HEAD = """\
           worst rate of what is wrong, %                   |  power, %                                 shown
            estab revrs smalr large equiv papr+ papr= expl  |  est.1 est.2 est.4 small large equiv expl  noisy delta
"""


def main() -> int:
    """Print the table; return 1 where a rate is above its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer draws, and n at the looks only")
    args = parser.parse_args()
    draws, every = (min(args.draws, 500), LOOKS) if args.quick else (args.draws, EVERY)
    failures, start = [], time.perf_counter()
    for place, world in enumerate(WORLDS):
        rates = measure(world, draws, args.seed + place, every)
        failures += missed(world, rates, every)
        print(f"{world}: {draws} draws, each rate at most {100 * world.bound:g} % and two Monte-Carlo errors")
        print(HEAD, end="")
        for when in [*(f"n={seeds}" for seeds in LOOKS), "looks", "every n"]:
            print(row(when, world, rates))
        print(stops(rates), flush=True)
    print("".join(f"MISSED: {line}\n" for line in failures), end="")
    print(f"{len(failures)} missed, {time.perf_counter() - start:.0f} s")
    return int(bool(failures))


def stops(rates: Rates) -> str:
    """Return how many claims of a paper are decided, and after how many seeds, by the true effect."""
    cells = []
    for claim, times in SHOWN:
        decided = mean_and_error(rates.shown["decided", f"{times:g} x {claim:g}"])[0]
        seeds = mean_and_error(rates.shown["seeds", f"{times:g} x {claim:g}"])[0]
        cells.append(f"{times * claim:g} of {claim:g}: {100 * decided:.0f} % after {seeds:.1f}")
    return f"  decided by looks after Holm, true effect of claim: {'; '.join(cells)}"


if __name__ == "__main__":
    sys.exit(main())
