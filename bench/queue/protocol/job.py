"""Job: one cell of a queue, as a worker sees it: what it waits for, what it costs, and what its child is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """One cell of a queue.

    Args:
        key: of the job, 16 hex digits.
        label: for people.
        after: jobs that must have trained their cell: those it is fine-tuned from.
        shares: the job that trains the cell this one only reads; empty for none.
        cost: how long it takes, in units that only this plan knows.
        folder: of the cell in the store.
        cell: the resolved cell, as `bench.cells.job.content_of` gives it.
    """

    key: str
    label: str
    after: tuple[str, ...] = ()
    shares: str = ""
    cost: float = 1.0
    folder: str = ""
    cell: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for the plan file."""
        return {**vars(self), "after": list(self.after)}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> Job:
        """Undo `as_dict`."""
        return Job(**{**content, "after": tuple(content["after"])})
