"""Comparison: one objective beside maximum likelihood under the same decoders, as fronts and as a share.

Two questions, each for some pairs of columns:

- **Fronts.** Both models have all settings. Where both fronts reach the same value of one column, what is the mean
  difference in the other?
- **Share.** Under the reference setting the objective gains something on maximum likelihood. Where the front of maximum
  likelihood has the objective's quality, what has it gained there, with nothing trained? The ratio is the share. Where
  all of the front is of better quality, its nearest point gains at the least what decoders do: the share is a bound.

The share favours decoders: one point of the objective meets the best of all settings, chosen on the same texts. An
objective on its baseline's front can have a share well above 100 %. The fronts do not favour either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.leaderboards.quality_diversity.curves import Axes, Model, Reached, columns_of, reached
from bench.leaderboards.quality_diversity.decoders import FAMILIES, REFERENCE
from bench.leaderboards.quality_diversity.verdicts import FrontVerdict, ShareVerdict, front_verdict, share_verdict
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.moderated import Contrast, contrast_of
from bench.leaderboards.statistics.share import share_of_effect
from bench.leaderboards.statistics.tradeoff import Curve, Tradeoff, compare, value_at

__all__ = [
    "CLAIMED",
    "COMPARED",
    "BySeed",
    "CurvePair",
    "FrontDifference",
    "Gains",
    "Share",
    "contrast",
    "front_difference",
    "gains_of",
    "pair_of",
    "share_of",
]

BySeed = Mapping[int, float]

COMPARED = (
    Axes("self-bleu-2", "sample-ppl"),
    Axes("sample-ppl", "self-bleu-2"),
    Axes("sample-ppl", "seq-rep-4"),
)
"""Where fronts are compared: quality at equal diversity, diversity and repetition at equal quality.

