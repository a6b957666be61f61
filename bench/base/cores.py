"""Cores: how many processors there are to use."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may use: those it is bound to where the system says so, else all, at least 1.

    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
