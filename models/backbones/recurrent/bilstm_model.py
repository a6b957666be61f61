"""The recurrent sequence-to-sequence model as a module: encoders, decoder, embeddings, head.

Shapes: B rows, S source positions, E exemplar positions, T target positions, D width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bench.errors import UsageError
from bench.models.backbones.recurrent.lstm_decoder import Decoded, Decoder, DecoderState, Given
from bench.models.backbones.recurrent.lstm_encoder import EncodedSource, ExemplarEncoder, ExemplarRead, SourceEncoder
from bench.models.functional.adaptive_lstm import exemplar_coefficients

Exemplar = Literal["none", "attend", "adapt", "both", "constant"]


@dataclass(frozen=True)
class Design:
    """The options of a model; `bilstm` says what each means."""

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
    """The model that a design describes.

    Args:
        config: special token ids and `vocab_size`, in the form that decoding with `transformers` needs.
        design: its options.
    """

    exemplar_encoder: ExemplarEncoder | None  # of designs that read exemplars
    constant: nn.Parameter | None  # [1, r] of `exemplar=constant`, from which eq. 11 makes its lambda

    def __init__(self, config: Any, design: Design) -> None:
        super().__init__()
        self.config, self.design = config, design
        copies_apart = design.copy and design.released
        has_constant = design.exemplar == "constant"
        embedding = nn.Embedding(config.vocab_size, design.embedding_width)
        _init_uniform(embedding.weight, design.embedding_width)
        self.encoder = SourceEncoder(
            embedding,
            width=design.width,
            layers=design.layers,
            dropout=design.dropout,
            released=design.released,
            copies_apart=copies_apart,
        )
        self.exemplar_encoder = None
        if design.reads:
            self.exemplar_encoder = ExemplarEncoder(
                inputs=design.embedding_width,
                exemplar_width=design.exemplar_width,
                width=design.width,
                rank=design.rank if design.adapts else 0,
                norm=design.norm,
                attends=design.attends,
                dropout=design.dropout,
                released=design.released,
                copies_apart=copies_apart,
            )
        self.constant = None
        if has_constant:
            self.constant = nn.Parameter(torch.randn(1, design.rank))
        self.decoder = Decoder(
            inputs=design.embedding_width,
            width=design.width,
            rank=design.rank if design.adapts or has_constant else 0,
            dropout=design.dropout,
            feeding=design.input_feeding,
            copies=design.copy,
            copies_apart=copies_apart,
        )
        self.output = nn.Linear(design.width, config.vocab_size)
        _init_uniform(self.output.weight, design.width)
        nn.init.zeros_(self.output.bias)
        if design.tied:
            self.output.weight = embedding.weight

    def get_input_embeddings(self) -> nn.Embedding:
        """The embeddings that source, exemplar and target share."""
        return self.encoder.embedding

    def get_output_embeddings(self) -> nn.Linear:
        """The softmax head; tied to the embeddings, with a bias of its own."""
        return self.output

    def get_encoder(self) -> SourceEncoder:
        """The encoder, which `transformers` runs once for each source."""
        return self.encoder

    def read_exemplar(self, ids: Tensor | None, mask: Tensor | None, rows: int) -> ExemplarRead:
        """Return what the decoder gets of the exemplars [B, E] of B = `rows` rows; nothing where it reads none.

        Raises:
            UsageError: when the model reads exemplars and there are none.
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

    def given(self, encoded: EncodedSource, mask: Tensor, read: ExemplarRead, exemplar_mask: Tensor | None) -> Given:
        """Put together what the decoder reads at every position, from the masks [B, S] and [B, E]."""
        readable = mask > 0
        if read.memory is not None and exemplar_mask is not None:
            readable = torch.cat([readable, exemplar_mask > 0], dim=1)
        return Given(
            memories=present(encoded.last_hidden_state, read.memory),
            readable=readable,
            copy_memories=present(encoded.copy_memory, read.copy_memory),
            coefficients=read.coefficients,
        )

    def start(self, encoded: EncodedSource) -> DecoderState:
        """State before the first target token."""
        hidden, cell = present(encoded.hidden, encoded.cell)
        return DecoderState(hidden, cell, torch.zeros_like(hidden))

    def decode(self, ids: Tensor, state: DecoderState, given: Given) -> Decoded:
        """Read target tokens [B, T]."""
        return self.decoder(self.encoder.embed(ids), state, given)


def _init_uniform(weight: Tensor, width: int) -> None:
    """Draw weights evenly, with variance 1 / width."""
    nn.init.uniform_(weight, -math.sqrt(3 / width), math.sqrt(3 / width))


def present(*tensors: Tensor | None) -> list[Tensor]:
    """Return the tensors that are not None."""
    return [tensor for tensor in tensors if tensor is not None]
