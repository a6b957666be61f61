"""Head: the softmax over the vocabulary, seen through what a loss needs of it.

Most objectives need two things of the [n, V] logits: their log-sum-exp and a few of their columns. A loss written that
way (`Objective.head_loss`) runs over `PlainHead`, ordinary autograd, and over `FusedHead`, which turns the logits into
their own gradient in place and so never keeps [n, V] for a backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from bench.models.backbones.backbone import LinearHead


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
        return self.logits.gather(1, index[:, None]).squeeze(1) if index.ndim == 1 else self.logits.gather(1, index)

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        return self.logits.argmax(1)


class FusedHead:
    """A head over logits outside the graph: what a loss asks for are leaves, and `gradient` joins theirs.

    Args:
        logits: [n, V]; overwritten by `gradient`.
    """

    def __init__(self, logits: Tensor) -> None:
        self._logits = logits
        self._lse = logits.logsumexp(1).requires_grad_()
        self._asked: list[tuple[Tensor, Tensor]] = []  # token ids [n, k] and the leaf that holds their logits

    @property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        return self._lse

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`."""
        columns = index[:, None] if index.ndim == 1 else index
        leaf = self._logits.gather(1, columns).requires_grad_()
        self._asked.append((columns, leaf))
        return leaf.squeeze(1) if index.ndim == 1 else leaf

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        return self._logits.argmax(1)

    @property
    def leaves(self) -> list[Tensor]:
        """What the loss may depend on: the log-sum-exp and the columns it asked for."""
        return [self._lse, *(leaf for _, leaf in self._asked)]

    def gradient(self, found: Sequence[Tensor | None]) -> Tensor:
        """Turn the logits into their gradient in place: softmax times that of the log-sum-exp, plus the columns'.

        Args:
            found: gradients of `leaves`, None for one the loss does not depend on.

        Returns:
            [n, V], the memory of the logits.
        """
        of_lse, *of_columns = found
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

    One buffer serves all slices; under autocast products run in its type and logits are kept in float32.

    Args:
        head: weight [V, D], trained bias and fixed offset.
        rows: most positions of a slice.
    """

    def __init__(self, head: LinearHead, rows: int) -> None:
        weight = head.weight.detach()
        kind = weight.device.type
        self.dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
        self.head, self.weight = head, weight.to(self.dtype)
        self.kept = torch.float64 if weight.dtype == torch.float64 else torch.float32
        self.buffer = weight.new_empty((rows, len(weight)), dtype=self.kept)
        self.of_weight: Tensor | None = None
        self.of_bias: Tensor | None = None

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of a slice in the buffer, [n, D] -> [n, V]."""
        z = self.buffer[: len(hidden)]
        if self.dtype == self.kept:
            torch.mm(hidden, self.weight.t(), out=z)
        else:
            z.copy_(hidden.to(self.dtype) @ self.weight.t())
        for added in (self.head.bias, self.head.offset):
            if added is not None:
                z.add_(added.detach())
        return z

    def backward(self, hidden: Tensor, gradient: Tensor) -> Tensor:
        """Add a slice's gradients of weight and bias; return that of its states, [n, D]."""
        of_logits = gradient.to(self.dtype)
        if self.head.bias is not None and self.head.bias.requires_grad:
            sums = gradient.sum(0).to(self.head.bias.dtype)
            self.of_bias = sums if self.of_bias is None else self.of_bias.add_(sums)
        if self.head.weight.requires_grad:
            states = hidden.to(self.dtype)
            if self.of_weight is None:
                self.of_weight = torch.mm(of_logits.t(), states).to(self.head.weight.dtype)
            elif self.dtype == self.of_weight.dtype:
                self.of_weight.addmm_(of_logits.t(), states)
            else:
                self.of_weight.add_(of_logits.t() @ states)
        return (of_logits @ self.weight).to(hidden.dtype)
