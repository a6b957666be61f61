"""Logged run: what a cell, or a board, is called on every logger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.base.redaction import redacted
from bench.cells.cell import Cell, described

__all__ = ["LoggedRun", "logged_run"]


@dataclass(frozen=True)
class LoggedRun:
    """One run on a logger. Its texts hold no secrets.

    Args:
        id: names the run for good: the same cell has the same one each time.
        label: for people.
        group: task and method.
        config: all that decides the result, as plain JSON types.
    """

    id: str
    label: str
    group: str
    config: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the run in a folder of logs: group and id."""
        return f"{self.group}/{self.id}"


def logged_run(cell: Cell) -> LoggedRun:
    """Return the run of a cell.

    A control that reads another method's cell has that one's key, and a run of its own: its numbers are others.
    """
    name = cell.key
    if cell.method.only_reads:
        name = f"{cell.key}-{cell.method.name}"
    return LoggedRun(
        id=name,
        label=redacted(cell.label),
        group=redacted(f"{cell.config.task}/{cell.config.method}"),
        config=redacted(described(cell)),
    )
