"""Official: the hash of published rows, where they have been read whole."""

from __future__ import annotations

__all__ = ["known_rows"]

# SHA-256 of the canonical rows (`bench.tasks.manifest`) with the task's default options. LogicNLG has two: its proxy
# training rows are lower-cased, and then so are the others.
ROWS: dict[tuple[str, str], tuple[str, ...]] = {}


def known_rows(task: str, split: str) -> tuple[str, ...]:
    """Return the hashes that a split's rows may have to be the published ones; nothing where none is known.

    >>> known_rows("text", "test")
    ()
    """
    return ROWS.get((task, split), ())
