"""Room: how many tokens of a row a model has position embeddings for, and the refusal of a row with more.

Without it a GPU ends with an assertion in a kernel, and a CPU with an index out of range.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from bench.errors import UsageError

__all__ = ["refuse_longer", "room_of"]


def room_of(model: Any) -> int | None:
    """Return how many tokens of a row have a position embedding; None for a model that computes its positions."""
    room: int | None = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if isinstance(module, nn.Embedding) and (last == "wpe" or "position" in last):
            return room
    return None


def refuse_longer(room: int | None, length: int, what: str) -> None:
    """Refuse a batch with more columns than a model has positions.

    Args:
        room: from `room_of`.
        length: columns of the batch.
        what: they are, for the message.

    Raises:
        UsageError: naming both numbers and the options that change them.
    """
    if room is not None and length > room:
        raise UsageError(
            f"a batch has {what} of {length} tokens, and the backbone has positions for {room}; lower "
            f"trainer.max_source or trainer.max_target, or give a backbone from scratch a larger backbone.context"
        )
