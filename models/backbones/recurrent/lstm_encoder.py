"""Encoders of a recurrent model: of the source, and of an exemplar.

Shapes: B rows, S source positions, E exemplar positions, I width of embeddings, D width of the decoder, r coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from bench.models.backbones.recurrent.lstm import BiLSTMStack
from bench.models.backbones.recurrent.lstm_attention import dense
from bench.models.functional.adaptive_lstm import exemplar_coefficients


@dataclass
class EncodedSource(ModelOutput):
    """A source as the decoder sees it; `transformers` repeats every tensor of it for beams."""

    last_hidden_state: Tensor | None = None  # [B, S, D] the memory
    hidden: Tensor | None = None  # [B, D] state the decoder starts from
    cell: Tensor | None = None  # [B, D] cell the decoder starts from
    copy_memory: Tensor | None = None  # [B, S, D] what is copied from, where that is not the memory


class SourceEncoder(nn.Module):
    """Embeddings, a BiLSTM stack, the projected memory, and the tanh bridge to the decoder's first state and cell.

    Args:
        embedding: [V, I], shared with the decoder and the exemplar's encoder.
        width: D, and the width of each direction.
        layers: of the stack.
        dropout: of embeddings, of the stack and, in the released form, of what enters the bridge.
        released: whether the stack and the bridge are those of the released code.
        copies_apart: whether copying has a projected memory of its own.
    """

    project_copies: nn.Linear | None

    def __init__(
        self, embedding: nn.Embedding, width: int, layers: int, dropout: float, released: bool, copies_apart: bool
    ) -> None:
        super().__init__()
        self.embedding, self.dropout, self.released = embedding, dropout, released
        self.stack = BiLSTMStack(embedding.embedding_dim, width, layers, dropout, apart=released)
        self.project = dense(2 * width, width, bias=False)
        self.project_copies = None
        if copies_apart:
            self.project_copies = dense(2 * width, width, bias=False)
        self.bridge_hidden, self.bridge_cell = dense(2 * width, width), dense(2 * width, width)

    def embed(self, ids: Tensor) -> Tensor:
        """Embeddings with dropout, [B, T] -> [B, T, I]."""
        return F.dropout(self.embedding(ids), self.dropout, self.training)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_attentions: bool = False,
        output_hidden_states: bool = False,
        return_dict: bool = True,
    ) -> EncodedSource:
        """Encode sources [B, S]; `transformers` gives every encoder the last three arguments, unused here."""
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        top, hidden, cell = self.stack(self.embed(input_ids), attention_mask)  # [B, S, 2D], [B, 2D], [B, 2D]
        if self.released:
            hidden = F.dropout(hidden, self.dropout, self.training)
            cell = F.dropout(cell, self.dropout, self.training)
        copy_memory = None
        if self.project_copies is not None:
            copy_memory = self.project_copies(top)
        return EncodedSource(
            last_hidden_state=self.project(top),
            hidden=self.bridge_hidden(hidden).tanh(),
            cell=self.bridge_cell(cell).tanh(),
            copy_memory=copy_memory,
        )


class ExemplarRead(NamedTuple):
    """What a decoder gets of an exemplar."""

    coefficients: Tensor | None = None  # [B, r] lambda
    memory: Tensor | None = None  # [B, E, D]
    copy_memory: Tensor | None = None  # [B, E, D]


class ExemplarEncoder(nn.Module):
    """A one-layer BiLSTM over the exemplar: its last states give coefficients, all its states a memory.

    Args:
        inputs: I.
        exemplar_width: of each direction.
        width: D.
        rank: r, the number of coefficients; 0 for none.
        norm: l2 norm of the coefficients; None leaves them as eq. 11 gives them.
        attends: whether there is a memory.
        dropout: behind the BiLSTM, variational; in the released form also around its tanh layer.
        released: whether a tanh layer stands between the last states and eq. 11.
        copies_apart: whether copying has a projected memory of its own.
    """

    tanh: nn.Linear | None
    coefficients: nn.Linear | None
    project: nn.Linear | None
    project_copies: nn.Linear | None

    def __init__(
        self,
        inputs: int,
        exemplar_width: int,
        width: int,
        rank: int,
        norm: float | None,
        attends: bool,
        dropout: float,
        released: bool,
        copies_apart: bool,
    ) -> None:
        super().__init__()
        self.stack = BiLSTMStack(inputs, exemplar_width, 1, dropout, apart=released)
        self.dropout, self.norm = dropout, norm
        self.tanh = self.coefficients = self.project = self.project_copies = None
        if rank and released:
            self.tanh = dense(2 * exemplar_width, width)
        if rank:
            self.coefficients = dense(width if released else 2 * exemplar_width, rank, bias=False)
        if attends:
            self.project = dense(2 * exemplar_width, width, bias=False)
        if attends and copies_apart:
            self.project_copies = dense(2 * exemplar_width, width, bias=False)

    def forward(self, embedded: Tensor, mask: Tensor) -> ExemplarRead:
        """Encode exemplars from their embeddings [B, E, I] and mask [B, E]."""
        top, context, _ = self.stack(embedded, mask)  # [B, E, 2W] and [B, 2W], W the width of a direction
        if self.tanh is not None:
            context = F.dropout(context, self.dropout, self.training)
            context = F.dropout(self.tanh(context).tanh(), self.dropout, self.training)
        coefficients = memory = copy_memory = None
        if self.coefficients is not None:
            coefficients = exemplar_coefficients(context, self.coefficients.weight.mT, self.norm)
        if self.project is not None:
            memory = self.project(top)
        if self.project_copies is not None:
            copy_memory = self.project_copies(top)
        return ExemplarRead(coefficients, memory, copy_memory)
