"""Masks: attention masks that a model of `transformers` takes as they are.

The library tests whether a mask [B, T] is all ones, to leave it out; on a GPU every step then waits for the answer. It
takes a mask of four dimensions as it is. Not every family may be given one: some derive more from a mask [B, T] than
which tokens may be attended to, such as windows or biases by distance.

Shapes: B rows, T positions, N new tokens of a generation step.
"""

from __future__ import annotations

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
