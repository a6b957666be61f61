"""Row cache: the cache of `transformers` with named tensors of each row.

Shapes: B rows, T tokens so far, N new tokens.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache


class RowCache(DynamicCache):
    """Keys and values, plus named tensors of one row per sequence that follow the beams as keys and values do.

    A recurrent model has no keys and values: its configuration says `num_hidden_layers=0`, and all it knows of the past
    is in named tensors. The library asks how long a cache is before the first step only, when either kind is empty.
    """

    is_croppable = False  # named tensors need not be one step per token, so the library refuses assisted decoding

    def __init__(self, config: Any) -> None:
        super().__init__(config=config)
        self.rows: dict[str, Tensor] = {}  # [B, ...]

    def append(self, name: str, new: Tensor) -> Tensor:
        """Add steps to a named tensor, [B, N, ...]; return all of it, [B, T, ...]."""
        self.rows[name] = torch.cat([self.rows[name], new], 1) if name in self.rows else new
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
