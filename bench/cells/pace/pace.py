"""Pace: how far a run of cells is, how fast it goes, and in how many seconds its cell and all of it may end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["SCORING", "TRAINING", "UNWATCHED", "WRITING", "Pace", "Rate", "Stage", "duration"]

TRAINING, SCORING, WRITING = "training", "scoring", "writing"
"""Stages of a cell: steps, metrics over its rows, and what a baseline writes. An evaluation is called by its kind."""

UNWATCHED = (SCORING, WRITING)
"""Stages without signs of life: a metric or a search is one call, however long. There only the whole cell is timed."""


@dataclass(frozen=True)
class Stage:
    """What a cell lacks of one stage.

    Args:
        cost: rows that go through the model once.
        of: steps or rows that it has; 0 where that is not known yet.
    """

    cost: float
    of: int


NOTHING = Stage(0.0, 0)


class Pace:
    """How far cells are that are worked on one after another. Times are in seconds.

    Args:
        cells: the stages that each cell lacks.
        clock: seconds that only go up.
    """

    def __init__(self, cells: Sequence[Mapping[str, Stage]] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.cells, self.clock = cells, clock
        self.worked, self.worked_s = 0.0, 0.0  # cost and time of the cells that have ended
        self.number = 0  # cells that were begun
        self.work_on({})

    def work_on(self, stages: Mapping[str, Stage]) -> None:
        """Begin work that has some stages."""
        self.stages, self.began = stages, self.clock()
        self.current, self.before, self.share_of_stage = NOTHING, 0.0, 0.0
        self.found: float | None = None  # what was done already at the first sign of progress

    def begin(self, number: int) -> None:
        """Begin a cell; they count from 1."""
        self.number = number
        stages: Mapping[str, Stage] = {}
        if number <= len(self.cells):
            stages = self.cells[number - 1]
        self.work_on(stages)

    def stage(self, name: str) -> None:
        """Begin a stage of the cell; those before it are done."""
        self.before += self.current.cost
        self.current, self.share_of_stage = NOTHING, 0.0
        if name in self.stages:
            names = list(self.stages)
            self.before = sum(self.stages[earlier].cost for earlier in names[: names.index(name)])
            self.current = self.stages[name]

    def reach(self, done: int, of: int) -> None:
        """Take note of steps or rows of the stage that are done; `of` is 0 where nobody knows how many there are."""
        if of:
            self.share_of_stage = min(1.0, done / of)
        if self.found is None:
            self.found = self.done

    def end(self) -> None:
        """End the cell."""
        if self.cost:
            self.worked += self.cost - (self.found or 0.0)
            self.worked_s += self.clock() - self.began
        self.work_on({})

    @property
    def cost(self) -> float:
        """The cost of the cell."""
        return sum(stage.cost for stage in self.stages.values())

    @property
    def done(self) -> float:
        """The part of it that is done."""
        return self.before + self.current.cost * self.share_of_stage

    @property
    def share(self) -> float | None:
        """The share of the cell that is done; None where its cost is not known."""
        if not self.cost:
            return None
        return min(1.0, self.done / self.cost)

    @property
    def cell_left_s(self) -> float | None:
        """Until the cell ends; None where nobody can tell."""
        if self.found is None:
            return None
        return projected(self.clock() - self.began, self.done - self.found, self.cost - self.done)

    @property
    def all_left_s(self) -> float | None:
        """Until the last cell ends; None where nobody can tell."""
        worked, worked_s = self.worked, self.worked_s
        if self.found is not None:
            worked += self.done - self.found
            worked_s += self.clock() - self.began
        ahead = 0.0
        for cell in self.cells[self.number :]:
            ahead += sum(stage.cost for stage in cell.values())
        of_cell = self.cell_left_s
        if of_cell is None:
            of_cell = projected(worked_s, worked, self.cost - self.done)
        of_others = projected(worked_s, worked, ahead)
        if of_cell is None or of_others is None:
            return None
        return of_cell + of_others


def projected(seconds: float, done: float, left: float) -> float | None:
    """Return how long what is left takes at the pace so far; None before anything is done."""
    if done <= 0:
        return None
    return seconds * left / done


class Rate:
    """How many of something there are in a second, from the first count on.

    Args:
        clock: seconds that only go up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.first: tuple[float, float] | None = None

    def at(self, count: float) -> float | None:
        """Return the rate at a count; None at the first one."""
        now = self.clock()
        if self.first is None:
            self.first = (count, now)
        before, began = self.first
        if now <= began or count <= before:
            return None
        return (count - before) / (now - began)


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(29.6), duration(75), duration(2 * 3600 + 61)
    ('30 s', '2 min', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes // 60:.0f} h {minutes % 60:.0f} min"
