"""Transfer cards: what becomes of a difference between two methods as models grow.

The trend is a straight line of the difference over the logarithm of the parameters, fitted to each seed by least
squares. So a slope and a value at the middle of the sizes (halfway between the logarithms of smallest and largest) are
two numbers of each seed, and get the house's moderated t like any other difference. A seed counts that both methods
have on every rung.

The words, for a difference m at the middle and a slope s, both positive where the first method is better:

- crossing: the order of the two methods is established on two rungs, and is not the same;
- growing: s and m are both established, with one sign. On a straight line that is exactly where the difference is
  larger, on whichever side of 0, at the largest size than at the smallest;
- shrinking: both are established, with unlike signs;
- not within these sizes: none of this. It is no proof that nothing changes.

Their error: a word takes two statements, and is wrong only if one of them is. The p of a trend is the larger of those
of s and m, after Holm (1979) over all cards of a ladder, and may be at most ALPHA / 2; orders have the other half
(`pairs`). So the chance that any word of a ladder is wrong is at most ALPHA. With three rungs or more the line is an
approximation; a difference that grows and then shrinks is judged by its line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from bench.leaderboards.controls import controls_of, trained_as_long
from bench.leaderboards.ladder.pairs import Pair, PairEffect, PairEffects, differences, reversed_effect
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.moderated import Effect, contrast_of, moderate
from bench.leaderboards.statistics.significance import holm
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["TRENDS", "Question", "TransferCard", "Trend", "method_questions", "transfer_cards", "without_control"]

TRENDS = ALPHA / 2
"""Chance that any trend of a ladder is said to be known and is the other way round, or is none."""
Word = Literal["growing", "shrinking", "crossing", "not within these sizes"]


@dataclass(frozen=True)
class Question:
    """Two methods in one metric, or what a paper says of them.

    Args:
        metric: of the ladder.
        better: the method that is said to be better, or that is compared.
        than: the other one.
        claim: name of the claim; empty for a plain comparison.
        says: what is claimed, in our words.
        where: place in the paper.
        quote: the paper's sentence, word for word; empty where its cells alone say it.
    """

    metric: str
    better: str
    than: str
    claim: str = ""
    says: str = ""
    where: str = ""
    quote: str = ""


@dataclass(frozen=True)
class Trend:
    """The straight line of a difference over the logarithm of the parameters.

    Args:
        slope: change of the difference where the parameters are ten times as many.
        middle: the difference halfway between the logarithms of the smallest and the largest size.
    """

    slope: Effect
    middle: Effect

    @property
    def p(self) -> float:
        """Two-sided p against no slope or no difference at the middle: the larger of the two."""
        return max(self.slope.p, self.middle.p)


@dataclass(frozen=True)
class TransferCard:
    """What becomes of one difference as models grow.

    Args:
        question: whose difference, positive where the first method is better.
        rungs: by name, its effect and whether the order is established; None where the seeds give none.
        trend: None with fewer than 2 rungs, or fewer than 2 seeds that both methods have on every rung.
        p: of the trend, after Holm over all cards; 1 without a trend.
    """

    question: Question
    rungs: Mapping[str, PairEffect | None]
    trend: Trend | None
    p: float

    @property
    def crossing(self) -> tuple[str, str] | None:
        """The two nearest rungs with unlike established orders, the smaller first; None where there are none."""
        known = []
        for name, found in self.rungs.items():
            if found is not None and found.direction:
                known.append((name, found.direction))
        for (before, one), (after, other) in zip(known, known[1:], strict=False):
            if one != other:
                return before, after
        return None

    @property
    def word(self) -> Word:
        """What the rungs say of the difference; the rules are those of the module."""
        if self.crossing is not None:
            return "crossing"
        if self.trend is None or self.p > TRENDS:
            return "not within these sizes"
        if self.trend.slope.mean * self.trend.middle.mean > 0:
            return "growing"
        return "shrinking"

    @property
    def said(self) -> str:
        """The word and, of a crossing, between which rungs it is."""
        if self.crossing is not None:
            return f"crossing, {self.crossing[0]} to {self.crossing[1]}"
        return self.word


def method_questions(ladder: Ladder) -> list[Question]:
    """Return each method against the maximum-likelihood model to compare it with, then its own controls, by metric."""
    questions = []
    for metric in ladder.metrics:
        for method in ladder.methods:
            if method != ladder.baseline:
                others = [compared_with(ladder, method), *own_controls(ladder, method)]
                questions += [Question(metric, method, other) for other in others]
    return questions


def own_controls(ladder: Ladder, method: str) -> list[str]:
    """Return what would explain a method's gain away, as far as a ladder has it, beside maximum likelihood itself."""
    usual = (ladder.baseline, compared_with(ladder, method))
    return [name for name in controls_of(method) if name in ladder.methods and name not in usual]


