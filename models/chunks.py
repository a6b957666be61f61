"""A loss summed slice by slice: gradients are made in the forward pass, so no [B*T, V] tensor ever exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.states import Block, Rows, States, blocks, grid_of, rows_of

PositionLoss = Callable[[Rows], tuple[Tensor, dict[str, Tensor]]]
"""Rows -> the loss of each position [n], and sums of named parts of it for the log."""


@dataclass(frozen=True)
class LossSum:
    """A loss before it is divided: the one denominator is target tokens, summed over ranks and micro-batches."""

    total: Tensor  # scalar, a sum over target tokens
    n_target_tokens: Tensor  # scalar, int64
    terms: dict[str, Tensor] = field(default_factory=dict)  # named sums, detached


def summed(states: States, position_loss: PositionLoss, parameters: Sequence[Tensor], limit: int = 512) -> LossSum:
    """Sum `position_loss` over all positions that carry a target, at most `limit` at a time.

    Args:
        states: a batch after the backbone; gradients flow to `hidden` and `memory`.
        position_loss: the loss of each position of a slice, [n].
        parameters: every parameter `position_loss` may touch (head, own parameters).
        limit: most positions in a slice; bounds memory to limit x V.
    """
    terms: dict[str, Tensor] = {}
    n_tokens = (states.targets != -100).sum()
    if torch.is_grad_enabled():
        used = [p for p in parameters if p.requires_grad]
        total = _InForward.apply(states, position_loss, limit, terms, states.hidden, states.memory, *used)
    else:
        total = states.hidden.new_zeros((), dtype=_sum_type(states.hidden))
        for block in blocks(states.targets, limit):
            losses, parts = position_loss(rows_of(states, block))
            total = total + losses.to(total.dtype).sum()
            _add(terms, parts)
    return LossSum(total, n_tokens, terms)


def _sum_type(hidden: Tensor) -> torch.dtype:
    return torch.float64 if hidden.dtype == torch.float64 else torch.float32


def _add(terms: dict[str, Tensor], parts: dict[str, Tensor]) -> None:
    for name, value in parts.items():
        terms[name] = terms[name] + value.detach() if name in terms else value.detach()


class _InForward(torch.autograd.Function):
    """Differentiate each slice as soon as it is made; backward only scales what forward has found."""

    @staticmethod
    def forward(
        ctx: Any, states: States, loss: PositionLoss, limit: int, terms: dict[str, Tensor], *inputs: Tensor
    ) -> Tensor:  # noqa: E501
        hidden, memory, *parameters = inputs
        grads: list[Tensor | None] = [torch.zeros_like(hidden), None, *(None for _ in parameters)]
        total = hidden.new_zeros((), dtype=_sum_type(hidden))
        plain = States(hidden.detach(), states.targets, memory.detach(), states.memory_tokens, states.readable,
                       states.labelled)  # fmt: skip
        for block in blocks(states.targets, limit):
            total = total + _one_slice(plain, block, loss, parameters, grads, terms)
        ctx.save_for_backward(*grads)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Any:
        grads = [None if g is None else g * scale.to(g.dtype) for g in ctx.saved_tensors]
        return (None, None, None, None, *grads)


def _one_slice(
    states: States,
    block: Block,
    loss: PositionLoss,
    parameters: Sequence[Tensor],
    grads: list[Tensor | None],
    terms: dict[str, Tensor],
) -> Tensor:
    """Add one slice's gradients to `grads` (hidden, memory, then parameters); return its summed loss."""
    with torch.enable_grad():
        grid = grid_of(states, block).requires_grad_()
        memory = states.memory[block.batch].detach().requires_grad_()
        losses, parts = loss(rows_of(states, block, grid, memory))
        total = losses.to(_sum_type(states.hidden)).sum()
        found = torch.autograd.grad(total, [grid, memory, *parameters], allow_unused=True)
    _add(terms, parts)
    if found[0] is not None:
        index = block.positions[:, :, None].expand_as(found[0])
        _sum_of(grads, 0, states.hidden)[block.batch].scatter_add_(1, index, found[0].to(states.hidden.dtype))
    if found[1] is not None:
        _sum_of(grads, 1, states.memory)[block.batch] += found[1].to(states.memory.dtype)
    for at, grad in enumerate(found[2:], start=2):
        if grad is not None:
            before = grads[at]
            # Autograd may hand out one tensor for two parameters, or a view of one number: neither can be added to.
            grads[at] = grad.clone() if before is None else before.add_(grad)
    return total.detach()


def _sum_of(grads: list[Tensor | None], at: int, like: Tensor) -> Tensor:
    """Return a gradient that is being summed, starting at zero."""
    found = grads[at]
    if found is None:
        found = grads[at] = torch.zeros_like(like)
    return found
