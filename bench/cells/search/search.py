"""Search: every method gets the settings it does best with on the validation split, and all that was tried is recorded.

The papers tune so: HistAlign chose learning rates and weights on validation data (A.1), AdaDec stopped by it (A.1). A
comparison at one shared learning rate can be decided by that rate alone. What is tried is either the same grid for
every method (`grid.py`) or as many trials of each method's own space (`trials.py`); the rest is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.cells.plan import Plan
from bench.cells.progress import Progress
from bench.cells.run import Outcome
from bench.config.arguments import RunArguments
from bench.config.config import CellConfig
from bench.config.resolve import Method
from bench.tasks.core.task import Task

Execute = Callable[[Plan, RunArguments, Progress], Outcome]
"""Runs every cell of a plan, here or on several workers."""

Name = tuple[str, str]
"""Of a task, and of a method as it is trained."""


@dataclass(frozen=True)
class Tried:
    """One combination of settings for one task and method: its cells over seeds and their mean validation loss.

    Args:
        sets: the combination, as typed after --set.
        keys: trained keys, by seed.
        nll: nats per target token of the validation split, mean over seeds; None when a seed has none.
    """

    sets: tuple[str, ...]
    keys: dict[int, str]
    nll: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, keys by seed in their order."""
        keys = {str(seed): key for seed, key in sorted(self.keys.items())}
        return {"sets": list(self.sets), "keys": keys, "nll": self.nll}


class Search(ABC):
    """What is tried for each method of a run."""

    @abstractmethod
    def combinations(self, method: Method, config: CellConfig) -> list[tuple[str, ...]]:
        """Return the combinations to try, as typed after --set; none for a method that is not tuned.

        Args:
            method: that is tuned.
            config: of its cell without a search.
        """

    @abstractmethod
    def content(self, method: Method, config: CellConfig) -> dict[str, Any]:
        """Return what the record says of the search, beside what was tried."""

    def examples(self) -> tuple[str, ...]:
        """Return settings that are typed, for a check that some method of the run takes them."""
        return ()

    def only_while_tried(self, method: Method, config: CellConfig) -> tuple[str, ...]:
        """Return further settings of the cells that are tried, such as fewer steps."""
        return ()

    def whole(self) -> Search | None:
        """Return this search with whole trainings, for a play-off; None where its trials are whole already."""
        return None

    def seeds(self, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds of the cells that are tried."""
        return seeds

    def starts_from(self, method: Method) -> list[str]:
        """Return the methods whose chosen settings its parents have."""
        return []


@dataclass
class Tuned:
    """A method of a run that is tuned on one task.

    Args:
        task: its class.
        method: as it is trained.
        sets: the chosen settings of the methods it starts from.
        tried: every combination.
        play_off: those that tied, trained whole; none where one was clearly the best.
        picked: the best of the play-off, or of what was tried.
    """

    task: type[Task]
    method: Method
    sets: tuple[str, ...] = ()
    tried: list[Tried] = field(default_factory=list)
    play_off: list[Tried] = field(default_factory=list)
    picked: Tried | None = None
