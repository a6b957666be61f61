"""Forecasts: the predictions of an upper rung, made before it is run; `prediction` says how."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.base.keys import canonical, sha256
from bench.errors import UsageError
from bench.leaderboards.ladder.decisions import accuracy_between, signal_to_noise
from bench.leaderboards.ladder.prediction import ColumnPredictions, Prediction
from bench.leaderboards.ladder.scores import Ladder, Rung
from bench.leaderboards.ladder.transfer import Question

__all__ = ["Forecast", "evidence_of", "forecast"]


@dataclass(frozen=True)
class Forecast:
    """What is expected of a rung that has not been run.

    Args:
        task: of the ladder.
        rung: name of the upper rung.
        parameters: of its model, without embeddings.
        seeds: planned for each method.
        below: names of the rungs it is made from, smallest first.
        metric: that the method for the upper rung is chosen by.
        predictions: of every pair in every metric, and of the claims.
        evidence: by method, SHA-256 of the values that it is made from (`evidence_of`).
    """

    task: str
    rung: str
    parameters: int
    seeds: int
    below: tuple[str, ...]
    metric: str
    predictions: tuple[Prediction, ...]
    evidence: Mapping[str, str]

    @property
    def content(self) -> dict[str, Any]:
        """The forecast for JSON."""
        return asdict(self)

    @property
    def sha256(self) -> str:
        """SHA-256 of its canonical JSON: who knows it beforehand can tell that nothing was changed."""
        return sha256(canonical(self.content))


def forecast(
    ladder: Ladder,
    rung: tuple[str, int],
    seeds: int,
    *,
    methods: Sequence[str] = (),
    claims: Sequence[Question] = (),
    metric: str = "",
) -> Forecast:
    """Return the forecast of the next rung of a ladder.

    Args:
        ladder: with the rungs below, and not the one that is forecast.
        rung: name and parameters of the upper rung.
        seeds: planned for each method there.
        methods: that will be run there; all of the highest rung below when empty.
        claims: that a probability is wanted of; those of other metrics or methods are left out.
        metric: that the method is chosen by; when empty the one with the highest decision accuracy between the two
            highest rungs below; of equal ones, or with one rung below, the one with the most signal for its noise. One
            whose seeds show no noise counts as without signal.

    Raises:
        UsageError: the rung is run already, nothing is below it, no seeds are planned, no two methods have 2 seeds in
            common, or an unknown metric.
    """
    name, parameters = rung
    _check(ladder, name, parameters, seeds, metric)
    last = ladder.rungs[-1]
    predictions = []
    for each in ladder.metrics:
        column = ColumnPredictions(ladder, each, math.log10(parameters / last.parameters), seeds)
        for pair in column.effects:
            if not methods or set(pair) <= set(methods):
                predictions.append(column.of(pair))
        for claim in claims:
            wanted = not methods or {claim.better, claim.than} <= set(methods)
            if claim.metric == each and wanted and column.has((claim.better, claim.than)):
                predictions.append(column.of((claim.better, claim.than), claim.claim))
    if not predictions:
        raise UsageError(f"expected two methods with 2 seeds in common on rung '{last.name}', got none; run more seeds")
    return Forecast(
        task=ladder.task,
        rung=name,
        parameters=parameters,
        seeds=seeds,
        below=tuple(each.name for each in ladder.rungs),
        metric=metric or _chosen_metric(ladder),
        predictions=tuple(predictions),
        evidence=evidence_of(ladder.rungs, predictions),
    )


def _check(ladder: Ladder, name: str, parameters: int, seeds: int, metric: str) -> None:
    if not ladder.rungs:
        raise UsageError(f"expected a rung below '{name}' to forecast it from, got none; run the smallest rung first")
    last = ladder.rungs[-1]
    if parameters <= last.parameters:
        raise UsageError(
            f"expected more parameters for rung '{name}' than the {last.parameters} of rung '{last.name}', which has "
            f"been run, got {parameters}; a forecast is made before its rung"
        )
    if seeds < 1:
        raise UsageError(f"expected 1 seed or more for rung '{name}', got {seeds}")
    if metric and metric not in ladder.metrics:
        raise UsageError(f"expected a metric of the ladder, got '{metric}'; there are {', '.join(ladder.metrics)}")


def evidence_of(rungs: Sequence[Rung], predictions: Sequence[Prediction]) -> dict[str, str]:
    """Return, by method that is predicted and has values, the SHA-256 of them on the rungs below.

    Only the metrics that are predicted count: others may come later and change nothing.
    """
    metrics = sorted({prediction.metric for prediction in predictions})
    methods = {method for prediction in predictions for method in (prediction.better, prediction.than)}
    found = {}
    for method in sorted(methods):
        content = {rung.name: _values_of(rung, metrics, method) for rung in rungs}
        if any(content.values()):
            found[method] = sha256(canonical(content))
    return found


def _values_of(rung: Rung, metrics: Sequence[str], method: str) -> dict[str, dict[str, float]]:
    """Return a method's values by metric and seed, of the metrics it has."""
    values = {}
    for metric in metrics:
        by_seed = rung.of(metric).get(method, {})
        if by_seed:
            values[metric] = {str(seed): float(value) for seed, value in by_seed.items()}
    return values


def _chosen_metric(ladder: Ladder) -> str:
    """Return the metric that decided best on the two highest rungs; of equal ones, the one with the most signal."""
    ranks = {}
    for metric in ladder.metrics:
        accuracy = 0.0
        if len(ladder.rungs) > 1:
            accuracy = accuracy_between(ladder, (ladder.rungs[-2], ladder.rungs[-1]), metric, metric) or 0.0
        signal = signal_to_noise(ladder.rungs[-1], metric)
        if signal is None or math.isinf(signal):  # seeds that show no noise say nothing of the signal
            signal = 0.0
        ranks[metric] = accuracy, signal
    return max(ranks, key=ranks.__getitem__)
