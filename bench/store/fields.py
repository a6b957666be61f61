"""Fields of records: whether a record has those of its kind.

The hash of a record shows that it is unchanged, not that this program wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FIELDS", "IMPORTED", "is_imported", "missing_field"]

IMPORTED = "imported"
"""The field of a record whose texts another system wrote; also the preset and the decoding of such a run."""

FIELDS: Mapping[str, Mapping[str, type]] = {
    "trained": {"key": str, "status": str, "method": dict, "config": dict, "data": dict},
    "failed": {"status": str, "config": dict},
    "scores": {"of": dict, "values": list},
    "grid": {"tried": list},
}
"""By kind of record, the parts that every leaderboard reads, and their types."""


def missing_field(kind: str, content: Mapping[str, Any]) -> str:
    """Return the first field that is missing or of another type; empty where all are right.

    >>> missing_field("failed", {"status": "failed", "config": 1})
    'config'
    """
    return next((name for name, of in FIELDS[kind].items() if not isinstance(content.get(name), of)), "")


def is_imported(trained: Mapping[str, Any]) -> bool:
    """Return whether another system generated the texts of a run: nothing was trained, and there is no model."""
    return IMPORTED in trained
