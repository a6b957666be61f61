"""Encoders of a recurrent model: of the source, and of an exemplar.

Shapes: B rows, S source positions, E exemplar positions, I width of embeddings, D width of the decoder, r coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from bench.models.backbones.recurrent.lstm import BiLSTMStack, Design, dense
from bench.models.functional.adaptive_lstm import exemplar_coefficients


@dataclass
class EncodedSource(ModelOutput):
    """A source as the decoder sees it."""

    last_hidden_state: Tensor | None = None  # [B, S, D] the memory
    hidden: Tensor | None = None  # [B, D] state the decoder starts from
    cell: Tensor | None = None  # [B, D] cell the decoder starts from
    copy_memory: Tensor | None = None  # [B, S, D] what is copied from, where that is not the memory


class SourceEncoder(nn.Module):
    """Embeddings, a BiLSTM stack, the projected memory, and the tanh bridge to the decoder's first state and cell.

    Args:
        embedding: [V, I], shared with the decoder and the exemplar's encoder.
        design: of the model. Its dropout is that of embeddings, of the stack and, in the released form, of what enters
            the bridge.
    """

    project_copies: nn.Linear | None

    def __init__(self, embedding: nn.Embedding, design: Design) -> None:
        super().__init__()
        width, self.dropout, self.released = design.width, design.dropout, design.released
        self.embedding = embedding
        self.stack = BiLSTMStack(embedding.embedding_dim, width, design.layers, self.dropout, apart=self.released)
        self.project = dense(2 * width, width, bias=False)
        self.project_copies = None
        if design.copies_apart:
            self.project_copies = dense(2 * width, width, bias=False)
        self.bridge_hidden, self.bridge_cell = dense(2 * width, width), dense(2 * width, width)

    def embed(self, ids: Tensor) -> Tensor:
        """Embeddings with dropout, [B, T] -> [B, T, I]."""
        return F.dropout(self.embedding(ids), self.dropout, self.training)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, return_dict: bool = True) -> EncodedSource:
        """Encode sources [B, S]; encoders of `transformers` have the last argument, too."""
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
        design: of the model. In the released form a tanh layer, with dropout around it, stands between the last states
            and eq. 11.
    """

    tanh: nn.Linear | None
    coefficients: nn.Linear | None
    project: nn.Linear | None
    project_copies: nn.Linear | None

    def __init__(self, design: Design) -> None:
        super().__init__()
        width, read = design.width, 2 * design.exemplar_width  # of both directions
        self.dropout, self.norm = design.dropout, design.norm
        self.stack = BiLSTMStack(design.embedding_width, design.exemplar_width, 1, self.dropout, apart=design.released)
        self.tanh = self.coefficients = self.project = self.project_copies = None
        if design.adapts and design.released:
            self.tanh = dense(read, width)
        if design.adapts:
            self.coefficients = dense(width if design.released else read, design.rank, bias=False)
        if design.attends:
            self.project = dense(read, width, bias=False)
        if design.attends and design.copies_apart:
            self.project_copies = dense(read, width, bias=False)

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
