"""Encoded: the token ids of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Encoded", "Tokens"]

Tokens = Sequence[int] | np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of one row as the model sees them, special tokens included."""

    id: str
    source: Tokens
    target: Tokens  # every one of them carries loss
    truncated: int = 0  # tokens, cells or whatever the task counts, dropped by rule
    exemplar: Tokens | None = None  # of methods that read one
    n_words: int = 0  # of the target's text
    n_bytes: int = 0
