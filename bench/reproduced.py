"""Reproduced: what `bench reproduce` asks before it makes many cells, for tables and figures alike."""

from __future__ import annotations

import argparse
from collections.abc import Set

__all__ = ["asks_before", "confirm_to_do", "only_planned"]


def asks_before(given: argparse.Namespace) -> bool:
    """Return whether cells would be made, and nobody has said that they may be many."""
    return bool(given.run) and not given.dry_run and not given.yes


def only_planned(given: argparse.Namespace) -> argparse.Namespace:
    """Return the same command without its work, to count what it would make."""
    return argparse.Namespace(**{**vars(given), "run": False, "quiet": True})


def confirm_to_do(to_do: Set[str], given: argparse.Namespace) -> None:
    """Ask once whether so many cells are to be begun; return where they are, or are few.

    Raises:
        UsageError: the answer was no, or there is no terminal to ask on.
    """
    from bench.cells.plan_checks import confirm_number
    from bench.cells.progress import Progress

    with Progress(given.quiet) as progress:
        confirm_number(len(to_do), progress)
