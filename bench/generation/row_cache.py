"""Row cache: the cache of `transformers` with named tensors of each row, in buffers that grow.

The library copies all keys and values at each token. Buffers with room at their end take a tenth off the time of a
256-token text on a CPU (GPT-2 of 6 layers, 16 rows).

Shapes: B rows, H heads, T tokens so far, N new tokens, d width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache
from transformers.cache_utils import DynamicLayer

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


class RowCache(DynamicCache):
    """Keys and values, plus named tensors of one row per sequence that follow the beams as keys and values do.

    A recurrent model has no keys and values: its configuration says `num_hidden_layers=0`, and all it knows of the past
    is in named tensors. The library asks how long a cache is before the first step only, when either kind is empty.
    """

    is_croppable = False  # named tensors need not be one step per token, so the library refuses assisted decoding
    layers: list[Any]

    def __init__(self, config: Any) -> None:
        super().__init__(config=config)
        self.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in self.layers]
        self.rows: dict[str, Tensor] = {}  # [B, ...]
        self._growing: dict[str, Growing] = {}  # buffers of the rows that `append` makes longer

    def append(self, name: str, new: Tensor) -> Tensor:
        """Add steps to a named tensor, [B, N, ...]; return all of it, [B, T, ...]."""
        growing = self._growing.setdefault(name, Growing(dim=1))
        self.rows[name] = growing.appended(self.rows.get(name), new)
        return self.rows[name]

    def put(self, rows: Mapping[str, Tensor]) -> None:
        """Set named tensors, [B, ...], in place of what they held."""
        self.rows.update(rows)

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i continue from row `beam_idx[i]`."""
        super().reorder_cache(beam_idx)
        self.rows = {name: rows.index_select(0, beam_idx.to(rows.device)) for name, rows in self.rows.items()}

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep some rows."""
        super().batch_select_indices(indices)
        self.rows = {name: rows[indices] for name, rows in self.rows.items()}

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row; inherited, this would forget the named tensors."""
        super().batch_repeat_interleave(repeats)
        self.rows = {name: rows.repeat_interleave(repeats, dim=0) for name, rows in self.rows.items()}


class SharedByBeams(DynamicCache):
    """Keys and values of the source: equal for all beams of a row, so a beam that moves need not copy them."""

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Nothing to do: beams never leave their row."""


def new_cache(config: Any, own: RowCache | None = None) -> Any:
    """Return an empty cache for a model: of its decoder and, where it has one, of what it knows of the source.

    Args:
        config: of the model.
        own: the part of the decoder; a new one for None.
    """
    if own is None:
        own = RowCache(config)
    if config.is_encoder_decoder:
        return EncoderDecoderCache(own, SharedByBeams(config=config))
    return own
