"""Class head: a token's probability as that of its class times its own within the class (F2-Softmax, eq. 2-4).

    p(x | h) = p1(c | h) * p2(x | c, h),   p1 = softmax over classes,   p2 = softmax over the tokens of c alone

Tokens are numbered by rank of falling frequency, so that a class is a run of ranks and its weights are a view. To train
on a target only its class's columns are needed: a share of about 1/K of the vocabulary where classes have equal mass.

Letters: n positions, V tokens, D width, K classes, S tokens of one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["ClassHead", "class_head_loss", "class_log_masses", "class_log_probs", "posterior_log_probs"]

SLICE = 256
"""A buffer of logits holds at most so many rows of the whole vocabulary."""


class ClassHead(NamedTuple):
    """Weights of the head; biases are not in eq. 4 and serve heads that were made from a pretrained softmax."""

    token_weight: Tensor  # [V, D] o of eq. 4, in the order of ranks
    class_weight: Tensor  # [K, D] u of eq. 4
    sizes: tuple[int, ...]  # tokens of each class, from the most frequent class on
    token_bias: Tensor | None = None  # [V]
    class_bias: Tensor | None = None  # [K]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First rank of each class and the first one behind it."""
        return list(pairwise(accumulate(self.sizes, initial=0)))

    def classes(self, ranks: Tensor) -> Tensor:
        """Class of each token."""
        ends = torch.tensor([stop for _, stop in self.spans], device=ranks.device)
        return torch.bucketize(ranks, ends, right=True)


def class_log_probs(hidden: Tensor, head: ClassHead) -> Tensor:
    """Log p1 of eq. 4, [n, D] -> [n, K], in at least float32."""
    return torch.log_softmax(_scores(hidden, head.class_weight, head.class_bias), dim=1)


def class_log_masses(hidden: Tensor, head: ClassHead) -> Tensor:
    """Log of the mass of each class under one softmax over all tokens, [n, D] -> [n, K], up to a shift of each row."""
    parts = _scores(hidden, head.token_weight, head.token_bias).split(head.sizes, dim=1)
    return torch.stack([part.logsumexp(1) for part in parts], dim=1)


def posterior_log_probs(hidden: Tensor, head: ClassHead) -> Tensor:
    """Log p1 + log p2 of every token, eq. 2, [n, D] -> [n, V] by rank, in at least float32; each row sums to one.

    >>> head = ClassHead(torch.zeros(3, 2), torch.zeros(2, 2), sizes=(1, 2))
    >>> posterior_log_probs(torch.ones(1, 2), head).exp()
    tensor([[0.5000, 0.2500, 0.2500]])
    """
    first = class_log_probs(hidden, head).split(1, dim=1)
    parts = _scores(hidden, head.token_weight, head.token_bias).split(head.sizes, dim=1)
    shifts = [log_p1 - part.logsumexp(1, keepdim=True) for log_p1, part in zip(first, parts, strict=True)]
    return torch.cat([part + shift for part, shift in zip(parts, shifts, strict=True)], dim=1)


def class_head_loss(hidden: Tensor, ranks: Tensor, head: ClassHead) -> tuple[Tensor, dict[str, Tensor]]:
    """Sum of -log p1 - log p2 over targets, eq. 3, from the columns of each target's own class.

    Positions are sorted by class; each class takes one product for its logits and two for its gradient, which is made
    at once and written into a view of one [V, D] buffer. Beside it there is one buffer of logits, never larger than
    256 rows of the vocabulary. Gradients can be taken once. Under autocast products run in its type, all else in
    float32.

    Args:
        hidden: [n, D] states.
        ranks: [n] targets, by rank.
        head: weights; those that need no gradient get none.

    Returns:
        The sum in nats, and its two parts, detached: `class` is -log p1, `token` is -log p2.
    """
    weights = (hidden, head.token_weight, head.class_weight, head.token_bias, head.class_bias)
    if torch.is_grad_enabled():
        total, of_class, of_token = _InForward.apply(ranks, head.sizes, *weights)
    else:
        _, of_class, of_token = _sums(hidden, ranks, head, [False] * 5)
        total = of_class + of_token
    return total, {"class": of_class, "token": of_token}


