"""Liveness: which workers live, told from counters that change. No clock but the observer's own is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.queue.protocol.timing import Timing

__all__ = ["Liveness"]


@dataclass
class Silence:
    """How long a counter has not changed.

    Args:
        counter: as it was last seen.
        looked: when, on the observer's clock, in seconds.
        silent_s: the sum of the gaps between looks at the same counter.
    """

    counter: int
    looked: float
    silent_s: float = 0.0


class Liveness:
    """What one observer knows of the counters of others.

    A gap between two looks counts for two beats at the most: an observer that was stopped, suspended or busy itself
    does not blame the others for it.

    Args:
        timing: of the queue.
        clock: seconds, of any origin.
    """

    def __init__(self, timing: Timing, clock: Callable[[], float]) -> None:
        self.timing, self.clock = timing, clock
        self.silences: dict[str, Silence] = {}

    def look(self, name: str, counter: int) -> None:
        """Note a look at a counter."""
        now = self.clock()
        known = self.silences.get(name)
        if known is None or known.counter != counter:
            self.silences[name] = Silence(counter, now)
            return
        known.silent_s += self.counted(now - known.looked)
        known.looked = now

    def counted(self, gap_s: float) -> float:
        """Return how much of a gap between two looks counts as silence."""
        return max(0.0, min(gap_s, 2 * self.timing.beat_s))

    def is_dead(self, name: str) -> bool:
        """Return whether a counter has not changed for the time to live."""
        known = self.silences.get(name)
        return known is not None and known.silent_s >= self.timing.ttl_s
