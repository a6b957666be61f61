"""A loss summed slice by slice: gradients are made in the forward pass, so no [B*T, V] tensor ever exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.backbones.backbone import LinearHead
from bench.models.core.head import FusedHead, Head, Products
from bench.models.core.states import Block, Rows, States, blocks, parts_of, rows_of

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
    used = [p for p in parameters if p.requires_grad]

    def slice_loss(states: States, block: Block, grads: _Grads, terms: dict[str, Tensor]) -> Tensor:
        with torch.enable_grad():
            leaves = [part.detach().requires_grad_() for part in parts_of(states, block)]
            losses, parts = position_loss(rows_of(states, block, leaves))
            total = losses.to(_sum_type(states.hidden)).sum()
            found = torch.autograd.grad(total, [*leaves, *used], allow_unused=True)
        grads.add(block, found)
        _add(terms, parts)
        return total.detach()

    return _run(states, slice_loss, position_loss, used, limit)


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
    own = [p for p in parameters if p.requires_grad]

    def slice_loss(states: States, block: Block, grads: _Grads, terms: dict[str, Tensor]) -> Tensor:
        with torch.enable_grad():
            leaves = [part.detach().requires_grad_() for part in parts_of(states, block)]
            rows = rows_of(states, block, leaves)
            hidden = rows.hidden.detach()
            seen = FusedHead(products.logits(hidden))
            losses, parts = head_loss(rows, seen)
            total = losses.to(_sum_type(states.hidden)).sum()
            wanted = [*leaves, *seen.leaves, *own]
            found = list(torch.autograd.grad(total, wanted, allow_unused=True))
        at = len(leaves), len(leaves) + len(seen.leaves)
        of_hidden = products.backward(hidden, seen.gradient(found[at[0] : at[1]]))
        grads.add_positions(block, of_hidden)
        grads.add(block, [*found[: at[0]], *found[at[1] :]])
        _add(terms, parts)
        return total.detach()

    def finish(grads: _Grads) -> list[Tensor | None]:
        return [products.of_weight, *([] if head.bias is None else [products.of_bias])]

    trained = [head.weight, *([] if head.bias is None else [head.bias])]

    def plain_loss(rows: Rows) -> Losses:
        return head_loss(rows, FusedHead(products.logits(rows.hidden)))

    return _run(states, slice_loss, plain_loss, own, limit, trained, finish)


SliceLoss = Callable[[States, Block, "_Grads", dict[str, Tensor]], Tensor]


def _run(
    states: States,
    slice_loss: SliceLoss,
    plain_loss: PositionLoss,
    parameters: Sequence[Tensor],
    limit: int,
    more: Sequence[Tensor] = (),
    finish: Callable[[_Grads], list[Tensor | None]] = lambda grads: [],
) -> LossSum:
    """Sum over slices: with gradients `slice_loss`, else `plain_loss`; `finish` gives the gradients of `more`."""
    terms: dict[str, Tensor] = {}
    n_tokens = (states.targets != -100).sum()
    if torch.is_grad_enabled():
        total = _InForward.apply(states, slice_loss, limit, terms, finish, len(more), *states.differentiable,
                                 *parameters, *more)  # fmt: skip
    else:
        total = states.hidden.new_zeros((), dtype=_sum_type(states.hidden))
        for block in blocks(states.targets, limit):
            losses, parts = plain_loss(rows_of(states, block))
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
        ctx: Any,
        states: States,
        slice_loss: SliceLoss,
        limit: int,
        terms: dict[str, Tensor],
        finish: Callable[[_Grads], list[Tensor | None]],
        n_more: int,
        *inputs: Tensor,
    ) -> Tensor:
        plain = states.detached()
        grads = _Grads(plain, len(inputs) - n_more)
        total = states.hidden.new_zeros((), dtype=_sum_type(states.hidden))
        for block in blocks(states.targets, limit):
            total = total + slice_loss(plain, block, grads, terms)
        ctx.grads = [*grads.found, *finish(grads)]
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Any:
        if ctx.grads is None:
            raise RuntimeError("a loss summed slice by slice can be differentiated once; compute it again")
        grads = [None if g is None else g.mul_(scale.to(g.dtype)) for g in ctx.grads]  # in place: one V x D is enough
        ctx.grads = None
        return (None, None, None, None, None, None, *grads)


class _Grads:
    """Gradients that are being summed over slices: hidden, memory, copying weights if any, then parameters."""

    def __init__(self, states: States, n: int) -> None:
        self.like = states.differentiable
        self.found: list[Tensor | None] = [torch.zeros_like(states.hidden), *(None for _ in range(n - 1))]

    def add(self, block: Block, found: Sequence[Tensor | None]) -> None:
        """Add one slice's gradients: of its rectangles and memory, then of parameters."""
        for at, grad in enumerate(found):
            if grad is None:
                continue
            if at == 1:
                self._sum_of(at)[block.batch] += grad.to(self.like[at].dtype)
            elif at < len(self.like):
                self._add_grid(at, block, grad)
            else:
                before = self.found[at]
                # Autograd may hand out one tensor for two parameters, or a view of one number: neither can be added to.
                self.found[at] = grad.clone() if before is None else before.add_(grad)

    def add_positions(self, block: Block, grad: Tensor) -> None:
        """Add a gradient of the hidden states of a slice's positions, [n, D]."""
        groups, width = block.positions.shape
        grid = grad.new_zeros((groups * width, grad.shape[1])).index_copy_(0, block.kept, grad)
        self._add_grid(0, block, grid.view(groups, width, -1))

    def _add_grid(self, at: int, block: Block, grid: Tensor) -> None:
        """Add a rectangle; cells that are not kept hold zeros."""
        index = block.positions[:, :, None].expand_as(grid)
        self._sum_of(at)[block.batch].scatter_add_(1, index, grid.to(self.like[at].dtype))

    def _sum_of(self, at: int) -> Tensor:
        found = self.found[at]
        if found is None:
            found = self.found[at] = torch.zeros_like(self.like[at])
        return found
