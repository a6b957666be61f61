"""FusedHead: a head whose logits turn into their own gradient in one buffer, and the products that fill it.

Written by hand, since autograd would keep several [n, V] tensors for the backward pass, and since libraries have such
a head for cross-entropy alone; torch's takes 1.02 to 1.53 times as long.

Shapes: n positions of a slice, V vocabulary, D width of a state, k tokens of a position.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones.backbone import LinearHead
from bench.models.core.head import Head, MakeWeights, product_dtype, row_parts, sum_dtype

LOWEST = -1e9
"""Stands for the logarithm of an exponential that is 0: finite, so that their product is 0."""

AddGradient = Callable[[Tensor, Tensor], Tensor]
"""Adds the gradient of a leaf [n] to that of the logits [n, V], in place."""


class FusedHead(Head):
    """A head over logits outside the graph, in one [n, V] buffer.

    What a loss reads, such as the log-sum-exp and some columns, are leaves of the graph. The caller differentiates the
    loss by these leaves, and `gradient` turns their gradients into that of the logits.

    A log-sum-exp and an expected value leave exponentials in the buffer. Columns or a mean that are taken only after it
    cost the logits once more. Weights have a buffer of their own, [n, V], which becomes the gradient.

    Args:
        compute: writes the logits into the buffer and returns it, [n, V].
    """

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        self._compute = compute
        self._buffer = compute()  # logits, then exp((z - peak) / beta), then the gradient of the logits
        self._holds_logits = True
        self._beta = 0.0  # the temperature of all exponentials; 0 before there are any
        self._peak: Tensor | None = None  # [n, 1] largest logit, when known
        self._mass: Tensor | None = None  # [n, 1] sum of exponentials, when known
        self._lse: Tensor | None = None  # leaf [n]
        self._expected: Tensor | None = None  # leaf [n]
        self._values: list[tuple[Tensor, Tensor]] = []  # [n, V] and the leaf [n] that holds their expected value
        self._weighted: list[tuple[Tensor, Tensor]] = []  # weights [n, V] and the leaf [n] that holds their sum
        self._means: list[tuple[AddGradient, Tensor]] = []  # what adds its gradient, and the leaf [n]
        self._columns: list[tuple[Tensor, Tensor]] = []  # token ids [n, k] and the leaf [n, k] that holds their logits

    @property
    def lse(self) -> Tensor:
        return self.lse_at(1.0)

    def lse_at(self, beta: float) -> Tensor:
        mass = self._mass_at(beta)
        if self._lse is None:
            self._lse = mass.log().add_(divided(self._peaks(), beta)).squeeze(1).requires_grad_()
        return self._lse

    def expected_at(self, beta: float) -> Tensor:
        mass = self._mass_at(beta)
        if self._expected is None:
            sums = [self._below_peak(part).mul_(part).sum(1, keepdim=True) for part in row_parts(self._buffer)]
            self._expected = torch.cat(sums).div_(mass).add_(self._peaks()).squeeze(1).requires_grad_()
        return self._expected

    def nll(self, at_target: Tensor) -> Tensor:
        rounded = self.lse - at_target
        exact = self._mass_at(1.0).log().squeeze(1) + (self._peaks().squeeze(1) - at_target.detach())
        return rounded + (exact - rounded.detach())

    def expected_of(self, values: Tensor) -> Tensor:
        values, mass = values.detach(), self._mass_at(1.0)
        sums = [(part * values[rows]).sum(1, keepdim=True) for rows, part in parts_of(self._buffer)]
        leaf = torch.cat(sums).div_(mass).squeeze(1).requires_grad_()
        self._values.append((values, leaf))
        return leaf

    def weighted(self, make: MakeWeights) -> Tensor:
        logits = self._logits()
        weights, sums = torch.empty_like(logits), []
        with torch.no_grad():
            for rows, part in parts_of(logits):
                of_part = make(part, rows)
                weights[rows] = of_part
                sums.append(of_part.mul_(part).sum(1))
        leaf = torch.cat(sums).requires_grad_()
        self._weighted.append((weights, leaf))
        return leaf

    def mean(self, weights: Tensor | None = None) -> Tensor:
        logits = self._logits()
        if weights is None:
            leaf = logits.mean(1).requires_grad_()
            self._means.append((lambda gradient, of_mean: gradient.add_((of_mean / logits.shape[1])[:, None]), leaf))
        else:
            each = weights.to(logits)  # [V]
            leaf = torch.cat([(part * each).sum(1) for part in row_parts(logits)]).requires_grad_()
            self._means.append((lambda gradient, of_mean: gradient.addr_(of_mean, each), leaf))
        return leaf

    def at(self, index: Tensor) -> Tensor:
        if index.ndim == 1:
            return self.at(index[:, None]).squeeze(1)
        leaf = self._logits().gather(1, index).requires_grad_()
        self._columns.append((index, leaf))
        return leaf

    def argmax(self) -> Tensor:
        peak, token = self._logits().max(1)
        self._peak = peak[:, None]
        return token

    def top(self, k: int) -> Tensor:
        return self._logits().topk(k).values

    @property
    def leaves(self) -> list[Tensor]:
        """All tensors of this head that the loss may depend on."""
        listed = [leaf for _, leaf in (*self._values, *self._weighted, *self._means, *self._columns)]
        return [*(leaf for leaf in (self._lse, self._expected) if leaf is not None), *listed]

    def gradient(self, of_leaves: Sequence[Tensor | None]) -> Tensor:
        """Turn the logits into their gradient in place.

            d lse(beta) / d z_w       =  q_w / beta                                q = softmax(z / beta)
            d expected(beta) / d z_w  =  q_w (1 + (z_w - expected(beta)) / beta)
            d expected_of(values) / d z_w  =  p_w (values_w - expected_of(values))
            d weighted / d z_w        =  c_w
            d mean / d z_w            =  weights_w
            d at(w) / d z_w           =  1

        Args:
            of_leaves: gradient of each of `leaves`, None for a leaf that the loss does not depend on.

        Returns:
            [n, V], the memory of the logits or of weights.
        """
        remaining = iter(of_leaves)
        of_lse = None if self._lse is None else next(remaining)
        of_expected = None if self._expected is None else next(remaining)
        of_values = [next(remaining) for _ in self._values]
        gradient: Tensor | None = None
        for weights, _ in self._weighted:
            of_sum = next(remaining)
            if of_sum is not None:
                weights.mul_(of_sum[:, None])
                gradient = weights if gradient is None else gradient.add_(weights)
        if any(found is not None for found in (of_lse, of_expected, *of_values)):
            self._differentiate_exponentials(of_lse, of_expected, of_values)
            gradient = self._buffer if gradient is None else gradient.add_(self._buffer)
        if gradient is None:
            gradient = self._buffer.zero_()
        for add, _ in self._means:
            of_mean = next(remaining)
            if of_mean is not None:
                add(gradient, of_mean)
        for columns, _ in self._columns:
            of_columns = next(remaining)
            if of_columns is not None:
                gradient.scatter_add_(1, columns, of_columns)
        return gradient

    def _differentiate_exponentials(
        self, of_lse: Tensor | None, of_expected: Tensor | None, of_values: Sequence[Tensor | None]
    ) -> None:
        """Turn the exponentials in the buffer into the gradient by log-sum-exp and expected values.

        Each is multiplied by a constant, a slope times z - peak, and the values of tokens times a factor.
        """
        assert self._mass is not None
        mass, beta = self._mass, self._beta
        constant: Any = 0.0  # [n, 1]
        slope: Tensor | None = None  # [n, 1]
        if of_lse is not None:
            constant = divided(of_lse[:, None] / mass, beta)
        if of_expected is not None and self._expected is not None:
            of_mass = of_expected[:, None] / mass
            below = divided(self._peaks() - self._expected.detach()[:, None], beta)
            constant = of_mass * (1 + below) + constant
            slope = divided(of_mass, beta)
        by_token = []  # values [n, V], and what they are multiplied by, [n, 1]
        for (values, leaf), of_value in zip(self._values, of_values, strict=True):
            if of_value is not None:
                constant = constant - (of_value * leaf.detach())[:, None] / mass
                by_token.append((values, of_value[:, None] / mass))
        self._exponentiate()
        if slope is None and not by_token:
            self._buffer.mul_(constant)
            return
        for rows, part in parts_of(self._buffer):
            factor = constant[rows]
            if slope is not None:
                factor = self._below_peak(part).mul_(slope[rows]).add_(factor)
            for values, of_mass in by_token:
                factor = torch.addcmul(factor, values[rows], of_mass[rows])
            part.mul_(factor)

    def _below_peak(self, part: Tensor) -> Tensor:
        """Return z - peak of a part of exponentials, [m, V], a new tensor; very low where one is 0."""
        shifted = part.log().clamp_min_(LOWEST)
        if self._beta != 1.0:
            shifted.mul_(self._beta)
        return shifted

    def _mass_at(self, beta: float) -> Tensor:
        """Return the sum of exp((z - peak) / beta), [n, 1], and leave exponentials in the buffer.

        Raises:
            UsageError: this loss has used another temperature before.
        """
        if self._beta and self._beta != beta:
            raise UsageError(
                f"a loss in its fast form has one temperature; this one has {self._beta:g} and {beta:g}: "
                f"write it as token_loss"
            )
        self._beta = beta
        self._exponentiate()
        if self._mass is None:
            self._mass = self._buffer.sum(1, keepdim=True)
        return self._mass

    def _peaks(self) -> Tensor:
        """Return the largest logit of each row, [n, 1]; known once there are exponentials."""
        if self._peak is None:
            self._peak = self._logits().amax(1, keepdim=True)
        return self._peak

    def _logits(self) -> Tensor:
        """The buffer with logits in it, [n, V]."""
        if not self._holds_logits:
            self._buffer, self._holds_logits = self._compute(), True
        return self._buffer

    def _exponentiate(self) -> None:
        """Put exponentials into the buffer, unless it has them."""
        if not self._holds_logits:
            return
        shifted = self._buffer.sub_(self._peaks())
        if self._beta != 1.0:
            shifted.div_(self._beta)
        shifted.exp_()
        self._holds_logits = False


def parts_of(values: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield parts of a matrix that stay in a cache, each behind the rows that it has, [n, V] -> [m, V]."""
    start = 0
    for part in row_parts(values):
        yield slice(start, start + len(part)), part
        start += len(part)


def divided(values: Tensor, beta: float) -> Tensor:
    """Return values by a temperature; at 1, which most losses ask for, they are returned as they are."""
    return values if beta == 1.0 else values / beta


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
        """Add one slice's product to the gradient of the weight, in the dtype of the weight.

        So under autocast the sum over slices is in float32. Of a weight in bf16 it is in bf16, and less exact than a
        single product.
        """
        if self.of_weight is None:
            self.of_weight = torch.mm(of_logits.t(), states).to(self.head.weight.dtype)
        elif self.dtype == self.of_weight.dtype:
            self.of_weight.addmm_(of_logits.t(), states)
        else:
            self.of_weight.add_(of_logits.t() @ states)
