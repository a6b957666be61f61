"""Greedy search: the most probable token, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bench.decodings.core.decoding import Decoding

__all__ = ["Greedy"]


@dataclass(frozen=True, kw_only=True)
class Greedy(Decoding):
    """The most probable token, again and again; token for token what the library's search writes.

    >>> Greedy().as_dict()
    {'mode': 'greedy', 'no_repeat_ngram': 0, 'max_new_tokens': None, 'distribution': 'model'}
    """

    name: ClassVar[str] = "greedy"

    def class_cut(self) -> Mapping[str, Any]:
        """The most probable class, then its most probable token."""
        return {"greedy": True}
