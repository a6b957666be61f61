"""Encoded: the token ids of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Encoded"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one row as the model sees them, special tokens included."""

    id: str
    source: Sequence[int]
    target: Sequence[int]  # every one of them carries loss
    truncated: int = 0  # tokens, cells or whatever the task counts, dropped by rule
    exemplar: Sequence[int] | None = None  # of methods that read one
    n_words: int = 0  # of the target's text
    n_bytes: int = 0
