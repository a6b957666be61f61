"""The parts of a recurrent model: encoders of the source and of an exemplar, and the decoder.

The decoder is a one-layer LSTM with attention over one or two memories, copying, input feeding and an adaptive cell.

Shapes: B rows, S source positions, E exemplar positions, T target positions, I width of embeddings, D width of the
decoder, M entries of all memories together, r coefficients.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.models.backbones.recurrent.lstm import LSTM, AdaptiveLSTM, BiLSTMStack, Design, dense
from bench.models.functional.adaptive_lstm import exemplar_coefficients

UNREADABLE = -1e32
"""Score of an entry that may not be read: its weight is exactly 0; its logarithm is finite, so gradients are too."""


class EncodedSource(NamedTuple):
    """A source as the decoder sees it. Not a `ModelOutput`, since a plan would import `transformers` for it."""

    last_hidden_state: Tensor  # [B, S, D] the memory
    hidden: Tensor  # [B, D] state the decoder starts from
    cell: Tensor  # [B, D] cell the decoder starts from
    copy_memory: Tensor | None = None  # [B, S, D] what is copied from, where that is not the memory

    def items(self) -> Iterable[tuple[str, Tensor | None]]:
        """Return name and value of each part, as an output of `transformers` does."""
        return self._asdict().items()


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


class Attended(NamedTuple):
    """What attention gives at each position."""

    vector: Tensor  # [B, T, D] the attention vector, made of state and context
    context: Tensor  # [B, T, D] weighted mean of the memories
    log_weights: Tensor  # [B, T, M] at least float32; they sum to one


class Attention(nn.Module):
    """Luong et al. 2015, score "general", with a linear attention vector of state and context, as in released AdaDec.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.general = dense(width, width, bias=False)
        self.combine = dense(2 * width, width, bias=False)

    def forward(self, states: Tensor, memories: Sequence[Tensor], readable: Tensor) -> Attended:
        """Attend to all memories under one softmax.

        Args:
            states: [B, T, D] of the decoder.
            memories: of [B, ., D], M entries together.
            readable: [B, M] bool.
        """
        log_weights = attention_log_weights(self.general(states), memories, readable)
        weights = log_weights.exp().to(states.dtype).split([memory.shape[1] for memory in memories], dim=2)
        contexts = [part @ memory.to(part.dtype) for part, memory in zip(weights, memories, strict=True)]
        context = contexts[0]  # [B, T, D]
        if len(contexts) > 1:
            context = torch.stack(contexts).sum(0)
        return Attended(self.combine(torch.cat([states, context], dim=2)), context, log_weights)


def attention_log_weights(queries: Tensor, memories: Sequence[Tensor], readable: Tensor) -> Tensor:
    """Logarithm of one softmax over the entries of all memories.

    Args:
        queries: [B, T, D].
        memories: of [B, ., D], M entries together.
        readable: [B, M] bool.

    Returns:
        [B, T, M] in at least float32, about -1e32 for entries that may not be read.
    """
    scores = torch.cat([queries @ memory.to(queries.dtype).mT for memory in memories], dim=2)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores.masked_fill(~readable[:, None], UNREADABLE).log_softmax(2)


class CopyGate(nn.Module):
    """Chooses between copying and generating: See et al. 2017, eq. 8.

    Args:
        inputs: width of what it looks at.
    """

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.gate = dense(inputs, 1)

    def forward(self, features: Tensor, log_weights: Tensor) -> Tensor:
        """Log-weights of copying each entry and, last, of generating; they sum to one.

        Args:
            features: [B, T, inputs].
            log_weights: [B, T, M] of copying each entry, given that an entry is copied.

        Returns:
            [B, T, M+1] in the dtype of `log_weights`.
        """
        gate = self.gate(features).to(log_weights.dtype)
        return torch.cat([F.logsigmoid(-gate) + log_weights, F.logsigmoid(gate)], dim=2)


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
    """The decoder; with input feeding, the attention vector of the position before joins each input.

    How it copies. As released (`copies_apart`): entries of a memory of its own are weighted by the attention vector,
    which alone decides whether to copy. Otherwise: the weights of attention are those of copying, and context, state
    and input decide.

    Args:
        design: of the model. Its dropout is that of what meets the softmax.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        inputs, width, rank = design.embedding_width, design.width, design.decoder_rank
        self.dropout, self.feeding, self.copies_apart = design.dropout, design.input_feeding, design.copies_apart
        cell_inputs = inputs + width if self.feeding else inputs
        self.cell: AdaptiveLSTM | LSTM
        if rank:
            self.cell = AdaptiveLSTM(cell_inputs, width, rank)
        else:
            self.cell = LSTM(cell_inputs, width)
        self.attention = Attention(width)
        self.copy_gate: CopyGate | None = None
        if design.copy:
            self.copy_gate = CopyGate(width if self.copies_apart else 2 * width + inputs)

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