Each pair is one that decoders trade for each other. Repetition at equal diversity is none: freer texts have less of
both. How near texts are to human ones is none, either: it rises with diversity and falls again.
"""

CLAIMED = (Axes("sample-ppl", "self-bleu-2"), Axes("sample-ppl", "seq-rep-4"))
"""What the objectives say they cure, blandness and repetition, at equal quality."""


@dataclass(frozen=True)
class CurvePair:
    """What an objective and its baseline reach in two columns, under the settings and seeds that both have."""

    ours: Reached
    theirs: Reached


@dataclass(frozen=True)
class FrontDifference:
    """An objective's front less its baseline's at equal values of a column.

    Args:
        axes: the metrics.
        tradeoff: differences by seed, in the unit of the column.
        sign: 1 where a higher value of the column is better.
        verdict: what it says.
    """

    axes: Axes
    tradeoff: Tradeoff
    sign: int
    verdict: FrontVerdict


@dataclass(frozen=True)
class Gains:
    """What is gained on the baseline under the reference setting, by seed and positive where better.

    Args:
        objective: by the objective under the same setting.
        decoders: by the front of the baseline at the objective's value of the other column.
        at_least: whether that is a bound in some seed, since all of the front is better in the other column.
        families: by the front of each family of decoders alone; those that do not reach it are left out.
        why: what is missing, where there are no gains.
    """

    objective: BySeed = field(default_factory=dict)
    decoders: BySeed = field(default_factory=dict)
    at_least: bool = False
    families: Mapping[str, BySeed] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Share:
    """The share of an objective's gain that decoders give the baseline.

    Args:
        axes: the metrics.
        gains: that it is a ratio of.
        share: with its interval over seeds; None with fewer than 2 seeds, or without a gain.
        families: the same of each family alone.
        verdict: what it says.
    """

    axes: Axes
    gains: Gains
    share: Interval | None
    families: Mapping[str, Interval]
    verdict: ShareVerdict

    @property
    def is_bounded(self) -> bool:
        """Whether there is a share, and its interval has both ends."""
        return self.share is not None and self.share.low is not None and self.share.high is not None

    @property
    def said(self) -> str:
        """The share with its interval, such as `at least 34% (20% to 50%)`, or why there is none if that is known."""
        if self.share is None:
            return self.gains.why
        if not self.is_bounded:
            return "no interval"
        bound = "at least " if self.gains.at_least else ""
        return f"{bound}{self.share.value:.0%} ({self.share.low:.0%} to {self.share.high:.0%})"


def pair_of(ours: Model, theirs: Model, axes: Axes) -> CurvePair:
    """Return what two models reach in two metrics, cut to the settings and seeds that both have."""
    columns = columns_of(axes, [*ours.rows.values(), *theirs.rows.values()])
    first, second = reached(ours, columns), reached(theirs, columns)
    settings = set(first.points) & set(second.points)
    seeds = set(first.seeds) & set(second.seeds)
    return CurvePair(first.only(settings).at_seeds(seeds), second.only(settings).at_seeds(seeds))


def front_difference(pair: CurvePair, axes: Axes) -> FrontDifference:
    """Compare the fronts of a pair, seed by seed; a seed whose fronts do not overlap makes them not comparable."""
    tradeoff = compare(pair.ours.curves(), pair.theirs.curves())
    difference = tradeoff.difference
    if len(tradeoff.by_seed) < len(pair.ours.seeds):
        difference = None
    sign = pair.ours.y_sign
    return FrontDifference(axes, tradeoff, sign, front_verdict(difference, sign))


def gains_of(pair: CurvePair) -> Gains:
    """Return the gains under the reference setting, or why there are none."""
    if REFERENCE not in pair.ours.points or not pair.ours.seeds:
        return Gains(why=f"no seed of both has {REFERENCE}")
    goal, start, sign = pair.ours.points[REFERENCE], pair.theirs.points[REFERENCE], pair.ours.y_sign
    objective = {seed: sign * (goal[seed][1] - start[seed][1]) for seed in pair.ours.seeds}
    meets = {seed: goal[seed][0] for seed in goal}
    nearest = {seed: _nearest(line, meets[seed], pair.theirs.x_sign) for seed, line in pair.theirs.curves().items()}
    front = _values_at(pair.theirs.curves(), nearest)
    if front is None:
        return Gains(why="the front of the baseline does not reach its quality in every seed")
    families = {}
    for family in pair.theirs.families():
        alone = _values_at(pair.theirs.only(FAMILIES[family]).curves(), meets)
        if alone is not None:
            families[family] = _gain(alone, start, sign)
    return Gains(objective, _gain(front, start, sign), nearest != meets, families)


def share_of(gains: Gains, axes: Axes, column: Sequence[Contrast] = ()) -> Share:
    """Return the share of a gain that decoders have.

    Args:
        gains: of an objective.
        axes: the metrics.
        column: the gains of all objectives on the same baseline, which tell how noisy one is.
    """
    share, families = None, {}
    if len(gains.objective) > 1 and sum(gains.objective.values()) > 0:
        share = _ratio(gains.decoders, gains.objective, column)
        families = {name: _ratio(alone, gains.objective, column) for name, alone in gains.families.items()}
    return Share(axes, gains, share, families, share_verdict(list(gains.objective.values()), share, gains.at_least))


def contrast(gains: Gains) -> Contrast | None:
    """Return a gain as a contrast of its column; None with fewer than 2 seeds."""
    if len(gains.objective) < 2:
        return None
    return contrast_of(list(gains.objective.values()))


def _ratio(control: BySeed, effect: BySeed, column: Sequence[Contrast]) -> Interval:
    seeds = sorted(effect)
    return share_of_effect([control[seed] for seed in seeds], [effect[seed] for seed in seeds], column)


def _gain(values: BySeed, start: Mapping[int, tuple[float, float]], sign: int) -> dict[int, float]:
    """Return what values gain on the baseline's under the reference setting."""
    return {seed: sign * (values[seed] - start[seed][1]) for seed in values}


def _nearest(line: Curve, x: float, x_sign: int) -> float:
    """Return a place, or the worse end of a curve where all of the curve is better in x.

    Args:
        line: a front.
        x: the place.
        x_sign: 1 where a higher x is better.
    """
    if x_sign > 0:
        return max(x, line[0][0])
    return min(x, line[-1][0])


def _values_at(curves: Mapping[int, Curve], places: Mapping[int, float]) -> dict[int, float] | None:
    """Return the value of each seed's curve at its place; None where one of them does not reach it."""
    values = {}
    for seed, x in places.items():
        line = curves[seed]
        if not line[0][0] <= x <= line[-1][0]:
            return None
        values[seed] = value_at(line, x)
    return values
