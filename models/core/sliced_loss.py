"""A loss summed slice by slice: gradients are made in the forward pass, so no [B*T, V] tensor ever exists.

For each slice the loss is computed, differentiated at once and forgotten; only the gradients stay. The backward pass of
the whole then only multiplies them by a number.

    states [B, T, D] --gathered once--> positions [N, D] --slices, views--> [n, D] --> losses [n]

Shapes: B batch rows, T positions, V vocabulary, D width, N positions with a target, n of them in a slice, G batch rows
that a slice comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.backbones.backbone import LinearHead
from bench.models.core.fused_head import FusedHead, Products
from bench.models.core.head import Head, budget, positions_in, sum_dtype
from bench.models.core.states import SliceIndex, States, TokenSlice, at_positions, slice_indices, slice_of

Losses = tuple[Tensor, dict[str, Tensor]]
"""The loss of each position [n], and named parts of it for the log: [n], or a sum."""

PositionLoss = Callable[[TokenSlice], Losses]
HeadLoss = Callable[[TokenSlice, Head], Losses]


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
    return _summed(states, _InGraph(position_loss, parameters), limit)


def summed_by_head(
    states: States,
    head_loss: HeadLoss,
    head: LinearHead,
    parameters: Sequence[Tensor],
    limit: int = 256,
    memory_terms: MemoryTerms | None = None,
) -> LossSum:
    """Sum a loss that sees the head as `Head`, with the matrix products of a linear head done in place.

    Same value and gradient as `summed` over the head's logits, with one [limit, V] buffer and no other.

    Args:
        states: a batch after the backbone, without copying weights.
        head_loss: the loss of each position of a slice, [n].
        head: weight, bias, offset.
        parameters: every parameter `head_loss` may touch besides the head's.
        limit: most positions in a slice.
        memory_terms: what `head_loss` reads as `tokens.memory_terms`, if it does.
    """
    products = Products(head, min(limit, states.targets.numel()))
    extra: tuple[Tensor, ...] = ()  # [N] each
    if memory_terms is not None:
        extra = memory_terms_of(states, memory_terms)
    return _summed(states, _InPlace(head_loss, head, products, parameters), limit, extra)


class _InGraph:
    """How the loss of a slice is computed and differentiated. Here all of it is in autograd's graph.

    Args:
        loss: the loss of each position of a slice.
        parameters: whose gradients `differentiate` adds slice by slice, if they are trained.
    """

    def __init__(self, loss: Callable[..., Losses], parameters: Sequence[Tensor]) -> None:
        self.loss = loss
        self.parameters = [p for p in parameters if p.requires_grad]
        self.head_parameters: list[Tensor] = []  # their gradients are complete only after the last slice

    def losses(self, tokens: TokenSlice) -> Losses:
        """Return the losses of a slice, without gradients."""
        return self.loss(tokens)

    def differentiate(self, tokens: TokenSlice, leaves: Sequence[Tensor], gradients: _Gradients) -> Losses:
        """Write a slice's gradients by its leaves and by parameters to `gradients`; return its losses."""
        losses, parts = self.losses(tokens)
        gradients.add(tokens, _derivatives(losses, [*leaves, *self.parameters]))
        return losses, parts

    def head_gradients(self) -> list[Tensor | None]:
        """Gradients of `head_parameters`, after the last slice."""
        return []


class _InPlace(_InGraph):
    """The loss is in the graph from the log-sum-exp and the columns of the logits on; the head's products are not.

    Autograd gives the gradients by what the loss has read of the head. From them `FusedHead` computes the gradient by
    the logits, and `Products` those by states and head.
    """

    def __init__(self, head_loss: HeadLoss, head: LinearHead, products: Products, parameters: Sequence[Tensor]) -> None:
        super().__init__(head_loss, parameters)
        self.head, self.products = head, products
        self.head_parameters = [head.weight] if head.bias is None else [head.weight, head.bias]

    def losses(self, tokens: TokenSlice) -> Losses:
        return self.loss(tokens, FusedHead(lambda: self.products.logits(tokens.hidden)))

    def differentiate(self, tokens: TokenSlice, leaves: Sequence[Tensor], gradients: _Gradients) -> Losses:
        hidden = tokens.hidden.detach()  # [n, D]
        head = FusedHead(lambda: self.products.logits(hidden))
        losses, parts = self.loss(tokens, head)
        inputs = [*leaves, *head.leaves, *self.parameters]
        found = _derivatives(losses, inputs)
        head_start, head_stop = len(leaves), len(leaves) + len(head.leaves)
        of_logits = head.gradient(found[head_start:head_stop])  # [n, V]
        self.products.backward(hidden, of_logits, gradients.hidden_of(tokens))
        gradients.add(tokens, [*found[:head_start], *found[head_stop:]])
        return losses, parts

    def head_gradients(self) -> list[Tensor | None]:
        if self.head.bias is None:
            return [self.products.of_weight]
        return [self.products.of_weight, self.products.of_bias]


