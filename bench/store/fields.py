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

NUMBER = (int, float, type(None))
FIELDS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "trained": {
        "key": str,
        "status": str,
        "method": dict,
        "config.task": str,
        "config.method": str,
        "config.backbone": str,
        "config.preset": str,
        "config.seed": int,
        "config.trainer.limit": NUMBER,
        "config.evaluation.split": str,
        "config.evaluation.batch_size": int,
        "data.train.status": str,
        "data.train.sha256": str,
    },
    "failed": {"status": str, "config.task": str, "config.trainer.limit": NUMBER},
    "scores": {
        "of.kind": str,
        "of.split": str,
        "of.status": str,
        "of.split_sha256": str,
        "of.batch_size": int,
        "of.whole_split": bool,
        "of.ids.n": int,
        "of.decoding": (dict, type(None)),
        "values": list,
    },
    "grid": {"tried": list},
}
"""By kind of record, fields that every leaderboard reads, and their types."""

VALUE: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "value": NUMBER,
    "signature": str,
    "higher_is_better": (bool, type(None)),
}
"""Of each number of a scores file."""


def missing_field(kind: str, content: Mapping[str, Any]) -> str:
    """Return the first field that is missing or of another type; empty where all are right.

    >>> missing_field("failed", {"status": "failed", "config": {"task": 1}})
    'config.task'
    """
    for name, types in FIELDS[kind].items():
        if not isinstance(_at(content, name), types):
            return name
    for part in ("values", "human"):
        for value in content.get(part, ()):
            for name, wanted in VALUE.items():  # of these there are tens of thousands
                if not isinstance(value, dict) or not isinstance(value.get(name, _Nothing), wanted):
                    return f"{part}.{name}"
    return ""


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


class _Nothing:
    """The value of a field that is missing."""


def _at(content: Any, name: str) -> Any:
    """Return a field by dotted name."""
    for part in name.split("."):
        if not isinstance(content, Mapping) or part not in content:
            return _Nothing()
        content = content[part]
    return content
