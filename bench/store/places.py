"""Places: where the data of a store's runs was on this machine, one file for the rows of each split.

`<results>/.places/<hash of the rows>.json` is no record and is in no key and is neither exported nor joined. The rows
that are read there are compared with their hash. A damaged file counts as missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.errors import StoreError

__all__ = ["PLACES", "remember", "remembered"]

PLACES = ".places"


def remember(root: Path, rows: str, place: Mapping[str, Any]) -> None:
    """Store where the rows of a split are, in place of an earlier entry; nothing happens in a store that is only read.

    Args:
        root: of the store.
        rows: SHA-256 of the split, as its manifest has it.
        place: content for JSON.
    """
    if remembered(root, rows) == place:
        return
    with suppress(StoreError):
        content = json.dumps(place, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
        write_atomic(_file(root, rows), content, replace=True, synced=False)


def remembered(root: Path, rows: str) -> dict[str, Any] | None:
    """Return where the rows of a split were when they were read last; None where that is not known.

    Args:
        root: of the store; of a snapshot nothing is known.
        rows: SHA-256 of the split.
    """
    with suppress(OSError, ValueError):
        content = json.loads(_file(root, rows).read_bytes())
        if isinstance(content, dict):
            return content
    return None


def _file(root: Path, rows: str) -> Path:
    return root / PLACES / f"{rows[:32]}.json"
