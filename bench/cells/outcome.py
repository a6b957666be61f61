"""Outcome: which runs of a plan have succeeded, were stored already, have diverged or have failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome"]

LISTS = {"ok": list, "stored": list, "diverged": list, "missing": set, "blocked": set, "loggers_off": set}
"""The fields of an outcome that are lists or sets of labels."""


@dataclass
class Outcome:
    """The labels of the runs of a plan, by how each run ended."""

    ok: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)  # nothing was missing
    diverged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)  # failed runs whose data or model was missing
    blocked: set[str] = field(default_factory=set)  # failed runs that depend on another failed run
    broken: dict[Path, str] = field(
        default_factory=dict
    )  # label of the run that failed first in a folder, which a control may share
    loggers_off: set[str] = field(default_factory=set)  # loggers that have failed

    def add(self, other: Outcome) -> None:
        """Add another run's outcome."""
        self.ok += other.ok
        self.stored += other.stored
        self.diverged += other.diverged
        self.failed |= other.failed
        self.missing |= other.missing
        self.blocked |= other.blocked
        self.broken = other.broken | self.broken
        self.loggers_off |= other.loggers_off

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for another process; `of` undoes it. Folders that failed are known by their runs."""
        return {**{name: sorted(getattr(self, name)) for name in LISTS}, "failed": self.failed}

    @staticmethod
    def of(content: dict[str, Any]) -> Outcome:
        """Return an outcome from its content."""
        lists = {name: kind(content[name]) for name, kind in LISTS.items()}
        return Outcome(**lists, failed=content["failed"])

    @property
    def any_number(self) -> bool:
        """Whether a run has a number, or has had one until its training diverged."""
        return bool(self.ok or self.stored or self.diverged)

    @property
    def exit_code(self) -> int:
        """0 if every run of the plan has a number, 3 if none has one because data or models are missing, else 1."""
        if not self.failed and not self.diverged:
            return 0
        only_missing = self.missing and set(self.failed) <= self.missing | self.blocked
        if only_missing and not self.any_number:
            return 3
        return 1
