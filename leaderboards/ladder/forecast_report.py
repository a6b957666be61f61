"""Forecast report: what was forecast of each rung, and how good it was, as lines of Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from bench.errors import UsageError
from bench.leaderboards.ladder.cells import NONE, interval_cell, number, share, signed
from bench.leaderboards.ladder.forecast import Forecast
from bench.leaderboards.ladder.forecast_scores import (
    CAUTIOUS,
    ForecastScore,
    Outcome,
    outcomes_of,
    scores_of,
    without_one,
)
from bench.leaderboards.ladder.prediction import Prediction
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.statistics.intervals import Interval

__all__ = ["forecast_lines"]

SAID = (
    "A forecast is written before its rung is run, and named by the SHA-256 of what it says. Of each pair of methods "
    "it gives the probability that the first is better, and an interval that is to hold the difference in 80 %. The "
    "naive forecast is certain that the order of the rung below stays; the cautious one gives every such order "
    f"{share(CAUTIOUS)}. Gain is how far the Brier score is below the naive one. Width is the mean length of the "
    "intervals: they know no bounds, so one of a metric from 0 to 100 can be wider than that, and says nothing then. "
    "Pairs share methods and seeds, so they are fewer independent ones than their number; what rests on one method is "
    "below."
)


GAIN, COVERED = 0.2, (0.75, 0.85)
"""What the suite hopes for: how far below the naive Brier score, and the share within 80 %."""


def forecast_lines(ladder: Ladder, forecasts: Sequence[Forecast]) -> Iterator[str]:
    """Yield the section on forecasts; nothing without any. One that cannot be scored has the reason in its place."""
    if not forecasts:
        return
    yield from ["## Forecasts", "", SAID, ""]
    for forecast in forecasts:
        yield from _one(ladder, forecast)


def _one(ladder: Ladder, forecast: Forecast) -> Iterator[str]:
    below = ", ".join(map(escaped, forecast.below))
    yield from [f"### {escaped(forecast.rung)} from {below}", ""]
    yield f"SHA-256 `{forecast.sha256}`. Whoever picks methods by one metric is to take {escaped(forecast.metric)}."
    yield ""
    has_run = forecast.rung in [rung.name for rung in ladder.rungs]
    outcomes: dict[Prediction, Outcome | None] = {}
    if has_run:
        try:
            outcomes = outcomes_of(forecast, ladder)
            scores = scores_of(forecast, ladder)
            yield from _scores(scores, widths(forecast))
            yield from _goals(scores[-1])
            yield from _without_one(forecast, ladder)
        except UsageError as error:
            yield from [f"Not scored: {escaped(str(error))}.", ""]
    else:
        rows = [[escaped(metric), number(width)] for metric, width in widths(forecast).items()]
        table = markdown_table(["", "width of 80 %"], rows, texts=1)
        yield from ["The rung has not been run.", "", *table, ""]
    claims = [prediction for prediction in forecast.predictions if prediction.claim]
    if claims:
        rows = [_claim_row(prediction, outcomes.get(prediction)) for prediction in claims]
        heading = ["claim", "probability", "expected, 80 %", "came out"]
        yield from [*markdown_table(heading, rows, texts=1), ""]


def _goals(score: ForecastScore) -> Iterator[str]:
    """Yield whether the suite's goals are reached over all pairs."""
    parts = []
    if score.gain is not None:
        parts.append(f"a gain of {share(GAIN)}, {_reached(score.gain >= GAIN)} with {share(score.gain)}")
    if score.coverage is not None:
        low, high = COVERED
        known = _reached(low <= score.coverage <= high)
        parts.append(f"{share(low)} to {share(high)} within the intervals, {known} with {share(score.coverage)}")
    if parts:
        yield from [f"Goals of this suite over {escaped(score.of)}: {'; '.join(parts)}.", ""]


def _reached(reached: bool) -> str:
    if reached:
        return "reached"
    return "missed"


def widths(forecast: Forecast) -> dict[str, float]:
    """Return the mean length of the intervals of each metric's pairs."""
    found: dict[str, list[float]] = {}
    for prediction in forecast.predictions:
        if not prediction.claim:
            found.setdefault(prediction.metric, []).append(prediction.high - prediction.low)
    return {metric: statistics.fmean(found[metric]) for metric in sorted(found)}


def _without_one(forecast: Forecast, ladder: Ladder) -> Iterator[str]:
    """Yield how far gain and coverage of all pairs rest on one method."""
    scores = without_one(forecast, ladder)
    gains = {method: score.gain for method, score in scores.items() if score.gain is not None}
    within = {method: score.coverage for method, score in scores.items() if score.coverage is not None}
    parts = []
    for name, values in (("gain", gains), ("within 80 %", within)):
        if values:
            low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
            ends = [f"{share(values[method])} (without {escaped(method)})" for method in (low, high)]
            parts.append(f"{name} from {' to '.join(ends)}")
    if parts:
        yield from [f"All pairs, leaving out one method at a time: {'; '.join(parts)}.", ""]


def _scores(scores: Sequence[ForecastScore], width: Mapping[str, float]) -> list[str]:
    rows = []
    for score in scores:
        name = escaped(score.of)
        if score.chosen:
            name = f"**{name}**"
        count = str(score.predictions)
        if score.missing:
            count += f" of {score.predictions + score.missing}"
        brier = [number(score.brier), number(score.naive), number(score.cautious), share(score.gain)]
        rows.append([name, count, *brier, share(score.coverage), number(width.get(score.of))])
    heading = ["", "predictions", "Brier", "naive", "cautious", "gain", "within 80 %", "width"]
    return [*markdown_table(heading, rows, texts=1), ""]


def _claim_row(prediction: Prediction, outcome: Outcome | None) -> list[str]:
    expected = interval_cell(Interval(prediction.difference, prediction.low, prediction.high))
    seen = NONE
    if outcome is not None:
        seen = signed(outcome.difference)
    named = f"{prediction.claim}, {prediction.metric}"
    return [escaped(named), share(prediction.probability), expected, seen]
