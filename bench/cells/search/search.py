"""Search: every method gets the settings it does best with on the validation split, and every trial is recorded.

A comparison at one shared learning rate can be decided by that rate alone. What is tried is either as many learning
rates for every method (`trials.py`) or the same typed values for every method (`grid.py`). The rest is the same:

- The learning rate is picked by the negative log-likelihood under the method's own distribution on the validation
  split, for every method alike; never by a method's own loss, of which a ranking or penalty term may be a part.
- A method's own options (`method.*`) stay at its paper's values. Only a grid that names some tries others. Each
  combination of them then has its rate picked as above. Among these the validation column decides that the recipe of
  the task or the user states in `trainer.select`, such as `rouge-l`; the negative log-likelihood where none is stated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.cells.outcome import Outcome
from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.config.arguments import RunArguments
from bench.config.config import CellConfig, parse_sets
from bench.config.resolve import Method
from bench.tasks.core.task import Task

Execute = Callable[[Plan, RunArguments, Progress], Outcome]
"""Trains and evaluates every run of a plan, here or on several workers."""

Name = tuple[str, str]
"""Of a task, and of a method as it is trained."""


@dataclass(frozen=True)
class Stated:
    """The value of a validation column that the run states in `trainer.select`, at the step that was kept.

    Args:
        column: its name, such as `rouge-l`.
        value: mean over seeds.
        lower_is_better: whether a lower value is better.
    """

    column: str
    value: float
    lower_is_better: bool

    @property
    def cost(self) -> float:
        """The value, or its negative where higher is better."""
        return self.value if self.lower_is_better else -self.value


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method.

    Args:
        sets: the combination, as typed after --set.
        keys: of its trained runs, by seed.
        nll: nats per target token of the validation split under the method's own distribution, mean over seeds; None
            where a seed has no finite one, as after a diverged training.
        stated: the stated column, where the combination sets options of the method itself and the run states one.
    """

    sets: tuple[str, ...]
    keys: dict[int, str]
    nll: float | None
    stated: Stated | None = None

    @property
    def method_options(self) -> tuple[str, ...]:
        """The settings of the combination that are options of the method itself, as typed."""
        return method_options(self.sets)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, keys by seed in their order."""
        keys = {str(seed): key for seed, key in sorted(self.keys.items())}
        content: dict[str, Any] = {"sets": list(self.sets), "keys": keys, "nll": self.nll}
        if self.stated is not None:
            content[self.stated.column] = self.stated.value
        return content


def method_options(sets: Sequence[str]) -> tuple[str, ...]:
    """Return those of some settings that are options of the method itself.

    >>> method_options(["optim.lr=0.1", "histalign:method.alpha=1"])
    ('histalign:method.alpha=1',)
    """
    parsed = zip(sets, parse_sets(sets), strict=True)
    return tuple(text for text, item in parsed if item.section == "method")


def best(tried: Sequence[Tried]) -> Tried | None:
    """Return the combination that is picked, the first of equal ones; None where none has a likelihood.

    Of combinations with the same options of the method itself, that with the lowest negative log-likelihood wins. Of
    these winners the one with the best stated column is picked; that with the lowest negative log-likelihood where a
    column is not stated or not measured.
    """
    finite = [each for each in tried if each.nll is not None]
    winners: dict[tuple[str, ...], Tried] = {}
    for each in sorted(finite, key=lambda each: each.nll or 0.0):
        winners.setdefault(each.method_options, each)
    if not winners:
        return None
    costs = {options: winner.stated.cost for options, winner in winners.items() if winner.stated is not None}
    if len(costs) < len(winners):
        return next(iter(winners.values()))
    return winners[min(costs, key=costs.__getitem__)]


class Search(ABC):
    """What is tried for each method of a run."""

    @abstractmethod
    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none for a method that is not tuned."""

    @abstractmethod
    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return what the record says about the search itself, beside what was tried."""

    def examples(self) -> tuple[str, ...]:
        """Return settings that were typed, for a check that some method of the run takes them."""
        return ()

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return further settings of the runs that are tried, such as fewer steps."""
        return ()

    def whole(self) -> Search | None:
        """Return this search at full length, for a tie break; None where its trials are full trainings already."""
        return None

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of the runs that are tried."""
        return seeds

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose picked settings its parents have."""
        return []


@dataclass
class Tuned:
    """A method of a run that is tuned on one task.

    Args:
        task: its class.
        method: as it is trained.
        sets: the picked settings of the methods it starts from.
        tried: every combination.
        tie_break: those that tied, trained at full length; none where one was clearly the best.
        picked: the best of the tie break, or of what was tried.
    """

    task: type[Task]
    method: Method
    sets: tuple[str, ...] = ()
    tried: list[Tried] = field(default_factory=list)
    tie_break: list[Tried] = field(default_factory=list)
    picked: Tried | None = None
