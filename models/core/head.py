"""Head: the softmax over the vocabulary, seen through what a loss needs of it.

Most objectives need two things of the [n, V] logits: their log-sum-exp and a few of their columns. A loss written that
way (`Objective.head_loss`) runs over `PlainHead`, ordinary autograd, and over `FusedHead`, which turns the logits into
their own gradient in place and so never keeps [n, V] for a backward pass.

Shapes: n positions of a slice, V vocabulary, D width of a state, k tokens asked for at each position.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """A head over logits outside the graph.

    What a loss asks for, the log-sum-exp and some columns, are leaves of the graph. The caller differentiates the loss
    by these leaves and hands their gradients to `gradient`, which makes of them the gradient of the logits.

    Args:
        logits: [n, V]; overwritten by `gradient`.
    """

    def __init__(self, logits: Tensor) -> None:
        self._logits = logits
        self._lse = logits.logsumexp(1).requires_grad_()
        self._asked: list[tuple[Tensor, Tensor]] = []  # token ids [n, k] and the leaf [n, k] that holds their logits

    @property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        return self._lse

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`."""
        if index.ndim == 1:
            return self.at(index[:, None]).squeeze(1)
        leaf = self._logits.gather(1, index).requires_grad_()
        self._asked.append((index, leaf))
        return leaf

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        return self._logits.argmax(1)

    @property
    def leaves(self) -> list[Tensor]:
        """What the loss may depend on: the log-sum-exp and the columns it asked for."""
        return [self._lse, *(leaf for _, leaf in self._asked)]

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
            self._logits.zero_()
        else:
            self._logits.sub_(self._lse.detach()[:, None]).exp_().mul_(of_lse[:, None])
        for (columns, _), gradient in zip(self._asked, of_columns, strict=True):
            if gradient is not None:
                self._logits.scatter_add_(1, columns, gradient)
        return self._logits


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
        kind = weight.device.type
        self.dtype = weight.dtype  # of the products
        if torch.is_autocast_enabled(kind):
            self.dtype = torch.get_autocast_dtype(kind)
        self.head, self.weight = head, weight.to(self.dtype)
        self.logits_dtype = sum_dtype(weight)
        self.buffer = weight.new_empty((rows, len(weight)), dtype=self.logits_dtype)  # [rows, V]
        self.of_weight: Tensor | None = None
        self.of_bias: Tensor | None = None

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of a slice in the buffer, [n, D] -> [n, V]."""
        z = self.buffer[: len(hidden)]  # [n, V]
        if self.dtype == self.logits_dtype:
            torch.mm(hidden, self.weight.t(), out=z)
        else:
            z.copy_(hidden.to(self.dtype) @ self.weight.t())
        for added in (self.head.bias, self.head.offset):
            if added is not None:
                z.add_(added.detach())
        return z

    def backward(self, hidden: Tensor, gradient: Tensor) -> Tensor:
        """Add a slice's gradients of weight and bias; return the gradient of its states, [n, D].

        Args:
            hidden: [n, D] states of the slice.
            gradient: [n, V] of the loss by the logits.
        """
        of_logits = gradient.to(self.dtype)
        if self.head.bias is not None and self.head.bias.requires_grad:
            sums = gradient.sum(0).to(self.head.bias.dtype)  # [V]
            if self.of_bias is None:
                self.of_bias = sums
            else:
                self.of_bias.add_(sums)
        if self.head.weight.requires_grad:
            states = hidden.to(self.dtype)
            if self.of_weight is None:
                self.of_weight = torch.mm(of_logits.t(), states).to(self.head.weight.dtype)
            elif self.dtype == self.of_weight.dtype:
                self.of_weight.addmm_(of_logits.t(), states)
            else:
                self.of_weight.add_(of_logits.t() @ states)
        return (of_logits @ self.weight).to(hidden.dtype)
