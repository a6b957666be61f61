"""Positions: how many tokens of a row a model has position embeddings for, and the refusal of a row with more.

Without it a GPU ends with an assertion in a kernel, and a CPU with an index out of range.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from bench.errors import UsageError

__all__ = ["refuse_longer", "max_positions_of"]


def max_positions_of(model: Any) -> int | None:
    """Return how many tokens of a row have a position embedding; None for a model that computes its positions."""
    max_positions: int | None = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if isinstance(module, nn.Embedding) and (last == "wpe" or "position" in last):
            return max_positions
    return None


def refuse_longer(max_positions: int | None, length: int, what: str) -> None:
    """Refuse a batch with more columns than a model has positions.

    Args:
        max_positions: from `max_positions_of`.
        length: columns of the batch.
        what: they are, for the message.

    Raises:
        UsageError: naming both numbers and the options that change them.
    """
    if max_positions is not None and length > max_positions:
        raise UsageError(
            f"a batch has {what} of {length} tokens, and the backbone has positions for {max_positions}; lower "
            f"trainer.max_source or trainer.max_target, or give a backbone from scratch a larger backbone.context"
        )