def compared_with(ladder: Ladder, method: str) -> str:
    """Return the method that was trained for as many steps, where a ladder has it; else the baseline."""
    control = trained_as_long(method)
    if control in ladder.methods:
        return control
    return ladder.baseline


def without_control(ladder: Ladder) -> list[str]:
    """Return the methods that are trained longer than the baseline, where a ladder has nothing trained as long."""
    found = []
    for method in ladder.methods:
        control = trained_as_long(method)
        if control != BASELINE and control not in ladder.methods:
            found.append(method)
    return found


def transfer_cards(ladder: Ladder, effects: PairEffects, questions: Sequence[Question]) -> list[TransferCard]:
    """Return the card of each question.

    Args:
        ladder: the scores.
        effects: `pairs.pair_effects` of it.
        questions: all that are asked of this ladder; Holm is over them, so leaving one out makes the others too easy.
    """
    lines: dict[str, Mapping[Pair, Trend]] = {}
    for metric in {question.metric for question in questions}:
        lines[metric] = column_trends(ladder, metric)
    trends = [_trend_of(lines[question.metric], question) for question in questions]
    asked = [trend.p for trend in trends if trend is not None]
    adjusted = iter(holm(asked))
    cards = []
    for question, trend in zip(questions, trends, strict=True):
        rungs = {}
        for rung in ladder.rungs:
            rungs[rung.name] = effects.get(question.metric, rung.name, question.better, question.than)
        p = 1.0
        if trend is not None:
            p = next(adjusted)
        cards.append(TransferCard(question, rungs, trend, p))
    return cards


def column_trends(ladder: Ladder, metric: str) -> dict[Pair, Trend]:
    """Return the trend of every pair of methods that has one in a metric, by pair in the order of names.

    All pairs inform the variances, whichever are asked about.
    """
    if len(ladder.rungs) < 2:
        return {}
    to_slope, to_middle = weights([rung.parameters for rung in ladder.rungs])
    pairs, slopes, middles = [], [], []
    for pair in combinations(sorted(ladder.methods), 2):
        by_seed = _by_seed(ladder, metric, pair)
        if len(by_seed) > 1:
            pairs.append(pair)
            slopes.append(contrast_of([_dot(to_slope, values) for values in by_seed]))
            middles.append(contrast_of([_dot(to_middle, values) for values in by_seed]))
    trends = map(Trend, moderate(slopes), moderate(middles))
    return dict(zip(pairs, trends, strict=True))


def weights(sizes: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return what differences are weighted with for their least-squares slope and their value at the middle.

    Args:
        sizes: parameters of the rungs, growing, 2 or more.

    >>> slope, middle = weights([100_000, 1_000_000, 10_000_000])
    >>> [round(weight, 3) for weight in slope], [round(weight, 3) for weight in middle]
    ([-0.5, 0.0, 0.5], [0.333, 0.333, 0.333])
    """
    x = [math.log10(size) for size in sizes]
    mean = math.fsum(x) / len(x)
    squares = math.fsum((value - mean) ** 2 for value in x)
    to_slope = [(value - mean) / squares for value in x]
    shift = (x[0] + x[-1]) / 2 - mean
    to_middle = [1 / len(x) + shift * weight for weight in to_slope]
    return to_slope, to_middle


def _by_seed(ladder: Ladder, metric: str, pair: Pair) -> list[list[float]]:
    """Return the differences `[seeds][rungs]` of the seeds that both methods have on every rung."""
    found = [differences(rung, metric, ladder.sign(metric), pair) for rung in ladder.rungs]
    common = set(found[0]).intersection(*found[1:])
    return [[of_rung[seed] for of_rung in found] for seed in sorted(common)]


def _trend_of(trends: Mapping[Pair, Trend], question: Question) -> Trend | None:
    """Return the trend of a question, positive where its first method is better."""
    if (question.better, question.than) in trends:
        return trends[question.better, question.than]
    found = trends.get((question.than, question.better))
    if found is None:
        return None
    return Trend(reversed_effect(found.slope), reversed_effect(found.middle))


def _dot(weights_of_rungs: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights_of_rungs, values, strict=True))
