"""Memory terms: what a loss needs of the memory, computed for all positions before the slices over the vocabulary.

A cache method reads its memory through a few numbers of each position, such as the log-sum-exp of the similarities.
They do not depend on the vocabulary. So they have slices of their own, as large as the memory allows, and the slices
over the vocabulary read them as `tokens.memory_terms`. The backward pass differentiates the graph of each slice where
all of them are small enough to be kept. Otherwise only the [N] numbers are kept; the backward pass computes the
similarities again, and finds what was computed in the forward pass in `tokens.memory_terms`.

Shapes: N positions of a batch that carry a target, n of them in a slice, M memory entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.core.head import budget, positions_in, sum_dtype
from bench.models.core.states import SliceIndex, States, TokenSlice, at_positions, slice_indices_of, slice_of

MemoryTerms = Callable[[TokenSlice], tuple[Tensor, ...]]
"""From the memory of a slice to the terms of its positions, [n] each, differentiable by `hidden` and `memory`."""

BYTES = 40
"""About how many bytes a loss over the memory takes for a position and an entry."""


def memory_slice_size(states: States) -> int:
    """Return how many positions a slice over the memory has: a function of the memory's length and kind of device."""
    return positions_in(budget(states.memory), states.memory.shape[1] * BYTES)


def memory_terms_of(states: States, memory_terms: MemoryTerms, n_bytes: int) -> tuple[Tensor, ...]:
    """Return the terms of all positions that carry a target, [N] each; none where there is no such position.

    Args:
        states: a batch after the backbone; gradients flow to `hidden` and `memory`.
        memory_terms: of a slice; it may depend on no parameter.
        n_bytes: bytes that may be kept for the backward pass.
    """
    cut = states.on_cpu().once(slice_indices_of, memory_slice_size(states))
    if not cut:
        return ()
    keep = torch.is_grad_enabled() and _fits(states, cut, n_bytes)
    terms: tuple[Tensor, ...] = _InSlices.apply(states, cut, memory_terms, keep, states.hidden, states.memory)
    return terms


def _fits(states: States, cut: list[SliceIndex], n_bytes: int) -> bool:
    """Whether the graphs of all slices may be kept: a number for each position and entry, and two copies of a state."""
    numbers = sum(map(len, cut)) * (states.memory.shape[1] + 2 * states.hidden.shape[2])
    return numbers * sum_dtype(states.hidden).itemsize <= n_bytes


@dataclass(frozen=True)
class _Graph:
    """Terms of a slice, [n] each, and what they are differentiated by."""

    terms: tuple[Tensor, ...]
    hidden: Tensor  # [n, D]
    memory: Tensor  # [G, M, D]


class _InSlices(torch.autograd.Function):
    """Terms of each slice in turn; the backward pass differentiates the graphs that were kept, or makes them again."""

    @staticmethod
    def forward(
        ctx: Any, states: States, cut: list[SliceIndex], memory_terms: MemoryTerms, keep: bool, *_: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.states, ctx.cut, ctx.memory_terms, ctx.cpu = states.detached(), cut, memory_terms, states.on_cpu()
        ctx.graphs = []
        if keep:
            ctx.graphs = [_graph(ctx, index, ()) for index in cut]
            found = [graph.terms for graph in ctx.graphs]
        else:
            found = [memory_terms(slice_of(ctx.states, index, None, (), ctx.cpu)) for index in cut]
        terms = tuple(torch.cat(parts).detach() for parts in zip(*found, strict=True))
        ctx.save_for_backward(*terms)
        return terms

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *of_terms: Tensor) -> Any:
        states: States = ctx.states
        graphs, ctx.graphs = ctx.graphs, []
        of_hidden, of_memory = [], torch.zeros_like(states.memory)
        for at, index in enumerate(ctx.cut):
            if graphs:
                graph = graphs[at]
            else:
                graph = _graph(ctx, index, tuple(term[index.span] for term in ctx.saved_tensors))
            given = [gradient[index.span] for gradient in of_terms]
            inputs = [graph.hidden, graph.memory]
            found = torch.autograd.grad(graph.terms, inputs, given, allow_unused=True, materialize_grads=True)
            of_hidden.append(found[0])
            of_memory[index.batch].add_(found[1])
        flat = torch.cat([index.flat for index in ctx.cut])  # [N]
        whole = torch.zeros_like(states.hidden).flatten(0, 1).index_copy_(0, flat, torch.cat(of_hidden))
        return None, None, None, None, whole.view_as(states.hidden), of_memory


def _graph(ctx: Any, index: SliceIndex, known: tuple[Tensor, ...]) -> _Graph:
    """Compute the terms of a slice with their graph.

    Args:
        ctx: of `_InSlices`.
        index: the slice.
        known: its terms, when only gradients are wanted.
    """
    states: States = ctx.states
    with torch.enable_grad():
        hidden = at_positions(states.hidden, index.flat).requires_grad_()
        memory = states.memory[index.batch].detach().requires_grad_()
        terms = ctx.memory_terms(slice_of(states, index, [hidden, memory], known, ctx.cpu))
    return _Graph(terms, hidden, memory)
