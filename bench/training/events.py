"""Events: what happens while a run is executed, for whoever shows or logs it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SILENT", "Events"]


class Events:
    """Every method takes one kind of event and does nothing with it; `Progress` and loggers override what they show."""

    def warn(self, text: str) -> None:
        """Something that a user should know."""

    def stage(self, name: str, of: int = 0) -> None:
        """A stage begins that has so many steps or rows; 0 where that is not known."""

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """A training reached a point of its curve: `values` has the loss, its parts, and the `tokens` read so far."""

    def validation(self, step: int, columns: Mapping[str, float]) -> None:
        """A validation at a step found these values, by column."""

    def beat(self, stage: str, done: int) -> None:
        """A stage reached a single step, batch or row."""


SILENT = Events()
"""Events that nobody is told of."""
