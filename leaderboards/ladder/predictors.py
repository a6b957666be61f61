"""Predictors: which metric on a small rung says most of a metric on a larger one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.leaderboards.ladder.decisions import accuracy_between, rung_pairs
from bench.leaderboards.ladder.scores import Ladder

__all__ = ["Predictors", "predictors_of"]


@dataclass(frozen=True)
class Predictors:
    """Every metric of a lower rung against one metric of an upper rung.

    Args:
        target: the metric at the upper rung.
        lower, upper: names of the rungs.
        accuracy: decision accuracy by metric of the lower rung, best first. The best of several is above what it would
            be on another ladder: it was picked for being high here.
    """

    target: str
    lower: str
    upper: str
    accuracy: Mapping[str, float]

    @property
    def best(self) -> str:
        """The metric with the highest decision accuracy: the target itself where it is among the highest."""
        return next(iter(self.accuracy))

    @property
    def own(self) -> float | None:
        """Decision accuracy of the target's own order on the lower rung."""
        return self.accuracy.get(self.target)


def predictors_of(ladder: Ladder) -> list[Predictors]:
    """Return, between all pairs of rungs, the predictors of each metric that has any."""
    found = []
    for rungs in rung_pairs(ladder):
        for target in ladder.metrics:
            accuracy = {}
            for metric in ladder.metrics:
                found_right = accuracy_between(ladder, rungs, metric, target)
                if found_right is not None:
                    accuracy[metric] = found_right
            if accuracy:
                found.append(Predictors(target, rungs[0].name, rungs[1].name, _best_first(accuracy, target)))
    return found


def _best_first(accuracy: Mapping[str, float], target: str) -> dict[str, float]:
    """Return metrics by falling accuracy; of equal ones the target, then by name."""
    return dict(sorted(accuracy.items(), key=lambda item: (-item[1], item[0] != target, item[0])))
