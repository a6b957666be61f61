"""A loss summed slice by slice: gradients are made in the forward pass, so no [B*T, V] tensor ever exists.

For each slice the loss is computed, differentiated at once and forgotten; only the sums of the gradients stay. The
backward pass of the whole then only multiplies these sums by a number.

Shapes: B batch rows, T positions, V vocabulary, D width, n positions of a slice, G x P the rectangle of a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.backbones.backbone import LinearHead
from bench.models.core.head import FusedHead, Head, Products, sum_dtype
from bench.models.core.states import IGNORED, Block, Rows, States, blocks, parts_of, rows_of

Losses = tuple[Tensor, dict[str, Tensor]]
"""The loss of each position [n], and sums of named parts of it for the log."""

PositionLoss = Callable[[Rows], Losses]
HeadLoss = Callable[[Rows, Head], Losses]


@dataclass(frozen=True)
class LossSum:
    """A loss before it is divided: the one denominator is target tokens, summed over ranks and micro-batches."""

    total: Tensor  # scalar, a sum over target tokens
    n_target_tokens: Tensor  # scalar, int64
    terms: dict[str, Tensor] = field(default_factory=dict)  # named sums, detached


def summed(states: States, position_loss: PositionLoss, parameters: Sequence[Tensor], limit: int = 256) -> LossSum:
    """Sum `position_loss` over all positions that carry a target, at most `limit` at a time.

    Args:
        states: a batch after the backbone; gradients flow to `hidden`, `memory` and `copying`.
        position_loss: the loss of each position of a slice, [n].
        parameters: every parameter `position_loss` may touch (head, own parameters).
        limit: most positions in a slice; bounds memory to a few times limit x V.
    """
    return _summed(states, _LogitsInGraph(position_loss, parameters), limit)


def summed_by_head(
    states: States, head_loss: HeadLoss, head: LinearHead, parameters: Sequence[Tensor], limit: int = 256
) -> LossSum:
    """Sum a loss that sees the head as `Head`, with the matrix products of a linear head done in place.

    Same value and gradient as `summed` over the head's logits, with one [limit, V] buffer and no other.

    Args:
        states: a batch after the backbone, without copying weights.
        head_loss: the loss of each position of a slice, [n].
        head: weight, bias, offset.
        parameters: every parameter `head_loss` may touch besides the head's.
        limit: most positions in a slice.
    """
    products = Products(head, min(limit, states.targets.numel()))
    return _summed(states, _LogitsInPlace(head_loss, head, products, parameters), limit)


class _SliceLoss(Protocol):
    """How one slice's loss is computed and differentiated."""

    parameters: list[Tensor]  # trained parameters whose gradients `differentiate` adds slice by slice
    head_parameters: list[Tensor]  # parameters whose gradients are complete only after the last slice

    def losses(self, rows: Rows) -> Losses:
        """The loss without gradients."""

    def differentiate(self, states: States, block: Block, gradients: _GradientSums) -> tuple[Tensor, dict[str, Tensor]]:
        """Add a slice's gradients to `gradients`; return its summed loss, detached, and the sums of its parts."""

    def head_gradients(self) -> list[Tensor | None]:
        """Gradients of `head_parameters`, after the last slice."""


class _LogitsInGraph:
    """The whole loss of a slice is in the graph; autograd gives every gradient."""

    def __init__(self, position_loss: PositionLoss, parameters: Sequence[Tensor]) -> None:
        self.losses = position_loss
        self.parameters = [p for p in parameters if p.requires_grad]
        self.head_parameters: list[Tensor] = []

    def differentiate(self, states: States, block: Block, gradients: _GradientSums) -> tuple[Tensor, dict[str, Tensor]]:
        with torch.enable_grad():
            leaves = [part.detach().requires_grad_() for part in parts_of(states, block)]
            losses, terms = self.losses(rows_of(states, block, leaves))
            total = losses.to(sum_dtype(states.hidden)).sum()
            of_inputs = torch.autograd.grad(total, [*leaves, *self.parameters], allow_unused=True)
        gradients.add(block, of_inputs)
        return total.detach(), terms

    def head_gradients(self) -> list[Tensor | None]:
        return []


class _LogitsInPlace:
    """The loss is in the graph from the log-sum-exp and the columns of the logits on; the head's products are not.

    Autograd gives the gradients of what the loss asked of the head, `FusedHead` makes of them the gradient of the
    logits, `Products` those of states and head.
    """

    def __init__(self, head_loss: HeadLoss, head: LinearHead, products: Products, parameters: Sequence[Tensor]) -> None:
        self.head_loss, self.head, self.products = head_loss, head, products
        self.parameters = [p for p in parameters if p.requires_grad]
        self.head_parameters = [head.weight]
        if head.bias is not None:
            self.head_parameters.append(head.bias)

    def losses(self, rows: Rows) -> Losses:
        return self.head_loss(rows, FusedHead(self.products.logits(rows.hidden)))

    def differentiate(self, states: States, block: Block, gradients: _GradientSums) -> tuple[Tensor, dict[str, Tensor]]:
        with torch.enable_grad():
            leaves = [part.detach().requires_grad_() for part in parts_of(states, block)]
            rows = rows_of(states, block, leaves)
            hidden = rows.hidden.detach()  # [n, D]
            head = FusedHead(self.products.logits(hidden))
            losses, terms = self.head_loss(rows, head)
            total = losses.to(sum_dtype(states.hidden)).sum()
            inputs = [*leaves, *head.leaves, *self.parameters]
            of_inputs = list(torch.autograd.grad(total, inputs, allow_unused=True))
        head_start, head_stop = len(leaves), len(leaves) + len(head.leaves)
        of_logits = head.gradient(of_inputs[head_start:head_stop])  # [n, V]
        gradients.add_positions(block, self.products.backward(hidden, of_logits))
        gradients.add(block, [*of_inputs[:head_start], *of_inputs[head_stop:]])
        return total.detach(), terms

    def head_gradients(self) -> list[Tensor | None]:
        if self.head.bias is None:
            return [self.products.of_weight]
        return [self.products.of_weight, self.products.of_bias]


