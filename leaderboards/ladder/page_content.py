"""A ladder as texts for the page: what becomes of every difference as models grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from bench.errors import UsageError
from bench.leaderboards.ladder.cells import NONE, effect_cell, interval_cell, share
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast import Forecast
from bench.leaderboards.ladder.forecast_scores import scores_of
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import TransferCard
from bench.leaderboards.table import columns_of, metric_name

__all__ = ["claim_words", "page_content"]


def page_content(findings: Findings, forecasts: Sequence[Forecast] = ()) -> dict[str, Any]:
    """Return what the page shows of a ladder: JSON types only.

    Args:
        findings: of a ladder with a rung or more, and of claims of papers.
        forecasts: of its rungs.

    Returns:
        Its task and rungs, how well lower rungs decide and forecast, and a card for each method and metric, then for
        each claim. An effect in bold has stars around it, as in Markdown.
    """
    ladder = findings.ladder
    return {
        "task": ladder.task,
        "baseline": ladder.baseline,
        "primary": _primary(ladder),
        "rungs": [{"name": rung.name, "parameters": rung.parameters} for rung in ladder.rungs],
        "said": [*_decided(findings), *_forecast(ladder, forecasts)],
        "cards": [_card(card, ladder) for card in findings.cards],
    }


def _decided(findings: Findings) -> Iterator[str]:
    """Yield how well each rung decides as the next one does, over all metrics."""
    for lower, upper in pairwise(rung.name for rung in findings.ladder.rungs):
        shares = [found.share for found in findings.decisions if (found.lower, found.upper) == (lower, upper)]
        known = [found for found in shares if found is not None]
        if known:
            ends = f"{share(min(known))} to {share(max(known))}"
            yield f"{lower} orders methods as {upper} in {ends} of what a second draw of seeds would, by metric"


def _forecast(ladder: Ladder, forecasts: Sequence[Forecast]) -> Iterator[str]:
    """Yield how good each forecast was over all pairs; one that cannot be scored is left out."""
    for forecast in forecasts:
        try:
            score = scores_of(forecast, ladder)[-1]
        except UsageError:
            continue
        yield (
            f"forecast of {forecast.rung}, written before it was run: Brier score {share(score.gain)} below the naive "
            f"one's, {share(score.coverage)} of differences within its 80 % intervals"
        )


def claim_words(findings: Findings) -> dict[str, str]:
    """Return what a ladder says of each claim as models grow, by the name of the claim."""
    return {card.question.claim: card.said for card in findings.claim_cards}


def _card(card: TransferCard, ladder: Ladder) -> dict[str, Any]:
    tenfold = NONE
    if card.trend is not None:
        tenfold = interval_cell(card.trend.slope.interval())
    return {
        "metric": card.question.metric,
        "higher_is_better": ladder.higher_is_better[card.question.metric],
        "method": card.question.better,
        "than": card.question.than,
        "claim": card.question.claim,
        "says": card.question.says,
        "where": card.question.where,
        "rungs": [effect_cell(found) for found in card.rungs.values()],
        "tenfold": tenfold,
        "word": card.said,
        "known": card.word != "not within these sizes",
    }


def _primary(ladder: Ladder) -> str:
    """Return the metric that the task's leaderboard ranks by, where the ladder has it, else the ladder's first."""
    _, primary = columns_of(ladder.task, {})
    for metric in ladder.metrics:
        if metric_name(metric) == primary:
            return metric
    return next(iter(ladder.metrics), "")
