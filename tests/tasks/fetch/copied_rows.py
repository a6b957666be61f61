"""Rows as hub copies have them: every kind of text, nulls, records and lists, with the hash of what is read of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

COLUMNS = {"document": "text", "summary": "long", "kind": "kind", "table.head": "box.head[]", "table.who": "box.who"}


def table(n: int = 1500) -> pa.Table:
    """Rows with text, large text, a dictionary, and a record with a list, some of them null."""
    texts = [None if i % 97 == 5 else f"row {i} \u2028 é 등대\n" * (i % 5) for i in range(n)]
    heads = [None if i % 89 == 7 else [f"{i}", "", "ß\t"][: i % 4] for i in range(n)]
    boxes = [None if i % 83 == 3 else {"who": f"w{i}", "head": head, "row": i} for i, head in enumerate(heads)]
    kinds = pa.array([f"kind {i % 7}" for i in range(n)]).dictionary_encode()
    long = pa.array([f"\ufeff “{i}” \x1f" for i in range(n)], pa.large_string())
    return pa.table({"id": list(range(n)), "text": texts, "long": long, "kind": kinds, "box": boxes})


def digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of rows as JSON lines."""
    made = hashlib.sha256()
    for row in rows:
        made.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return made.hexdigest()