def _summed(states: States, loss: _SliceLoss, limit: int) -> LossSum:
    """Sum over all slices, with gradients where they are enabled."""
    terms: dict[str, Tensor] = {}
    n_tokens = (states.targets != IGNORED).sum()
    if torch.is_grad_enabled():
        inputs = [*states.differentiable, *loss.parameters, *loss.head_parameters]
        total = _InForward.apply(states, loss, limit, terms, *inputs)
    else:
        total = states.hidden.new_zeros((), dtype=sum_dtype(states.hidden))
        for block in blocks(states.targets, limit):
            losses, parts = loss.losses(rows_of(states, block))
            total = total + losses.to(total.dtype).sum()
            _add_terms(terms, parts)
    return LossSum(total, n_tokens, terms)


def _add_terms(terms: dict[str, Tensor], parts: dict[str, Tensor]) -> None:
    """Add the named sums of a slice to those of the slices before."""
    for name, value in parts.items():
        if name in terms:
            terms[name] = terms[name] + value.detach()
        else:
            terms[name] = value.detach()


class _InForward(torch.autograd.Function):
    """Differentiate each slice as soon as it is made; the backward pass only scales the gradients."""

    @staticmethod
    def forward(
        ctx: Any, states: States, loss: _SliceLoss, limit: int, terms: dict[str, Tensor], *inputs: Tensor
    ) -> Tensor:
        detached = states.detached()
        gradients = _GradientSums(detached, len(inputs) - len(loss.head_parameters))
        total = states.hidden.new_zeros((), dtype=sum_dtype(states.hidden))
        for block in blocks(states.targets, limit):
            slice_total, parts = loss.differentiate(detached, block, gradients)
            total = total + slice_total
            _add_terms(terms, parts)
        ctx.gradients = [*gradients.sums, *loss.head_gradients()]
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Any:
        if ctx.gradients is None:
            raise RuntimeError("a loss summed slice by slice can be differentiated once; compute it again")
        for gradient in ctx.gradients:
            if gradient is not None:
                gradient.mul_(scale.to(gradient.dtype))  # in place: one tensor of V x D is enough
        gradients, ctx.gradients = ctx.gradients, None
        return (None, None, None, None, *gradients)


class _GradientSums:
    """Gradients summed over slices: of hidden states, memory, copying weights if there are any, then parameters.

    Args:
        states: the batch.
        n_inputs: of tensors of the batch and parameters together.
    """

    def __init__(self, states: States, n_inputs: int) -> None:
        self.differentiable = states.differentiable
        self.sums: list[Tensor | None] = [torch.zeros_like(states.hidden), *[None] * (n_inputs - 1)]

    def add(self, block: Block, gradients: Sequence[Tensor | None]) -> None:
        """Add a slice's gradients, in the order of `sums`: those of `parts_of`, then those of parameters."""
        for at, gradient in enumerate(gradients):
            if gradient is None:
                continue
            if at == 1:  # [G, M, D] of the memory
                self._sum_of(at)[block.batch] += gradient.to(self.differentiable[at].dtype)
            elif at < len(self.differentiable):
                self._add_grid(at, block, gradient)
            else:
                self._add_parameter(at, gradient)

    def add_positions(self, block: Block, gradient: Tensor) -> None:
        """Add a gradient of the hidden states of a slice's positions, [n, D]."""
        groups, width = block.positions.shape
        grid = gradient.new_zeros((groups * width, gradient.shape[1])).index_copy_(0, block.kept, gradient)
        self._add_grid(0, block, grid.view(groups, width, -1))

    def _add_parameter(self, at: int, gradient: Tensor) -> None:
        """Add a parameter's gradient to a copy of its first.

        Autograd may return one tensor for two parameters, or a view of one number: neither can be added to.
        """
        before = self.sums[at]
        if before is None:
            self.sums[at] = gradient.clone()
        else:
            before.add_(gradient)

    def _add_grid(self, at: int, block: Block, grid: Tensor) -> None:
        """Add a rectangle [G, P, .]; it is zero at places without a target."""
        index = block.positions[:, :, None].expand_as(grid)
        self._sum_of(at)[block.batch].scatter_add_(1, index, grid.to(self.differentiable[at].dtype))

    def _sum_of(self, at: int) -> Tensor:
        """The sum of a tensor of the batch, zeros at first."""
        total = self.sums[at]
        if total is None:
            total = self.sums[at] = torch.zeros_like(self.differentiable[at])
        return total