def _derivatives(losses: Tensor, inputs: Sequence[Tensor]) -> Sequence[Tensor | None]:
    """Gradients of the summed losses by each input, None for one that they do not depend on."""
    return torch.autograd.grad(losses, inputs, torch.ones_like(losses), allow_unused=True)


def _summed(states: States, loss: _InGraph, limit: int, extra: tuple[Tensor, ...] = ()) -> LossSum:
    """Sum over all slices, with gradients where they are enabled; `extra` are memory terms, [N] each."""
    cut = slice_indices(states, limit)
    sums = _Sums(sum_dtype(states.hidden), states.hidden.device)
    if torch.is_grad_enabled():
        inputs = [*states.differentiable, *extra, *loss.parameters, *loss.head_parameters]
        total = _InForward.apply(states, cut, loss, sums, len(extra), *inputs)
    else:
        for index in cut:
            terms = tuple(term[index.span] for term in extra)
            sums.add(loss.losses(slice_of(states, index, None, terms)))
        total = sums.total()
    n_tokens = sum(len(index) for index in cut)
    count = torch.full((), n_tokens, dtype=torch.int64, device=states.hidden.device)
    return LossSum(total, count, sums.parts())


class _Sums:
    """Losses of all slices and their named parts, kept as they come and summed once.

    Args:
        dtype: of the sum.
        device: of the sum, where there is no slice.
    """

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._zero = torch.zeros(1, dtype=dtype, device=device)
        self._losses: list[Tensor] = [self._zero]
        self._parts: dict[str, list[Tensor]] = {}

    def add(self, losses: Losses) -> None:
        """Keep the losses of a slice."""
        self._losses.append(losses[0].detach())
        for name, part in losses[1].items():
            self._parts.setdefault(name, []).append(part.detach().reshape(-1))

    def total(self) -> Tensor:
        """Sum of all losses, a scalar."""
        return torch.cat(self._losses).to(self._zero.dtype).sum()

    def parts(self) -> dict[str, Tensor]:
        """Sum of each named part, scalars."""
        return {name: torch.cat(parts).sum() for name, parts in self._parts.items()}


class _InForward(torch.autograd.Function):
    """Differentiate each slice as soon as it is made; the backward pass only scales the gradients."""

    @staticmethod
    def forward(
        ctx: Any, states: States, cut: list[SliceIndex], loss: _InGraph, sums: _Sums, n_terms: int, *inputs: Tensor
    ) -> Tensor:
        detached = states.detached()
        n_states = len(states.differentiable)
        terms = [term.detach() for term in inputs[n_states : n_states + n_terms]]
        gradients = _Gradients(detached, cut, terms, len(loss.parameters))
        for index in cut:
            with torch.enable_grad():
                leaves = gradients.leaves(index)
                tokens = slice_of(detached, index, leaves[:n_states], tuple(leaves[n_states:]))
                sums.add(loss.differentiate(tokens, leaves, gradients))
        ctx.gradients = [*gradients.whole(), *loss.head_gradients()]
        return sums.total()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Any:
        if ctx.gradients is None:
            raise RuntimeError("a loss summed slice by slice can be differentiated once; compute it again")
        for gradient in ctx.gradients:
            if gradient is not None:
                gradient.mul_(scale.to(gradient.dtype))  # in place: one tensor of V x D is enough
        gradients, ctx.gradients = ctx.gradients, None
        return (None, None, None, None, None, *gradients)


