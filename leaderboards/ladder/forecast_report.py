"""Forecast report: what was forecast of each rung, and how good it was, as lines of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.errors import UsageError
from bench.leaderboards.ladder.cells import NONE, interval_cell, number, share, signed
from bench.leaderboards.ladder.forecast import Forecast
from bench.leaderboards.ladder.forecast_scores import ForecastScore, Outcome, outcomes_of, scores_of
from bench.leaderboards.ladder.prediction import Prediction
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.statistics.intervals import Interval

__all__ = ["forecast_lines"]

SAID = (
    "A forecast is written before its rung is run, and named by the SHA-256 of what it says. Of each pair of methods "
    "it gives the probability that the first is better, and an interval that is to hold the difference in 80 %. The "
    "naive forecast is certain that the order of the rung below stays. Gain is how far the Brier score is below the "
    "naive one. Pairs share methods and seeds, so they are fewer independent ones than their number."
)


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
    yield f"SHA-256 `{forecast.sha256}`. Methods are chosen by {escaped(forecast.metric)}."
    yield ""
    has_run = forecast.rung in [rung.name for rung in ladder.rungs]
    outcomes: dict[Prediction, Outcome | None] = {}
    if has_run:
        try:
            outcomes = outcomes_of(forecast, ladder)
            yield from _scores(scores_of(forecast, ladder))
        except UsageError as error:
            yield from [f"Not scored: {escaped(str(error))}.", ""]
    else:
        yield from ["The rung has not been run.", ""]
    claims = [prediction for prediction in forecast.predictions if prediction.claim]
    if claims:
        rows = [_claim_row(prediction, outcomes.get(prediction)) for prediction in claims]
        heading = ["claim", "probability", "expected, 80 %", "came out"]
        yield from [*markdown_table(heading, rows, texts=1), ""]


def _scores(scores: Sequence[ForecastScore]) -> list[str]:
    rows = []
    for score in scores:
        name = escaped(score.of)
        if score.chosen:
            name = f"**{name}**"
        count = str(score.predictions)
        if score.missing:
            count += f" of {score.predictions + score.missing}"
        rows.append([name, count, number(score.brier), number(score.naive), share(score.gain), share(score.coverage)])
    return [*markdown_table(["", "predictions", "Brier", "naive", "gain", "within 80 %"], rows, texts=1), ""]


def _claim_row(prediction: Prediction, outcome: Outcome | None) -> list[str]:
    expected = interval_cell(Interval(prediction.difference, prediction.low, prediction.high))
    seen = NONE
    if outcome is not None:
        seen = signed(outcome.difference)
    named = f"{prediction.claim}, {prediction.metric}"
    return [escaped(named), share(prediction.probability), expected, seen]
