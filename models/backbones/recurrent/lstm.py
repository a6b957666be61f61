"""The design of a recurrent model, and its layers: one direction over padded rows, a stack, the adaptive cell.

Shapes: B rows, T positions, I input width, W state width, r coefficients. Recurrences run in the dtype of their
weights, also under autocast: rounding would add up over positions, and not every processor has a bf16 LSTM.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.models.functional.adaptive_lstm import AdaptiveWeights, adaptive_lstm, orthogonal_columns

FORGET = 1.0
"""Start of the forget gate's bias."""

SHUT = 1e4
"""Added to a gate so that its sigmoid is exactly 0 or 1, in every dtype."""


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
    def copies_apart(self) -> bool:
        """Whether copying has projected memories of its own, as in the released code."""
        return self.copy and self.released

    @property
    def decoder_rank(self) -> int:
        """r of an adaptive decoder, 0 for an LSTM."""
        return self.rank if self.adapts or self.exemplar == "constant" else 0


class LSTM(nn.Module):
    """An LSTM in one direction. A padded position changes no cell: its input gate is shut and its forget gate open.

    So the last cell is that of the last real position, and a row read from its end stays in the zero state until its
    first real position. Both hold for padding on either side. A single bias, orthogonal initial weights and forget bias
    1 are those of the released AdaDec.

    Args:
        inputs: I.
        width: W.
        reverse: whether rows are read from their end.
    """

    padded: Tensor

    def __init__(self, inputs: int, width: int, reverse: bool = False) -> None:
        super().__init__()
        self.reverse = reverse
        start = nn.init.orthogonal_(torch.empty(4 * width, inputs + width))
        self.weight_input = nn.Parameter(start[:, :inputs].clone())
        self.weight_hidden = nn.Parameter(start[:, inputs:].clone())
        self.bias = nn.Parameter(by_gate(width, (0.0, FORGET, 0.0, 0.0)))
        self.register_buffer("padded", by_gate(width, (-SHUT, SHUT, 0.0, 0.0))[:, None], persistent=False)

    def forward(
        self, values: Tensor, hidden: Tensor | None = None, cell: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Run over whole rows.

        Args:
            values: [B, T, I].
            hidden: [B, W] state to start from; zeros if not given.
            cell: [B, W] likewise.
            mask: [B, T] 1 for a real position; all are if not given.

        Returns:
            States [B, T, W], of no meaning at padding, and the last cell [B, W].
        """
        weight: Tensor = self.weight_input
        values = values.to(weight.dtype)
        if mask is not None:
            values = torch.cat([values, (mask == 0)[:, :, None].to(values)], dim=2)
            weight = torch.cat([weight, self.padded], dim=1)
        if self.reverse:
            values = values.flip(1)
        zeros = values.new_zeros(len(values), self.weight_hidden.shape[1])  # [B, W]
        hidden = zeros if hidden is None else hidden.to(zeros)
        cell = zeros if cell is None else cell.to(zeros)
        start = [hidden[None], cell[None]]
        weights = [weight, self.weight_hidden, self.bias, torch.zeros_like(self.bias)]
        with torch.autocast(values.device.type, enabled=False):
            states, _, last = torch.lstm(values, start, weights, True, 1, 0.0, torch.is_grad_enabled(), False, True)
        if self.reverse:
            states = states.flip(1)
        return states, last[0]


class AdaptiveLSTM(nn.Module):
    """An LSTM whose eight maps depend on the row, through r coefficients: AdaDec, eq. 8 and 10.

    Args:
        inputs: I.
        width: W.
        rank: r; the paper takes W.
    """

    def __init__(self, inputs: int, width: int, rank: int) -> None:
        super().__init__()

        def u(rows: int) -> nn.Parameter:
            """U of the four gates side by side, [rows, 4r]."""
            return nn.Parameter(torch.cat([orthogonal_columns(rows, rank) for _ in range(4)], dim=1))

        def v() -> nn.Parameter:
            """V of the four gates, [4, r, W]."""
            return nn.Parameter(torch.stack([orthogonal_columns(width, rank).mT for _ in range(4)]))

        self.u_input, self.v_input = u(inputs), v()
        self.u_hidden, self.v_hidden = u(width), v()
        self.bias = nn.Parameter(torch.zeros(rank, 4 * width))

    def forward(self, values: Tensor, hidden: Tensor, cell: Tensor, coefficients: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, T, W] and the last cell [B, W] from inputs [B, T, I], a start [B, W] and coefficients [B, r]."""
        weights = AdaptiveWeights(self.u_input, self.v_input, self.u_hidden, self.v_hidden, self.bias)
        states, cells = adaptive_lstm(values, coefficients, hidden, cell, weights)
        return states, cells[:, -1]


class BiLSTMStack(nn.Module):
    """Bidirectional layers with residual connections and variational dropout.

    Args:
        inputs: I.
        width: W of each direction.
        layers: number of layers.
        dropout: of the states behind each layer, one mask for all positions of a row (variational).
        apart: whether the directions only meet at the top, with a residual around every layer of a deeper stack, as in
            the released code (then I = W). Otherwise each layer reads both directions of the one below, with a residual
            from the second layer on.
    """

    def __init__(self, inputs: int, width: int, layers: int, dropout: float, apart: bool) -> None:
        super().__init__()
        between = width if apart else 2 * width  # what a deeper layer reads
        sizes = [inputs] + [between] * (layers - 1)
        self.ahead = nn.ModuleList(LSTM(size, width) for size in sizes)
        self.back = nn.ModuleList(LSTM(size, width, reverse=True) for size in sizes)
        self.dropout, self.apart = dropout, apart

    def forward(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Encode rows.

        Args:
            values: [B, T, I].
            mask: [B, T] 1 for a real position.

        Returns:
            Top states [B, T, 2W], and the last state and cell of the top layer, [B, 2W] each, both directions side by
            side.
        """
        below = [values, values]  # what each direction reads
        for number, layers in enumerate(zip(self.ahead, self.back, strict=True)):
            outputs = [layer(given, mask=mask) for layer, given in zip(layers, below, strict=True)]
            states = [variational_dropout(states, self.dropout, self.training) for states, _ in outputs]
            if not self.apart:
                states = [torch.cat(states, dim=2)] * 2
            if number > 0 or (self.apart and len(self.ahead) > 1):
                states = [given + new for given, new in zip(below, states, strict=True)]
            below = states
        top = below[0]
        if self.apart:
            top = torch.cat(below, dim=2)
        (ahead, ahead_cell), (back, back_cell) = outputs
        hidden = torch.cat([at_position(ahead, last_real(mask)), at_position(back, first_real(mask))], dim=1)
        return top, hidden, torch.cat([ahead_cell, back_cell], dim=1)


def by_gate(width: int, values: tuple[float, float, float, float]) -> Tensor:
    """Repeat a value for each of the gates i, f, g, o, [4W]."""
    return torch.tensor(values).repeat_interleave(width)


def variational_dropout(values: Tensor, rate: float, training: bool) -> Tensor:
    """Drop the same units at all positions of a row, [B, T, W]."""
    if not (training and rate):
        return values
    return values * F.dropout(torch.ones_like(values[:, :1]), rate)


def first_real(mask: Tensor) -> Tensor:
    """The first real position of each row, [B]; 0 for a row without one, whose states are zero everywhere."""
    return (mask > 0).int().argmax(1)


def last_real(mask: Tensor) -> Tensor:
    """The last real position of each row, [B]; 0 for a row without one.

    >>> last_real(torch.tensor([[1, 1, 0], [0, 1, 1], [0, 0, 0]])).tolist()
    [1, 2, 0]
    """
    return ((mask > 0) * torch.arange(1, mask.shape[1] + 1, device=mask.device)).argmax(1)


def at_position(values: Tensor, positions: Tensor) -> Tensor:
    """Take from each row the values at its position in `positions` [B], [B, T, W] -> [B, W]."""
    return values[torch.arange(len(values), device=values.device), positions]


def dense(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """A linear layer that starts as in the released AdaDec: Xavier, no bias yet."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
