"""Steps: what the first of several processes says of the steps it trains, in a small file that the parent reads."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Steps", "no_step"]


class Steps:
    """The last point of a training's curve, written by one process and read by another.

    Args:
        scratch: folder that both have.
    """

    def __init__(self, scratch: Path) -> None:
        self.path = scratch / "step"
        self.read = 0  # step of the last point that was news

    def note(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Write a point; a disk that refuses costs a line of progress, not the work."""
        temporary = self.path.with_suffix(".tmp")
        with suppress(OSError):
            temporary.write_text(json.dumps([step, steps, values]))
            os.replace(temporary, self.path)

    def news(self) -> tuple[int, int, dict[str, Any]] | None:
        """Return step, steps and logged values of a point that was not returned before, or None."""
        with suppress(OSError, ValueError):  # no point yet
            step, steps, values = json.loads(self.path.read_text())
            if step != self.read:
                self.read = step
                return step, steps, values
        return None


def no_step(step: int, steps: int, values: dict[str, float]) -> None:
    """Say nothing: another process does."""
