"""Forecast scores: what became of a forecast, in Brier scores and in the coverage of its intervals.

The Brier score is the mean of (probability - outcome)^2 (Brier 1950); the outcome is 1 where the first method of a
pair came out better, 0 where the second did, 1/2 where they are equal. The naive forecast is certain that the order of
the rung below stays; its Brier score is the share of pairs that changed places. The cautious forecast says `CAUTIOUS`
for every such order: what a forecast gains on the naive one, it may gain by not being certain alone. Pairs share
methods and seeds, so they are fewer independent ones than their number; `without_one` says what rests on one method.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.errors import UsageError
from bench.leaderboards.ladder.forecast import Forecast, evidence_of
from bench.leaderboards.ladder.pairs import differences
from bench.leaderboards.ladder.prediction import Prediction
from bench.leaderboards.ladder.scores import Ladder

__all__ = ["CAUTIOUS", "ForecastScore", "Outcome", "outcomes_of", "scores_of", "without_one"]

CAUTIOUS = 0.8
"""Probability of every order of the rung below: about the share of decisions on data that hold from small models to
large ones (Magnusson et al. 2025)."""


@dataclass(frozen=True)
class Outcome:
    """What became of one prediction.

    Args:
        prediction: as forecast.
        below: the difference on the rung below, positive where the first method is better.
        difference: the one at the upper rung.
    """

    prediction: Prediction
    below: float
    difference: float

    @property
    def brier(self) -> float:
        """Squared error of the probability."""
        return (self.prediction.probability - _outcome(self.difference)) ** 2

    @property
    def naive(self) -> float:
        """Squared error of the forecast that nothing changes."""
        return (_outcome(self.below) - _outcome(self.difference)) ** 2

    @property
    def cautious(self) -> float:
        """Squared error of the forecast that is as certain of every order of the rung below."""
        probability = (1 - CAUTIOUS) + (2 * CAUTIOUS - 1) * _outcome(self.below)
        return (probability - _outcome(self.difference)) ** 2

    @property
    def covered(self) -> bool:
        """Whether the difference is within the interval."""
        return self.prediction.low <= self.difference <= self.prediction.high


@dataclass(frozen=True)
class ForecastScore:
    """How good the predictions of one kind were.

    Args:
        of: the metric, `claims`, or `all pairs`.
        chosen: whether it is the metric that the method was chosen by.
        predictions: that have an outcome.
        missing: that have none, because the ladder lacks one of the methods.
        brier: mean Brier score; None without predictions.
        naive: that of the naive forecast.
        cautious: that of the cautious forecast.
        coverage: share of the differences within their 80 % intervals.
    """

    of: str
    chosen: bool
    predictions: int
    missing: int
    brier: float | None
    naive: float | None
    cautious: float | None
    coverage: float | None

    @property
    def gain(self) -> float | None:
        """How far the Brier score is below the naive one, as a share of it; None where the naive one is 0."""
        if self.brier is None or not self.naive:
            return None
        return 1 - self.brier / self.naive


def scores_of(forecast: Forecast, ladder: Ladder) -> list[ForecastScore]:
    """Return the scores of a forecast: of each metric, of the claims where there are any, and of all pairs.

    Raises:
        UsageError: the ladder is of another task, lacks the rung, or its lower rungs are not what was forecast from.
    """
    outcomes = outcomes_of(forecast, ladder)
    pairs = {place: found for place, found in outcomes.items() if not place.claim}
    claims = {place: found for place, found in outcomes.items() if place.claim}
    scores = []
    for metric in sorted({prediction.metric for prediction in pairs}):
        of_metric = {place: found for place, found in pairs.items() if place.metric == metric}
        scores.append(_score(metric, metric == forecast.metric, of_metric))
    if claims:
        scores.append(_score("claims", False, claims))
    return [*scores, _score("all pairs", False, pairs)]


def without_one(forecast: Forecast, ladder: Ladder) -> dict[str, ForecastScore]:
    """Return the score of all pairs that are left without a method, by method.

    Raises:
        UsageError: as for `scores_of`.
    """
    pairs = {place: found for place, found in outcomes_of(forecast, ladder).items() if not place.claim}
    methods = sorted({method for place in pairs for method in (place.better, place.than)})
    scores = {}
    for method in methods:
        left = {place: found for place, found in pairs.items() if method not in (place.better, place.than)}
        scores[method] = _score(f"without {method}", False, left)
    return scores


def outcomes_of(forecast: Forecast, ladder: Ladder) -> dict[Prediction, Outcome | None]:
    """Return what became of each prediction; None where the ladder has no difference.

    Raises:
        UsageError: as for `scores_of`.
    """
    _check(forecast, ladder)
    upper, last = ladder.rung(forecast.rung), ladder.rung(forecast.below[-1])
    outcomes: dict[Prediction, Outcome | None] = {}
    for prediction in forecast.predictions:
        outcomes[prediction] = None
        if prediction.metric not in ladder.higher_is_better:
            continue
        pair, sign = (prediction.better, prediction.than), ladder.sign(prediction.metric)
        after = list(differences(upper, prediction.metric, sign, pair).values())
        before = list(differences(last, prediction.metric, sign, pair).values())
        if before and after:
            outcomes[prediction] = Outcome(prediction, statistics.fmean(before), statistics.fmean(after))
    return outcomes


def _check(forecast: Forecast, ladder: Ladder) -> None:
    names = [rung.name for rung in ladder.rungs]
    if forecast.task != ladder.task:
        raise UsageError(f"expected a ladder of task '{forecast.task}', got '{ladder.task}'")
    if forecast.rung not in names or not set(forecast.below) <= set(names):
        raise UsageError(
            f"expected a ladder with rungs {', '.join([*forecast.below, forecast.rung])}, got {', '.join(names)}; "
            "score a forecast when its rung has been run"
        )
    below = [ladder.rung(name) for name in forecast.below]
    there = evidence_of(below, forecast.predictions)
    changed = [method for method, digest in there.items() if digest != forecast.evidence.get(method)]
    if changed:
        raise UsageError(
            f"expected the values below rung '{forecast.rung}' that the forecast was made from, got others of "
            f"{', '.join(changed)}; score it with the results of that time"
        )


def _score(of: str, chosen: bool, outcomes: Mapping[Prediction, Outcome | None]) -> ForecastScore:
    known = [outcome for outcome in outcomes.values() if outcome is not None]
    missing = len(outcomes) - len(known)
    if not known:
        return ForecastScore(of, chosen, 0, missing, None, None, None, None)
    return ForecastScore(
        of=of,
        chosen=chosen,
        predictions=len(known),
        missing=missing,
        brier=statistics.fmean(outcome.brier for outcome in known),
        naive=statistics.fmean(outcome.naive for outcome in known),
        cautious=statistics.fmean(outcome.cautious for outcome in known),
        coverage=_share(known),
    )


def _share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of outcomes that are covered."""
    return statistics.fmean(outcome.covered for outcome in outcomes)


def _outcome(difference: float) -> float:
    """Return 1 above 0, 0 below, 1/2 at 0."""
    if difference == 0:
        return 0.5
    return float(difference > 0)
