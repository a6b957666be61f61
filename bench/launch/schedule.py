"""Schedule: which run of a plan comes next. Parents come first, and a locked run is tried again later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.cells.cell import Cell

AGAIN_S = 0.5
"""Seconds after which a run is tried again that another process had locked."""


class Schedule:
    """The runs that are left, by their position among all of them.

    Args:
        cells: the runs, parents before their children.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self.waiting = set(range(len(cells)))
        self.running: set[int] = set()
        self.not_before = [0.0] * len(cells)

    @property
    def is_done(self) -> bool:
        """Whether every run is settled."""
        return not self.waiting and not self.running

    def next(self) -> int | None:
        """Return a run that may begin now, in the order of the plan; None where all have to wait.

        A run waits for those that it starts from or reads along, and for an earlier one with the same folder: a
        control reads the training of another method.
        """
        busy = {self.cells[number].folder.path for number in self.running}
        before = set[Path]()  # folders of earlier runs that are not settled
        for number in sorted((*self.running, *self.waiting)):
            cell = self.cells[number]
            needs = {cell.folder.path, *(needed.folder.path for needed in cell.needed)}
            is_free = number not in self.running and needs.isdisjoint(before) and cell.folder.path not in busy
            if is_free and time.monotonic() >= self.not_before[number]:
                self.waiting.remove(number)
                self.running.add(number)
                return number
            before.add(cell.folder.path)
        return None

    def settle(self, number: int) -> None:
        """Note that a run has ended, well or not."""
        self.running.remove(number)

    def put_back(self, number: int, seconds: float = 0.0) -> None:
        """Let a run wait again, for some seconds at least."""
        self.running.remove(number)
        self.waiting.add(number)
        self.not_before[number] = time.monotonic() + seconds
