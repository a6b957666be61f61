"""Head: the softmax over the vocabulary, seen through what a loss needs of it.

Most objectives need two things of the [n, V] logits: their log-sum-exp and a few of their columns. A loss written that
way (`Objective.head_loss`) runs over `PlainHead`, ordinary autograd, and over `FusedHead`, which turns the logits into
their own gradient in place and so never keeps [n, V] for a backward pass.

Shapes: n positions of a slice, V vocabulary, D width of a state, k tokens asked for at each position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from bench.models.backbones.backbone import LinearHead


def sum_dtype(values: Tensor) -> torch.dtype:
    """Return the type that logits and sums are kept in: float64 for float64 values, else float32."""
    if values.dtype == torch.float64:
        return torch.float64
    return torch.float32


def product_dtype(weight: Tensor) -> torch.dtype:
    """Return the type that the products of a head run in: autocast's where it is on, else that of the weight."""
    kind = weight.device.type
    if torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return weight.dtype


BUDGET = {"cpu": 16 * 2**20}
"""Bytes of the logits of one slice, by kind of device."""

LARGE = 2**30
"""Bytes of the logits of one slice on any other device, where a slice should keep thousands of cores busy."""


_PLANNED_FOR: ContextVar[str] = ContextVar("planned_for", default="")


@contextmanager
def sliced_as_on(kind: str) -> Iterator[None]:
    """Slices have the size that they have on a kind of device, for plans that are made on another one.

    Args:
        kind: such as `cpu` or `cuda`.
    """
    token = _PLANNED_FOR.set(kind)
    try:
        yield
    finally:
        _PLANNED_FOR.reset(token)


def slice_size(embedding: Tensor) -> int:
    """Return how many positions a slice has: a power of two, a function of vocabulary, precision and kind of device.

    It is never a function of free memory: it decides in which order a loss is summed, and so the last bits of what is
    stored.

    Args:
        embedding: [V, D] of the tokens.
    """
    bytes_each = sum_dtype(embedding).itemsize
    if product_dtype(embedding) != sum_dtype(embedding):
        bytes_each += product_dtype(embedding).itemsize  # a copy for the products
    return positions_in(budget(embedding), len(embedding) * bytes_each)


def budget(values: Tensor) -> int:
    """Return how many bytes a slice may take on the device of some values."""
    kind = _PLANNED_FOR.get() or values.device.type
    return BUDGET.get(kind, LARGE)


