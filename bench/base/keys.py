"""Keys: content-addressed names of stored files."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any


def _content(value: Any) -> dict[str, Any]:
    """Return the JSON content of a dataclass, its fields, or of a mapping that is no dict."""
    if is_dataclass(value):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"JSON cannot hold a {type(value).__name__}")


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False, default=_content
)
"""Kept: `json.dumps` makes one for every row of a task. Looking for circles would take an eighth of the time."""


def canonical(content: Any) -> bytes:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN, UTF-8.

    >>> canonical({"b": 1, "a": [1.5, None]})
    b'{"a":[1.5,null],"b":1}'
    """
    return _ENCODER.encode(content).encode("utf-8", "surrogatepass")


def key_of(content: Any) -> str:
    """Return the first 16 hex digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()[:16]


def sha256(data: bytes | Iterable[bytes]) -> str:
    """Return the SHA-256 of bytes, or of chunks in order."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    digest = hashlib.sha256()
    for chunk in data:
        digest.update(chunk)
    return digest.hexdigest()


def without(content: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return content without some of its names, such as options that only say where data is."""
    return {name: value for name, value in content.items() if name not in names}
