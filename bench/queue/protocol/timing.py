"""Timing: how often a worker beats and looks, and when a silent one counts as dead. One plan, one timing."""

from __future__ import annotations

from dataclasses import asdict, dataclass

__all__ = ["LOCAL", "SHARED", "Timing", "next_pause"]


@dataclass(frozen=True)
class Timing:
    """Seconds of a queue; every worker of a plan keeps to the same ones.

    Args:
        beat_s: between two beats of a worker.
        ttl_s: of silence, after which a worker counts as dead; many beats, for a busy machine or file system.
        reread_s: for which what was read of other workers' journals is good enough to choose a cell by.
        poll_s: at the most between two looks for work, where there is none.
    """

    beat_s: float
    ttl_s: float
    reread_s: float
    poll_s: float

    def as_dict(self) -> dict[str, float]:
        """Return plain content, for the plan file."""
        return asdict(self)


SHARED = Timing(beat_s=10.0, ttl_s=120.0, reread_s=5.0, poll_s=10.0)
"""For workers of several machines on a network file system."""
LOCAL = Timing(beat_s=2.0, ttl_s=30.0, reread_s=0.2, poll_s=0.2)
"""For the workers of `bench run --jobs`, all on this machine."""

SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 5.0


def next_pause(pause_s: float) -> float:
    """Return how long to wait before a write that was refused is tried again: each time twice as long, up to 5 s.

    Args:
        pause_s: the last pause, 0 for none.

    >>> next_pause(0.0), next_pause(0.05), next_pause(4.0)
    (0.05, 0.1, 5.0)
    """
    return min(max(2 * pause_s, SHORTEST_PAUSE_S), LONGEST_PAUSE_S)
