"""The recurrent sequence-to-sequence model as one module: encoders, decoder, embeddings, head.

Shapes: B rows, S source positions, E exemplar positions, T target positions, D width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bench.errors import UsageError
from bench.models.backbones.lstm_decoder import Decoded, Decoder, DecoderState, Given
from bench.models.backbones.lstm_encoder import Encoded, ExemplarEncoder, ExemplarRead, SourceEncoder
from bench.models.functional.adaptive_lstm import exemplar_coefficients

Exemplar = Literal["none", "attend", "adapt", "both", "constant"]


@dataclass(frozen=True)
class Design:
    """What a model is made of; `bilstm` says what each part means."""

    width: int
    layers: int
    embedding_width: int
    dropout: float
    exemplar: Exemplar
    exemplar_width: int
    rank: int
    norm: float | None
    input_feeding: bool
    copy: bool
    tied: bool
    released: bool

    @property
    def attends(self) -> bool:
        """Whether the exemplar is attended to."""
        return self.exemplar in ("attend", "both")

    @property
    def adapts(self) -> bool:
        """Whether the exemplar makes the decoder's weights."""
        return self.exemplar in ("adapt", "both")

    @property
    def reads(self) -> bool:
        """Whether exemplars are read at all."""
        return self.attends or self.adapts


class BiLSTMModel(nn.Module):
    """A model of a design.

    Args:
        config: special token ids and `vocab_size`, as the library's decoding wants them.
        design: its parts.
    """

    def __init__(self, config: Any, design: Design) -> None:
        super().__init__()
        self.config, self.design = config, design
        d, apart = design, design.copy and design.released
        embedding = nn.Embedding(config.vocab_size, d.embedding_width)
        nn.init.uniform_(embedding.weight, -math.sqrt(3 / d.embedding_width), math.sqrt(3 / d.embedding_width))
        self.encoder = SourceEncoder(embedding, d.width, d.layers, d.dropout, d.released, apart)
        self.exemplar_encoder = ExemplarEncoder(
            d.embedding_width, d.exemplar_width, d.width, d.rank if d.adapts else 0, d.norm, d.attends, d.dropout,
            d.released, apart,
        ) if d.reads else None  # fmt: skip
        self.constant = nn.Parameter(torch.randn(1, d.rank)) if d.exemplar == "constant" else None
        adaptive = d.adapts or d.exemplar == "constant"
        self.decoder = Decoder(
            d.embedding_width, d.width, d.rank if adaptive else 0, d.dropout, d.input_feeding, d.copy, apart
        )
        self.output = nn.Linear(d.width, config.vocab_size)
        nn.init.uniform_(self.output.weight, -math.sqrt(3 / d.width), math.sqrt(3 / d.width))
        nn.init.zeros_(self.output.bias)
        if d.tied:
            self.output.weight = embedding.weight

    def get_input_embeddings(self) -> nn.Embedding:
        """The embeddings that source, exemplar and target share."""
        return self.encoder.embedding

    def get_output_embeddings(self) -> nn.Linear:
        """The softmax head; tied to the embeddings, with a bias of its own."""
        return self.output

    def get_encoder(self) -> SourceEncoder:
        """What the library runs once per source."""
        return self.encoder

    def read_exemplar(self, ids: Tensor | None, mask: Tensor | None, rows: int) -> ExemplarRead:
        """Return what the decoder gets of the exemplars [B, E] of B = `rows` rows, if it reads them.

        Raises:
            UsageError: when it does and there are none.
        """
        if self.constant is not None:
            ones = self.constant.new_ones(rows, 1)
            return ExemplarRead(exemplar_coefficients(ones, self.constant, self.design.norm))
        if self.exemplar_encoder is None:
            return ExemplarRead()
        if ids is None or mask is None:
            raise UsageError(
                f"backbone.exemplar={self.design.exemplar} reads an exemplar for each row and this batch has none: "
                "take a method that brings them (attexp, adadec, adadec_attexp), or backbone.exemplar=none"
            )
        return self.exemplar_encoder(self.encoder.embed(ids), mask)

    def given(self, encoded: Encoded, mask: Tensor, read: ExemplarRead, exemplar_mask: Tensor | None) -> Given:
        """Put together what the decoder attends to and is made with, from the masks [B, S] and [B, E]."""
        readable = mask > 0
        if read.memory is not None and exemplar_mask is not None:
            readable = torch.cat([readable, exemplar_mask > 0], dim=1)
        return Given(
            memories=present(encoded.last_hidden_state, read.memory),
            readable=readable,
            copy_memories=present(encoded.copy_memory, read.copy_memory),
            coefficients=read.coefficients,
        )

    def start(self, encoded: Encoded) -> DecoderState:
        """State before the first target token."""
        hidden, cell = present(encoded.hidden, encoded.cell)
        return DecoderState(hidden, cell, torch.zeros_like(hidden))

    def decode(self, ids: Tensor, state: DecoderState, given: Given) -> Decoded:
        """Read target tokens [B, T]."""
        return self.decoder(self.encoder.embed(ids), state, given)


def present(*tensors: Tensor | None) -> list[Tensor]:
    """Return those that are there."""
    return [tensor for tensor in tensors if tensor is not None]
