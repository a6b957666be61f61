"""Class head: a token's probability as that of its class times its own within the class (F2-Softmax, eq. 2-4).

    p(x | h) = p1(c | h) * p2(x | c, h),   p1 = softmax over classes,   p2 = softmax over the tokens of c alone

Tokens are numbered by rank of falling frequency, so that a class is a run of ranks and its weights are a view. To train
on a target only its class's columns are needed, a small part of the vocabulary. torch's adaptive softmax has another
tree of classes; this head takes 0.09 to 0.17 times as long as one over all tokens.

Shapes: n positions, V tokens, D width, K classes, S tokens of a class. In names, `of_x` is the gradient of the loss by
x, but for `of_class` and `of_token`, the two parts of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bench.models.core.head import product_dtype, sum_dtype

SLICE = 256
"""The buffer of logits has room for at most so many rows of the whole vocabulary."""


class ClassHead(NamedTuple):
    """Weights of the head. Biases are not in eq. 4; heads that start from a pretrained softmax have them."""

    token_weight: Tensor  # [V, D] o of eq. 4, in the order of ranks
    class_weight: Tensor  # [K, D] u of eq. 4
    sizes: tuple[int, ...]  # tokens of each class, from the most frequent class on
    token_bias: Tensor | None = None  # [V]
    class_bias: Tensor | None = None  # [K]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First rank of each class, and the first rank behind it."""
        return list(pairwise(accumulate(self.sizes, initial=0)))

    def classes(self, ranks: Tensor) -> Tensor:
        """Class of each rank, any shape."""
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
    class_log_p = class_log_probs(hidden, head).split(1, dim=1)  # K of [n, 1]
    parts = _scores(hidden, head.token_weight, head.token_bias).split(head.sizes, dim=1)  # K of [n, S]
    shifts = [log_p1 - part.logsumexp(1, keepdim=True) for log_p1, part in zip(class_log_p, parts, strict=True)]
    return torch.cat([part + shift for part, shift in zip(parts, shifts, strict=True)], dim=1)


