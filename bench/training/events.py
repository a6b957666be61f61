"""Events: what happens while a run is executed. Progress lines and loggers are made from them."""

from collections.abc import Mapping


class Events:
    """A receiver of events that ignores them; `Progress` and loggers override the methods for what they show."""

    def warn(self, text: str) -> None:
        """A message that the user should read."""

    def stage(self, name: str, of: int = 0) -> None:
        """A stage begins. It has `of` steps or rows, or 0 if their number is unknown."""

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """A training reached a point of its curve: `values` has the loss, its parts, and the `tokens` read so far."""

    def validation(self, step: int, columns: Mapping[str, float]) -> None:
        """A validation at a step found these values, by column."""

    def beat(self, stage: str, done: int) -> None:
        """A stage reached a single step, batch or row."""


SILENT = Events()
"""The receiver for runs that neither show nor log anything."""
