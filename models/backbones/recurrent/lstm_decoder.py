"""A one-layer LSTM decoder with attention, copying and, as options, input feeding and an adaptive cell.

Shapes: B rows, T positions, I width of embeddings, D width, M entries it attends to, r coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.models.backbones.recurrent.lstm import LSTM, AdaptiveLSTM
from bench.models.backbones.recurrent.lstm_attention import Attended, Attention, CopyGate, attention_log_weights


class DecoderState(NamedTuple):
    """What the next position continues from."""

    hidden: Tensor  # [B, D]
    cell: Tensor  # [B, D]
    vector: Tensor  # [B, D] attention vector of the position before, zeros before the first


class Given(NamedTuple):
    """What the decoder reads, the same at every position."""

    memories: Sequence[Tensor]  # of [B, ., D], M entries together
    readable: Tensor  # [B, M] bool
    copy_memories: Sequence[Tensor] = ()  # of [B, ., D] where copying has memories of its own
    coefficients: Tensor | None = None  # [B, r] of an adaptive cell


class Decoded(NamedTuple):
    """What the head needs at each position."""

    hidden: Tensor  # [B, T, D] attention vectors, after dropout
    copying: Tensor | None  # [B, T, M+1] log-weights of copying each entry and, last, of generating
    state: DecoderState  # after the last position


class Decoder(nn.Module):
    """The decoder.

    Args:
        inputs: I.
        width: D.
        rank: r of an adaptive cell, 0 for an LSTM.
        dropout: of what meets the softmax.
        feeding: whether the attention vector of the position before joins the input.
        copies: whether it copies.
        copies_apart: how it copies. If true, as released: entries of a memory of its own are weighted by the attention
            vector, which alone decides whether to copy. If false: the weights of attention are those of copying, and
            context, state and input decide.
    """

    def __init__(
        self, inputs: int, width: int, rank: int, dropout: float, feeding: bool, copies: bool, copies_apart: bool
    ) -> None:
        super().__init__()
        self.dropout, self.feeding, self.copies_apart = dropout, feeding, copies_apart
        cell_inputs = inputs + width if feeding else inputs
        self.cell: AdaptiveLSTM | LSTM
        if rank:
            self.cell = AdaptiveLSTM(cell_inputs, width, rank)
        else:
            self.cell = LSTM(cell_inputs, width)
        self.attention = Attention(width)
        self.copy_gate: CopyGate | None = None
        if copies:
            self.copy_gate = CopyGate(width if copies_apart else 2 * width + inputs)

    def forward(self, embedded: Tensor, state: DecoderState, given: Given) -> Decoded:
        """Read tokens from their embeddings, [B, T, I]."""
        run = self._step_by_step if self.feeding else self._at_once
        states, attended, state = run(embedded, state, given)
        hidden = F.dropout(attended.vector, self.dropout, self.training)
        return Decoded(hidden, self._copying(embedded, states, attended, hidden, given), state)

    def _at_once(self, values: Tensor, state: DecoderState, given: Given) -> tuple[Tensor, Attended, DecoderState]:
        """All positions at once, from [B, T, .]: their inputs do not depend on attention."""
        if given.coefficients is None:
            states, cell = self.cell(values, state.hidden, state.cell)
        else:
            states, cell = self.cell(values, state.hidden, state.cell, given.coefficients)
        attended = self.attention(states, given.memories, given.readable)
        return states, attended, DecoderState(states[:, -1], cell, attended.vector[:, -1])

    def _step_by_step(self, values: Tensor, state: DecoderState, given: Given) -> tuple[Tensor, Attended, DecoderState]:
        """Position by position: each input [B, 1, I] is joined by the attention vector of the position before."""
        steps = []
        for value in values.split(1, dim=1):
            fed = torch.cat([value, state.vector[:, None].to(value)], 2)
            states, attended, state = self._at_once(fed, state, given)
            steps.append((states, *attended))
        states, *parts = (torch.cat(part, dim=1) for part in zip(*steps, strict=True))
        return states, Attended(*parts), state

    def _copying(
        self, embedded: Tensor, states: Tensor, attended: Attended, hidden: Tensor, given: Given
    ) -> Tensor | None:
        """Log-weights of copying and of generating, [B, T, M+1]."""
        if self.copy_gate is None:
            return None
        if self.copies_apart:
            log_weights = attention_log_weights(attended.vector, given.copy_memories, given.readable)
            return self.copy_gate(hidden, log_weights)
        features = torch.cat([attended.context.to(states), states, embedded.to(states)], 2)
        return self.copy_gate(features, attended.log_weights)
