"""What a model of `transformers` is given: attention masks that it takes as they are, and its cache by name.

The library tests whether a mask [B, T] is all ones, to leave it out; on a GPU every step then waits for the answer. It
takes a mask of four dimensions as it is. Not every family may be given one: some derive more from a mask [B, T] than
which tokens may be attended to, such as windows or biases by distance.

Keys and values of earlier steps are called `past_key_values` up to version 5.23 of the library and `cache` from 5.24
on. A model whose code comes with its checkpoint has the name of the version that it was written for.

Shapes: B rows, T positions, N new tokens of a generation step.
"""

import inspect
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor

PLAIN = frozenset({"gpt2", "llama", "bart"})
"""Families that attend to everything that a mask allows and take nothing else from it."""


def takes_ready_masks(config: Any) -> bool:
    """Return whether a model of this configuration may be given a bool mask of four dimensions."""
    attention = getattr(config, "_attn_implementation", None)
    return attention == "sdpa" and getattr(config, "model_type", None) in PLAIN


def causal_mask(mask: Tensor, new: int = 0) -> Tensor:
    """Which real tokens up to its own position each may attend to, [B, T] -> [B, 1, N, T] bool.

    Args:
        mask: of all tokens, 1 for a real one.
        new: N, how many of the last tokens attend; 0 for all of them.
    """
    steps = mask.shape[1]
    new = new or steps
    past = torch.ones(new, steps, dtype=torch.bool, device=mask.device).tril(steps - new)
    return past & (mask > 0)[:, None, None, :]


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
