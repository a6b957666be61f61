"""Cache keyword: by which name a model of `transformers` takes keys and values of earlier steps.

The library calls them `past_key_values` up to its version 5.23 and `cache` from 5.24 on. A model whose code comes with
its checkpoint has the name of the version that it was written for.
"""

from __future__ import annotations

import inspect
from functools import cache, lru_cache
from typing import Any

OLD, NEW = "past_key_values", "cache"


@cache
def library_keyword() -> str:
    """Return the name that the installed library hands a cache on by, in `generate` and in what a model returns."""
    from transformers.modeling_outputs import CausalLMOutputWithPast  # takes half a second, which a plan does without

    return NEW if NEW in CausalLMOutputWithPast.__dataclass_fields__ else OLD


def cache_keyword(model: Any) -> str:
    """Return the name of the argument of a model's `forward` that a cache is given by.

    Args:
        model: a module of `transformers`, with or without a head.
    """
    return _keyword_of(type(model).forward)


@lru_cache(maxsize=256)
def _keyword_of(forward: Any) -> str:
    """Return the name among the arguments of a function; the library's own where it has neither."""
    names = inspect.signature(forward).parameters
    for name in (NEW, OLD):
        if name in names:
            return name
    return library_keyword()
