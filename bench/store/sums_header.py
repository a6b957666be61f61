"""The header of a file of sums: which columns it has, without its numbers and without numpy."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

__all__ = ["column_names", "columns_in"]


def column_names(content: bytes) -> list[str]:
    """Return the columns of a file of sums.

    Raises:
        ValueError: it is no such file.
    """
    try:
        return list(columns_in(content))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is no file of sums: {error!s:.100}") from error


def columns_in(content: bytes) -> dict[str, Any]:
    """Return what the header of a file says of each column: its form, and which tensors are its statistics."""
    start = int.from_bytes(content[:8], "little")
    return _parsed(json.loads(content[8 : 8 + start])["__metadata__"]["columns"])


@lru_cache(maxsize=256)
def _parsed(columns: str) -> dict[str, Any]:
    """Return the columns; the files of a metric family have the same, so they are held once."""
    parsed: dict[str, Any] = json.loads(columns)
    return parsed