def class_head_loss(
    hidden: Tensor, ranks: Tensor, head: ClassHead, counts: Sequence[int] | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Sum of -log p1 - log p2 over targets, eq. 3, from the columns of each target's own class.

    Positions are sorted by class. Each class takes one product for its logits and two for their gradient, which is made
    at once and written into a view of one [V, D] buffer. A second buffer holds logits, at most 256 rows of the
    vocabulary. Gradients can be taken once. Under autocast the products run in its type, all else in float32.

    Args:
        hidden: [n, D] states.
        ranks: [n] targets, by rank.
        head: weights; those that need no gradient get none.
        counts: [K] targets of each class; without them the ranks are looked at, and on a GPU that waits for it.

    Returns:
        The sum in nats, and its two parts, detached: `class` is -log p1, `token` is -log p2.
    """
    weights = (hidden, head.token_weight, head.class_weight, head.token_bias, head.class_bias)
    if counts is None:
        counts = head.classes(ranks).bincount(minlength=len(head.sizes)).tolist()
    if torch.is_grad_enabled():
        total, of_class, of_token = _InForward.apply(ranks, head.sizes, counts, *weights)
    else:
        _, of_class, of_token = _sums(hidden, ranks, head, counts, [False] * 5)
        total = of_class + of_token
    return total, {"class": of_class, "token": of_token}


def _scores(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Products of states [n, D] with the rows of a matrix, in at least float32."""
    scores = torch.nn.functional.linear(hidden, weight, bias)
    if scores.dtype == torch.float64:
        return scores
    return scores.float()


class _InForward(torch.autograd.Function):
    """Gradients are made with the loss; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any, ranks: Tensor, sizes: tuple[int, ...], counts: Sequence[int], *inputs: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        hidden, token_weight, class_weight, token_bias, class_bias = inputs
        head = ClassHead(token_weight, class_weight, sizes, token_bias, class_bias)
        ctx.grads, of_class, of_token = _sums(hidden, ranks, head, counts, ctx.needs_input_grad[3:])
        ctx.mark_non_differentiable(of_class, of_token)
        return of_class + of_token, of_class, of_token

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor, *unused: Tensor) -> Any:
        if ctx.grads is None:
            raise RuntimeError("the loss of a class head can be differentiated once; compute it again")
        for gradient in ctx.grads:
            if gradient is not None:
                gradient.mul_(scale.to(gradient.dtype))  # in place: one tensor of V x D is enough
        grads, ctx.grads = ctx.grads, None
        return (None, None, None, *grads)


class _Layer(NamedTuple):
    """A linear layer under a softmax: its parameters, and where their gradients are written if they are wanted."""

    weight: Tensor  # [S, D]
    bias: Tensor | None  # [S]
    of_weight: Tensor | None  # [S, D]
    of_bias: Tensor | None  # [S]

    def part(self, start: int, stop: int) -> _Layer:
        """The layer of the columns from `start` to `stop`, as views."""
        return _Layer(*(_part(values, start, stop) for values in self))  # type: ignore[arg-type]


def _part(values: Tensor | None, start: int, stop: int) -> Tensor | None:
    if values is None:
        return None
    return values[start:stop]


def _room(values: Tensor | None, wanted: bool) -> Tensor | None:
    """Memory for the gradient of a tensor, None where there is no tensor or its gradient is not wanted."""
    if values is None or not wanted:
        return None
    return torch.empty_like(values)


def _sums(
    hidden: Tensor, ranks: Tensor, head: ClassHead, counts: Sequence[int], wanted: Sequence[bool]
) -> tuple[list[Tensor | None], Tensor, Tensor]:
    """Gradients of the loss by hidden, both weights and both biases, and the sums of -log p1 and of -log p2.

    Args:
        hidden: [n, D] states.
        ranks: [n] targets, by rank.
        head: weights.
        counts: [K] targets of each class.
        wanted: whether each of the five gradients is.
    """
    inputs = (hidden, head.token_weight, head.class_weight, head.token_bias, head.class_bias)
    grads = [_room(values, want) for values, want in zip(inputs, wanted, strict=True)]
    token_layer = _Layer(head.token_weight, head.token_bias, grads[1], grads[3])
    class_layer = _Layer(head.class_weight, head.class_bias, grads[2], grads[4])

    classes = head.classes(ranks)  # [n]
    order = classes.argsort(stable=True)
    classes, ranks = classes[order], ranks[order]
    states = hidden.index_select(0, order).to(product_dtype(head.token_weight))  # [n, D]
    buffer = states.new_empty(_buffer_size(counts, head), dtype=sum_dtype(states))
    of_states = None
    if grads[0] is not None:
        of_states = torch.empty_like(states, dtype=buffer.dtype)

    of_class = _cross_entropy(states, classes, class_layer, of_states, buffer)
    of_token = torch.zeros_like(of_class)
    first = 0
    for (start, stop), n in zip(head.spans, counts, strict=True):
        last = first + n  # this class's targets are first:last of the sorted positions
        columns = ranks[first:last] - start
        layer, of_part = token_layer.part(start, stop), _part(of_states, first, last)
        of_token += _cross_entropy(states[first:last], columns, layer, of_part, buffer, add=True)
        first = last
    if of_states is not None:
        grads[0] = torch.empty_like(hidden).index_copy_(0, order, of_states.to(hidden.dtype))
    return grads, of_class, of_token


def _buffer_size(counts: Sequence[int], head: ClassHead) -> int:
    """Numbers the buffer of logits holds: those of the largest layer, but at most `SLICE` rows of the vocabulary."""
    class_logits = sum(counts) * len(head.sizes)
    token_logits = [n * size for n, size in zip(counts, head.sizes, strict=True)]
    largest = max(class_logits, *token_logits)
    one_row = max(len(head.sizes), *head.sizes)
    return max(one_row, min(largest, SLICE * len(head.token_weight)))


def _cross_entropy(
    states: Tensor, targets: Tensor, layer: _Layer, of_states: Tensor | None, buffer: Tensor, add: bool = False
) -> Tensor:
    """Sum of -log softmax at the targets, a scalar; writes the gradients of the layer and of the states.

    Args:
        states: [n, D] in the type of the products; n may be 0.
        targets: [n] columns of the layer.
        layer: S columns.
        of_states: [n, D], or None where no gradient is wanted.
        buffer: memory for logits, then for their gradient; at least S numbers.
        add: whether the gradient of the states is added to what `of_states` holds.
    """
    total, size = buffer.new_zeros(()), len(layer.weight)
    weight = layer.weight.to(states.dtype)
    rows = len(buffer) // size
    for start in range(0, len(states), rows):
        part, index = states[start : start + rows], targets[start : start + rows, None]
        z = buffer[: len(part) * size].view(len(part), size)  # logits; from here on all in place
        _product(z, part, weight.t())
        if layer.bias is not None:
            z.add_(layer.bias)
        z.sub_(z.amax(1, keepdim=True))
        at_target = z.gather(1, index)
        mass = z.exp_().sum(1, keepdim=True)
        total += (mass.log() - at_target).sum()
        z.div_(mass).scatter_add_(1, index, -torch.ones_like(mass))  # softmax - one-hot, the gradient of the logits
        of_logits = z.to(states.dtype)
        if of_states is not None:
            _product(of_states[start : start + rows], of_logits, weight, add)
        if layer.of_weight is not None:
            _product(layer.of_weight, of_logits.t(), part, add=start > 0)
        if layer.of_bias is not None:
            before = layer.of_bias if start else 0.0
            layer.of_bias.copy_(z.sum(0) + before)
    if not len(states):
        for gradient in (layer.of_weight, layer.of_bias):
            if gradient is not None:
                gradient.zero_()
    return total


def _product(out: Tensor, left: Tensor, right: Tensor, add: bool = False) -> None:
    """Write a matrix product to `out`, or add it to what `out` holds."""
    before = 1.0 if add else 0.0
    if out.dtype == left.dtype:
        out.addmm_(left, right, beta=before)
    elif add:
        out.copy_(left @ right + out)
    else:
        out.copy_(left @ right + 0.0)
