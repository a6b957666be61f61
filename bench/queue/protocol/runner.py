"""Runner: what a worker needs of whatever runs one cell. Tests have one without processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum

from bench.queue.protocol.job import Job

__all__ = ["Ending", "Handle", "Runner"]


class Ending(Enum):
    """How a run of a cell ended.

    `killed`: by a signal that the worker has not sent, such as the kernel's where memory is short. `stopped`: by the
    worker's own. `refused`: the cell cannot be run here, by this code or with this data, and nothing was written.
    """

    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    STOPPED = "stopped"
    REFUSED = "refused"


class Handle(ABC):
    """A cell that is being run."""

    @abstractmethod
    def poll(self) -> Ending | None:
        """Return how it ended, or None while it runs.

        Raises:
            OSError: what came of it could not be written; ask again.
        """

    @abstractmethod
    def stop(self, number: int) -> None:
        """Send a signal, so that it saves what it has and ends."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once, with everything it has started."""


class Runner(ABC):
    """Runs cells for one worker."""

    @abstractmethod
    def is_done(self, job: Job) -> bool:
        """Return whether a job is done already: its last owner may have died before it could say so."""

    @abstractmethod
    def start(self, job: Job, generation: int, broken: str) -> Handle:
        """Begin to run a cell.

        Args:
            job: which.
            generation: of the lease.
            broken: the label of the job whose cell this one reads, where that has failed.

        Raises:
            OSError: the disk is full or refuses; try again.
        """

    @abstractmethod
    def give_up(self, job: Job, generation: int, deaths: int) -> None:
        """Note a failed cell: so many workers have died of it.

        Raises:
            OSError: the disk is full or refuses; try again.
        """

    @abstractmethod
    def say(self, text: str) -> None:
        """Tell people what the worker does."""
