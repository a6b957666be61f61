"""Attention of an LSTM decoder over one or two memories, and copying from what it attends to.

Shapes: B rows, T positions, D width, M entries of all memories together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

UNREADABLE = -1e32
"""Score of an entry that may not be read: its weight is exactly 0; its logarithm is finite, so gradients are too."""


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


def dense(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """A linear layer that starts as in the released AdaDec: Xavier, no bias yet."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
