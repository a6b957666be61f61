"""Order: which cells are ready, and which of them a worker tries first."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from bench.queue.protocol.job import Job
from bench.queue.protocol.view import State, View

__all__ = ["SETTLED", "Order", "tier_of"]

SETTLED = (State.DONE, State.FAILED, State.BLOCKED)


class Order:
    """The jobs of a plan in the order one worker tries them.

    Jobs with long chains behind them go first, but only by tiers of about 40 % in cost, at random inside a tier: where
    all workers go by the exact order, they meet at every cell.

    Args:
        jobs: of the plan.
        view: of the worker.
        is_trained: whether the cell of a job is trained in the store; asked for jobs that have failed.
        draw: the worker's own random numbers.
    """

    def __init__(
        self, jobs: Sequence[Job], view: View, is_trained: Callable[[Job], bool], draw: random.Random | None = None
    ) -> None:
        self.jobs = {job.key: job for job in jobs}
        self.view, self.is_trained, self.draw = view, is_trained, draw or random.Random()
        self.tiers = {key: tier_of(rank) for key, rank in ranks(jobs).items()}

    def state(self, key: str) -> State:
        """Return the state of a job; `blocked` where what it is fine-tuned from has failed and is not trained."""
        state = self.view.state(key)
        if state is State.NEW and any(self.is_lost(parent) for parent in self.jobs[key].after):
            return State.BLOCKED
        return state

    def is_lost(self, parent: str) -> bool:
        """Return whether a job will leave no trained cell in this queue."""
        state = self.state(parent)
        if state is State.FAILED:  # perhaps only its evaluation has
            return not self.is_trained(self.jobs[parent])
        return state is State.BLOCKED

    def is_ready(self, job: Job) -> bool:
        """Return whether everything that a job waits for is settled."""
        waits_for = list(job.after)
        if job.shares:
            waits_for.append(job.shares)
        return all(self.state(key) in SETTLED for key in waits_for)

    def broken(self, job: Job) -> str:
        """Return the label of the job whose cell this one reads, where that has failed; else an empty text."""
        if job.shares and self.state(job.shares) is not State.DONE:
            return self.jobs[job.shares].label
        return ""

    def candidates(self) -> list[Job]:
        """Return the jobs that nobody living has, in the order to try them."""
        found = [job for job in self.jobs.values() if self.is_free(job) and self.is_ready(job)]
        return sorted(found, key=lambda job: (-self.tiers[job.key], self.draw.random()))

    def is_free(self, job: Job) -> bool:
        """Return whether a job may be claimed, as far as the view knows."""
        state = self.state(job.key)
        if state is State.HELD:
            return self.view.holder_is_dead(job.key)
        return state in (State.NEW, State.RETURNED)

    def is_settled(self) -> bool:
        """Return whether nothing is left to do in this queue."""
        return all(self.state(key) in SETTLED for key in self.jobs)


def tier_of(rank: float) -> int:
    """Return the tier of a rank: two for each doubling.

    >>> [tier_of(rank) for rank in (0, 1, 3, 100)]
    [0, 2, 4, 13]
    """
    return int(2 * math.log2(1 + rank))


def ranks(jobs: Sequence[Job]) -> dict[str, float]:
    """Return, by job, its cost and that of the longest chain of jobs that wait for it.

    Args:
        jobs: those that wait behind those they wait for.
    """
    below = {job.key: 0.0 for job in jobs}
    rank: dict[str, float] = {}
    for job in reversed(jobs):
        rank[job.key] = job.cost + below[job.key]
        for other in {*job.after, job.shares} - {""}:
            below[other] = max(below[other], rank[job.key])
    return rank