def positions_in(room: int, bytes_each: int) -> int:
    """Return for how many positions of so many bytes there is room: a power of two from 256 to 8192.

    >>> positions_in(16 * 2**20, 8000 * 4), positions_in(16 * 2**20, 30000 * 4), positions_in(16 * 2**20, 100)
    (512, 256, 8192)
    """
    fitting = max(1, room // max(1, bytes_each))
    return min(8192, max(256, 2 ** (fitting.bit_length() - 1)))


STRETCH = 256
"""Columns among which `largest` looks at once."""


def largest(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Return the largest value of each row and its column, the lowest of those that tie: [n, V] -> [n], [n].

    A CPU finds a largest value several times faster than its place. So the place is looked for in one stretch of the
    columns, the first that holds the largest value.

    >>> largest(torch.tensor([[1.0, 3.0, 3.0]]))
    (tensor([3.]), tensor([1]))
    """
    whole = logits.shape[1] // STRETCH
    if logits.device.type != "cpu" or whole < 2:
        return logits.max(1)[:2]
    stretches = logits[:, : whole * STRETCH].unflatten(1, (whole, STRETCH))  # [n, V / 256, 256]
    peaks = stretches.amax(2)  # [n, V / 256]
    first = peaks.argmax(1)  # [n]
    rows = torch.arange(len(logits))
    peak, column = stretches[rows, first].max(1)
    column += first * STRETCH
    if rest := logits.shape[1] - whole * STRETCH:
        behind, place = logits[:, -rest:].max(1)
        column = torch.where(behind > peak, place + whole * STRETCH, column)
        peak = torch.maximum(behind, peak)
    return peak, column


class Head(Protocol):
    """Logits z of n positions over V tokens; log p(w) = at(w) - lse."""

    @property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`, [n] or [n, k]; repeats are allowed."""

    def argmax(self) -> Tensor:
        """Most probable token, [n]; not differentiable."""


class PlainHead:
    """A head over logits in the graph.

    Args:
        logits: [n, V].
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    @cached_property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        return self.logits.logsumexp(1)

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`."""
        if index.ndim == 1:
            return self.logits.gather(1, index[:, None]).squeeze(1)
        return self.logits.gather(1, index)

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        return self.logits.argmax(1)


class FusedHead:
    """A head over logits outside the graph, in one [n, V] buffer.

    What a loss asks for, the log-sum-exp and some columns, are leaves of the graph. The caller differentiates the loss
    by these leaves and hands their gradients to `gradient`, which makes of them the gradient of the logits. The
    log-sum-exp leaves exponentials in the buffer; who asks for columns only after it has the logits computed again.

    Args:
        compute: writes the logits into the buffer and returns it, [n, V].
    """

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        self._compute = compute
        self._buffer = compute()  # logits, then exp(logits - peak), then their gradient
        self._exponentials = False  # which of the first two it holds
        self._peak: Tensor | None = None  # [n, 1] largest logit, when known
        self._mass = self._buffer  # [n, 1] sum of exponentials, when known
        self._lse: Tensor | None = None
        self._asked: list[tuple[Tensor, Tensor]] = []  # token ids [n, k] and the leaf [n, k] that holds their logits

    @property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        if self._lse is None:
            if self._peak is None:
                self._peak = self._buffer.amax(1, keepdim=True)
            self._exponentiate()
            self._mass = self._buffer.sum(1, keepdim=True)
            self._lse = self._mass.log().add_(self._peak).squeeze(1).requires_grad_()
        return self._lse

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`."""
        if index.ndim == 1:
            return self.at(index[:, None]).squeeze(1)
        leaf = self._logits().gather(1, index).requires_grad_()
        self._asked.append((index, leaf))
        return leaf

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        peak, token = largest(self._logits())
        self._peak = peak[:, None]
        return token

    @property
    def leaves(self) -> list[Tensor]:
        """What the loss may depend on: the log-sum-exp and the columns it asked for."""
        return [self.lse, *(leaf for _, leaf in self._asked)]

    def gradient(self, of_leaves: Sequence[Tensor | None]) -> Tensor:
        """Turn the logits into their gradient in place.

            d loss / d z  =  softmax(z) * d loss / d lse,  plus d loss / d z_w at each column w asked for

        Args:
            of_leaves: gradient of each of `leaves`, None for a leaf that the loss does not depend on.

        Returns:
            [n, V], the memory of the logits.
        """
        of_lse, *of_columns = of_leaves
        if of_lse is None:
            self._buffer.zero_()
        else:
            self._exponentiate()
            self._buffer.mul_(of_lse[:, None] / self._mass)
        for (columns, _), gradient in zip(self._asked, of_columns, strict=True):
            if gradient is not None:
                self._buffer.scatter_add_(1, columns, gradient)
        return self._buffer

    def _logits(self) -> Tensor:
        """The buffer with logits in it, [n, V]."""
        if self._exponentials:
            self._buffer, self._exponentials = self._compute(), False
        return self._buffer

    def _exponentiate(self) -> None:
        """Turn logits in the buffer into exp(logits - peak)."""
        if not self._exponentials:
            assert self._peak is not None
            self._buffer.sub_(self._peak).exp_()
            self._exponentials = True


class Products:
    """The three matrix products of a linear head over slices: logits, gradient of states, gradient of weights.

    One buffer serves all slices. Under autocast the products run in autocast's type; logits are kept in float32.

    Args:
        head: weight [V, D], trained bias and fixed offset.
        rows: most positions of a slice.

    Attributes:
        of_weight: [V, D] gradient of the weight, summed over the slices so far; None before the first.
        of_bias: [V] likewise, of the bias.
    """

    def __init__(self, head: LinearHead, rows: int) -> None:
        weight = head.weight.detach()
        self.dtype = product_dtype(weight)
        self.head, self.weight = head, weight.to(self.dtype)
        self.logits_dtype = sum_dtype(weight)
        self.buffer = weight.new_empty((rows, len(weight)), dtype=self.logits_dtype)  # [rows, V]
        self.of_weight: Tensor | None = None
        self.of_bias: Tensor | None = None

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of a slice in the buffer, [n, D] -> [n, V]."""
        z = self.buffer[: len(hidden)]  # [n, V]
        if self.dtype == self.logits_dtype:
            torch.mm(hidden.to(self.dtype), self.weight.t(), out=z)
        else:
            z.copy_(hidden.to(self.dtype) @ self.weight.t())
        for added in (self.head.bias, self.head.offset):
            if added is not None:
                z.add_(added.detach())
        return z

    def backward(self, hidden: Tensor, gradient: Tensor, out: Tensor) -> None:
        """Add a slice's gradients of weight and bias, and write that of its states.

        Args:
            hidden: [n, D] states of the slice.
            gradient: [n, V] of the loss by the logits.
            out: [n, D] where the gradient of the states goes.
        """
        of_logits = gradient.to(self.dtype)
        if self.head.bias is not None and self.head.bias.requires_grad:
            sums = gradient.sum(0).to(self.head.bias.dtype)  # [V]
            if self.of_bias is None:
                self.of_bias = sums
            else:
                self.of_bias.add_(sums)
        if self.head.weight.requires_grad:
            self._add_to_weight(of_logits, hidden.to(self.dtype))
        if out.dtype == self.dtype:
            torch.mm(of_logits, self.weight, out=out)
        else:
            out.copy_(of_logits @ self.weight)

    def _add_to_weight(self, of_logits: Tensor, states: Tensor) -> None:
        """Add one slice's product to the gradient of the weight; in bf16 the sum over slices is in float32."""
        if self.of_weight is None:
            self.of_weight = torch.mm(of_logits.t(), states).to(self.head.weight.dtype)
        elif self.dtype == self.of_weight.dtype:
            self.of_weight.addmm_(of_logits.t(), states)
        else:
            self.of_weight.add_(of_logits.t() @ states)
