"""Fields of records: whether a record has those of its kind, and which metrics a file of statistics has.

The hash of a record shows that it is unchanged, not that this program wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

__all__ = ["FIELDS", "IMPORTED", "columns_in", "is_imported", "missing_field"]

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


def columns_in(content: bytes) -> dict[str, Any]:
    """Return by column, from the header of a file, its form and the names of the tensors that are its statistics.

    Raises:
        ValueError: it is no file of sufficient statistics.
    """
    start = int.from_bytes(content[:8], "little")
    try:
        return _parsed(json.loads(content[8 : 8 + start])["__metadata__"]["columns"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no file of sufficient statistics: {error!s:.100}") from error


@lru_cache(maxsize=256)
def _parsed(columns: str) -> dict[str, Any]:
    """Return the columns; the files of a metric family have the same, so they are held once."""
    parsed: dict[str, Any] = json.loads(columns)
    return parsed