class _Gradients:
    """Gradients of all slices, in the order of `_InForward`'s inputs: states, memory, copying, terms, parameters.

    What belongs to positions is gathered before the first slice, so that a slice's share is a view; its gradients are
    written to the same place of a tensor of the same shape. Those of memory and parameters are added up.

    Args:
        states: the batch, outside the graph.
        cut: its slices.
        terms: memory terms of all positions, [N] each.
        n_parameters: how many parameters get gradients slice by slice.
    """

    def __init__(self, states: States, cut: list[SliceIndex], terms: Sequence[Tensor], n_parameters: int) -> None:
        self.states = states
        self.flat = states.targets.new_empty(0)
        if cut:
            self.flat = torch.cat([index.flat for index in cut])  # [N]
        hidden, self.memory, *copying = states.differentiable
        of_states = [at_positions(values, self.flat) for values in (hidden, *copying)]
        self.values = [*of_states, *terms]  # [N, .] hidden states, copying weights if there are any, terms
        self.of_values = [torch.zeros_like(value) for value in self.values]
        self.of_memory: Tensor | None = None  # [B, M, D]
        self.of_parameters: list[Tensor | None] = [None] * n_parameters

    def leaves(self, index: SliceIndex) -> list[Tensor]:
        """Return a slice's share of states, memory, copying and terms, views to be differentiated by."""
        first, *rest = [value[index.span] for value in self.values]
        return [leaf.detach().requires_grad_() for leaf in (first, self.memory[index.batch], *rest)]

    def hidden_of(self, tokens: TokenSlice) -> Tensor:
        """Where the gradient of a slice's hidden states goes, [n, D]."""
        assert tokens.index is not None
        return self.of_values[0][tokens.index.span]

    def add(self, tokens: TokenSlice, gradients: Sequence[Tensor | None]) -> None:
        """Add a slice's gradients: of its leaves, then of parameters; None for one that there is not."""
        assert tokens.index is not None
        first, of_memory, *rest = gradients
        of_values, of_parameters = [first, *rest[: len(self.values) - 1]], rest[len(self.values) - 1 :]
        for whole, gradient in zip(self.of_values, of_values, strict=True):
            if gradient is not None:
                whole[tokens.index.span].add_(gradient)
        if of_memory is not None:
            if self.of_memory is None:
                self.of_memory = torch.zeros_like(self.memory)
            self.of_memory[tokens.index.batch].add_(of_memory)
        for at, gradient in enumerate(of_parameters):
            if gradient is None:
                continue
            before = self.of_parameters[at]
            # The first is copied: autograd may return one tensor for two parameters, or a view of one number.
            self.of_parameters[at] = gradient.clone() if before is None else before.add_(gradient)

    def whole(self) -> list[Tensor | None]:
        """Return all gradients in the shapes of the inputs."""
        hidden, _, *copying = self.states.differentiable
        n_states = 1 + len(copying)
        of_states = [
            torch.zeros_like(values).flatten(0, 1).index_copy_(0, self.flat, gradient).view_as(values)
            for values, gradient in zip((hidden, *copying), self.of_values[:n_states], strict=True)
        ]
        return [of_states[0], self.of_memory, *of_states[1:], *self.of_values[n_states:], *self.of_parameters]


MemoryTerms = Callable[[TokenSlice], tuple[Tensor, ...]]
"""From the memory of a slice to the terms of its positions, [n] each, differentiable by `hidden` and `memory`."""

BYTES = 40
"""About how many bytes a loss over the memory takes for a position and an entry."""


def memory_slice_size(states: States) -> int:
    """Return how many positions a slice over the memory has: a function of the memory's length and kind of device."""
    return positions_in(budget(states.memory), states.memory.shape[1] * BYTES)


def memory_terms_of(states: States, memory_terms: MemoryTerms) -> tuple[Tensor, ...]:
    """Return the terms of all positions that carry a target, [N] each; none where there is no such position.

    A cache method reads its memory through a few numbers of each position, such as the log-sum-exp of the similarities.
    They do not depend on the vocabulary, so they have slices of their own, as large as the memory allows. Autograd
    keeps what their gradients need, a few numbers for each position and entry: less than a layer's attention.

    Args:
        states: a batch after the backbone; gradients flow to `hidden` and `memory`.
        memory_terms: of a slice; it may depend on no parameter.
    """
    cut = slice_indices(states, memory_slice_size(states))
    if not cut:
        return ()
    hidden = at_positions(states.hidden, torch.cat([index.flat for index in cut]))  # [N, D]
    found = [memory_terms(slice_of(states, index, [hidden[index.span], states.memory[index.batch]])) for index in cut]
    return tuple(torch.cat(parts) for parts in zip(*found, strict=True))
