"""A one-layer LSTM decoder with attention, copying and, as options, input feeding and weights made for the row.

Shapes: B rows, T positions, I width of embeddings, D width, M entries it attends to, r coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.models.backbones.lstm import LSTM, AdaptiveLSTM
from bench.models.backbones.lstm_attention import Attended, Attention, CopyGate, attention_log_weights


class DecoderState(NamedTuple):
    """What the next position continues from."""

    hidden: Tensor  # [B, D]
    cell: Tensor  # [B, D]
    vector: Tensor  # [B, D] attention vector of the position before, zeros before the first


class Given(NamedTuple):
    """What is the same at every position."""

    memories: Sequence[Tensor]  # of [B, ., D], M entries together
    readable: Tensor  # [B, M] bool
    copy_memories: Sequence[Tensor] = ()  # likewise, where copying has its own
    coefficients: Tensor | None = None  # [B, r] of an adaptive cell


class Decoded(NamedTuple):
    """What the head needs at each position."""

    hidden: Tensor  # [B, T, D] attention vectors, behind dropout
    copying: Tensor | None  # [B, T, M+1] log-weights of copying each entry and, last, of generating
    state: DecoderState  # behind the last position


class Decoder(nn.Module):
    """The decoder.

    Args:
        inputs: I.
        width: D.
        rank: r of an adaptive cell, 0 for an LSTM.
        dropout: of what meets the softmax.
        feeding: whether the attention vector of the position before joins the input.
        copies: whether it copies.
        copies_apart: the released way of copying: the attention vector asks a memory of its own, and alone decides
            whether to copy; otherwise attention itself is what is copied, and context, state and input decide.
    """

    def __init__(
        self, inputs: int, width: int, rank: int, dropout: float, feeding: bool, copies: bool, copies_apart: bool
    ) -> None:
        super().__init__()
        self.dropout, self.feeding, self.copies_apart = dropout, feeding, copies_apart
        entering = inputs + width if feeding else inputs
        self.cell = AdaptiveLSTM(entering, width, rank) if rank else LSTM(entering, width)
        self.attention = Attention(width)
        self.copy_gate = CopyGate(width if copies_apart else 2 * width + inputs) if copies else None

    def forward(self, embedded: Tensor, state: DecoderState, given: Given) -> Decoded:
        """Read tokens from their embeddings, [B, T, I]."""
        run = self._fed if self.feeding else self._run
        states, found, state = run(embedded, state, given)
        hidden = F.dropout(found.vector, self.dropout, self.training)
        return Decoded(hidden, self._copying(embedded, states, found, hidden, given), state)

    def _run(self, values: Tensor, state: DecoderState, given: Given) -> tuple[Tensor, Attended, DecoderState]:
        """All positions at once: their inputs do not depend on attention."""
        adapted = () if given.coefficients is None else (given.coefficients,)
        states, cell = self.cell(values, state.hidden, state.cell, *adapted)
        found = self.attention(states, given.memories, given.readable)
        return states, found, DecoderState(states[:, -1], cell, found.vector[:, -1])

    def _fed(self, values: Tensor, state: DecoderState, given: Given) -> tuple[Tensor, Attended, DecoderState]:
        """Position by position, each with the attention vector of the one before."""
        steps = []
        for value in values.split(1, dim=1):
            states, found, state = self._run(torch.cat([value, state.vector[:, None].to(value)], 2), state, given)
            steps.append((states, *found))
        states, *parts = (torch.cat(part, dim=1) for part in zip(*steps, strict=True))
        return states, Attended(*parts), state

    def _copying(
        self, embedded: Tensor, states: Tensor, found: Attended, hidden: Tensor, given: Given
    ) -> Tensor | None:
        """Log-weights of copying and of generating, [B, T, M+1]."""
        if self.copy_gate is None:
            return None
        if self.copies_apart:
            weights = attention_log_weights(found.vector, given.copy_memories, given.readable)
            return self.copy_gate(hidden, weights)
        return self.copy_gate(torch.cat([found.context.to(states), states, embedded.to(states)], 2), found.log_weights)
