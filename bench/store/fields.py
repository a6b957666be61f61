"""Fields: what a record must have to be one of ours; a file of another program may have a right hash and none of them.

The hash says that a record is as it was written, not that what wrote it was this program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["IMPORTED", "is_imported", "missing_field"]

IMPORTED = "imported"
"""The field of a record whose texts another system wrote; also the preset and the decoding of such a cell."""

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
    """Return the first field that a record lacks or has of another type, empty where it has all.

    >>> missing_field("failed", {"status": "failed", "config": {"task": 1}})
    'config.task'
    """
    for name, types in FIELDS[kind].items():
        if not isinstance(_at(content, name), types):
            return name
    for part in ("values", "human"):
        for value in content.get(part, ()):
            for name, wanted in VALUE.items():
                if not isinstance(_at(value, name), wanted):
                    return f"{part}.{name}"
    return ""


def is_imported(trained: Mapping[str, Any]) -> bool:
    """Return whether the texts of a cell are those of another system: nothing was trained, and there is no model."""
    return IMPORTED in trained


class _Nothing:
    """What stands where a field is not there."""


def _at(content: Any, name: str) -> Any:
    """Return a field by dotted name."""
    for part in name.split("."):
        if not isinstance(content, Mapping) or part not in content:
            return _Nothing()
        content = content[part]
    return content
