"""Growing: tensors that get longer with every token, without being copied with every token.

Shapes: B rows, H heads, T tokens so far, N new tokens, d width of a head.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer

__all__ = ["Growing", "GrowingLayer"]

ROOM = 64
"""Tokens that a buffer has room for at least, beyond those it is made for."""


class Growing:
    """A buffer with room at its end; what has been written is a view of its beginning.

    Args:
        dim: along which it grows.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._buffer: Tensor | None = None
        self._written: Tensor | None = None

    def appended(self, before: Tensor | None, new: Tensor) -> Tensor:
        """Return `before` with `new` behind it.

        Args:
            before: what this function returned last, or what the caller made of it (rows in another order, say), which
                is then copied to a new buffer; None or an empty tensor at first.
            new: what comes next, of the same shape but for `dim`.
        """
        length = 0
        if before is not None and before.numel():
            length = before.shape[self.dim]
        total = length + new.shape[self.dim]
        if before is not self._written:  # beams move rows at every token: room would never be used
            self._make(before, new, length, total)
        elif self._buffer is None or total > self._buffer.shape[self.dim]:
            self._make(before, new, length, max(2 * length, total + ROOM))
        assert self._buffer is not None
        self._buffer.narrow(self.dim, length, new.shape[self.dim]).copy_(new)
        self._written = self._buffer.narrow(self.dim, 0, total)
        return self._written

    def _make(self, before: Tensor | None, new: Tensor, length: int, room: int) -> None:
        """Make a buffer with room for so many tokens that begins with `before`."""
        shape = list(new.shape)
        shape[self.dim] = room
        self._buffer = new.new_empty(shape)
        if before is not None and length:
            self._buffer.narrow(self.dim, 0, length).copy_(before)


class GrowingLayer(DynamicLayer):
    """Keys and values of a layer, [B, H, T, d], in buffers with room."""

    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        self._growing_keys, self._growing_values = Growing(-2), Growing(-2)

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Add keys and values of new tokens, [B, H, N, d]; return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self.keys = self._growing_keys.appended(self.keys, key_states)
        self.values = self._growing_values.appended(self.values, value_states)
        return self.keys, self.values