def _scores(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Products with the rows of a matrix, in at least float32."""
    scores = torch.nn.functional.linear(hidden, weight, bias)
    return scores if scores.dtype == torch.float64 else scores.float()


class _InForward(torch.autograd.Function):
    """Gradients are made with the loss; backward only scales them."""

    @staticmethod
    def forward(ctx: Any, ranks: Tensor, sizes: tuple[int, ...], *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        hidden, token_weight, class_weight, token_bias, class_bias = inputs
        head = ClassHead(token_weight, class_weight, sizes, token_bias, class_bias)
        ctx.grads, of_class, of_token = _sums(hidden, ranks, head, ctx.needs_input_grad[2:])
        ctx.mark_non_differentiable(of_class, of_token)
        return of_class + of_token, of_class, of_token

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, *unused: Tensor) -> Any:
        if ctx.grads is None:
            raise RuntimeError("the loss of a class head can be differentiated once; compute it again")
        grads = [None if g is None else g.mul_(scale.to(g.dtype)) for g in ctx.grads]  # in place: one V x D is enough
        ctx.grads = None
        return (None, None, *grads)


class _Layer(NamedTuple):
    """One linear layer under a softmax: its parameters, and where their gradients go if they are wanted."""

    weight: Tensor  # [S, D]
    bias: Tensor | None  # [S]
    of_weight: Tensor | None
    of_bias: Tensor | None

    def part(self, start: int, stop: int) -> _Layer:
        """Views of some of its columns."""
        return _Layer(*(None if t is None else t[start:stop] for t in self))  # type: ignore[arg-type]


def _sums(
    hidden: Tensor, ranks: Tensor, head: ClassHead, wanted: Sequence[bool]
) -> tuple[list[Tensor | None], Tensor, Tensor]:
    """Gradients of the loss by hidden, both weights and both biases, and the sums of -log p1 and of -log p2."""
    inputs = (hidden, head.token_weight, head.class_weight, head.token_bias, head.class_bias)
    grads = [torch.empty_like(t) if t is not None and need else None for t, need in zip(inputs, wanted, strict=True)]
    token_layer = _Layer(head.token_weight, head.token_bias, grads[1], grads[3])
    class_layer = _Layer(head.class_weight, head.class_bias, grads[2], grads[4])

    classes = head.classes(ranks)
    counts: list[int] = classes.bincount(minlength=len(head.sizes)).tolist()
    order = classes.argsort(stable=True)
    classes, ranks = classes[order], ranks[order]
    states = hidden.index_select(0, order).to(_product_type(head.token_weight))
    kept = torch.float64 if states.dtype == torch.float64 else torch.float32
    largest = max(n * size for n, size in zip((len(ranks), *counts), (len(counts), *head.sizes), strict=True))
    buffer = states.new_empty(max(len(counts), *head.sizes, min(largest, SLICE * len(head.token_weight))), dtype=kept)
    of_states = None if grads[0] is None else torch.empty_like(states, dtype=kept)

    of_class = _cross_entropy(states, classes, class_layer, of_states, buffer)
    of_token = torch.zeros_like(of_class)
    at = 0
    for (start, stop), n in zip(head.spans, counts, strict=True):
        here, layer = slice(at, at + n), token_layer.part(start, stop)
        there = None if of_states is None else of_states[here]
        of_token += _cross_entropy(states[here], ranks[here] - start, layer, there, buffer, more=True)
        at += n
    if of_states is not None:
        grads[0] = torch.empty_like(hidden).index_copy_(0, order, of_states.to(hidden.dtype))
    return grads, of_class, of_token


def _cross_entropy(
    states: Tensor, targets: Tensor, layer: _Layer, of_states: Tensor | None, buffer: Tensor, more: bool = False
) -> Tensor:
    """Sum of -log softmax at the targets; writes the gradients of a layer, and writes or adds (`more`) that of states.

    Args:
        states: [n, D] in the type of the products; n may be 0.
        targets: [n] columns of the layer.
        of_states: [n, D], or None where no gradient is wanted.
        buffer: where logits and then their gradient are kept, one row at least.
    """
    total, size = buffer.new_zeros(()), len(layer.weight)
    weight = layer.weight.to(states.dtype)
    rows = len(buffer) // size
    for at in range(0, len(states), rows):
        here, index = states[at : at + rows], targets[at : at + rows, None]
        z = buffer[: len(here) * size].view(len(here), size)
        _product(z, here, weight.t())
        if layer.bias is not None:
            z.add_(layer.bias)
        z.sub_(z.amax(1, keepdim=True))
        logits = z.gather(1, index)
        mass = z.exp_().sum(1, keepdim=True)
        total += (mass.log() - logits).sum()
        z.div_(mass).scatter_add_(1, index, -torch.ones_like(mass))  # softmax - one-hot, the gradient of the logits
        narrow = z.to(states.dtype)
        if of_states is not None:
            _product(of_states[at : at + rows], narrow, weight, more)
        if layer.of_weight is not None:
            _product(layer.of_weight, narrow.t(), here, more=at > 0)
        if layer.of_bias is not None:
            layer.of_bias.copy_(z.sum(0) + (layer.of_bias if at else 0.0))
    if not len(states):
        for gradient in (layer.of_weight, layer.of_bias):
            if gradient is not None:
                gradient.zero_()
    return total


def _product(out: Tensor, left: Tensor, right: Tensor, more: bool = False) -> None:
    """Write or add (`more`) a matrix product."""
    if out.dtype == left.dtype:
        out.addmm_(left, right, beta=1.0 if more else 0.0)
    else:
        out.copy_(left @ right + (out if more else 0.0))


def _product_type(weight: Tensor) -> torch.dtype:
    """The type of the matrix products: autocast's, or that of the weights."""
    kind = weight.device.type
    cast = torch.is_autocast_enabled(kind) and weight.dtype != torch.float64
    return torch.get_autocast_dtype(kind) if cast else weight.dtype
