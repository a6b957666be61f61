"""FusedHead: a head whose logits turn into their own gradient in one buffer, and the products that fill it.

Shapes: n positions of a slice, V vocabulary, D width of a state, k tokens asked for at each position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from bench.models.backbones.backbone import LinearHead
from bench.models.core.head import MakeWeights, checked_temperature, largest, product_dtype, sum_dtype
from bench.models.functional.row_parts import row_parts

LOWEST = -1e9
"""Stands for the logarithm of an exponential that is 0: finite, so that their product is 0."""

Factors = dict[float, tuple[Tensor, Tensor | None]]
"""By temperature: what exp((z - peak) / beta) is multiplied by in a gradient, a constant and a slope over z, [n, 1]."""


class FusedHead:
    """A head over logits outside the graph, in one [n, V] buffer.

    What a loss asks for, such as the log-sum-exp and some columns, are leaves of the graph. The caller differentiates
    the loss by these leaves and hands their gradients to `gradient`, which makes of them the gradient of the logits.

    A log-sum-exp and an expected value leave exponentials in the buffer, of the highest temperature asked for so far:
    those of a lower one are their powers. Columns or a mean that are taken only after it, and a higher temperature,
    cost the logits once more. Weights have a buffer of their own, [n, V], which becomes the gradient.

    Args:
        compute: writes the logits into the buffer and returns it, [n, V].
    """

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        self._compute = compute
        self._buffer = compute()  # logits, then exp((z - peak) / beta), then the gradient of the logits
        self._beta = 0.0  # temperature of the exponentials in the buffer; 0 while it holds logits
        self._peak: Tensor | None = None  # [n, 1] largest logit, when known
        self._masses: dict[float, Tensor] = {}  # by temperature, [n, 1] sums of exponentials
        self._lses: dict[float, Tensor] = {}  # leaves by temperature, [n]
        self._expected: dict[float, Tensor] = {}  # leaves by temperature, [n]
        self._values: list[tuple[Tensor, Tensor]] = []  # [n, V] and the leaf [n] that holds their expected value
        self._weighted: list[tuple[Tensor, Tensor]] = []  # weights [n, V] and the leaf [n] that holds their sum
        self._means: list[tuple[Tensor | None, Tensor]] = []  # weights [V] and the leaf [n]
        self._columns: list[tuple[Tensor, Tensor]] = []  # token ids [n, k] and the leaf [n, k] that holds their logits

    @property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        return self.lse_at(1.0)

    @property
    def expected(self) -> Tensor:
        """Expected logit under the softmax, [n]."""
        return self.expected_at(1.0)

    def lse_at(self, beta: float) -> Tensor:
        """Log-sum-exp of z / beta, [n]."""
        if beta not in self._lses:
            mass, peak = self._mass(beta), self._peaks()
            self._lses[beta] = mass.log().add_(divided(peak, beta)).squeeze(1).requires_grad_()
        return self._lses[beta]

    def expected_at(self, beta: float) -> Tensor:
        """Expected logit under softmax(z / beta), [n]."""
        if beta not in self._expected:
            mass = self._mass(beta)
            sums = [
                self._below_peak(part).mul_(self._weights(part, beta)).sum(1, keepdim=True)
                for part in row_parts(self._buffer)
            ]
            self._expected[beta] = torch.cat(sums).div_(mass).add_(self._peaks()).squeeze(1).requires_grad_()
        return self._expected[beta]

    def nll(self, at_target: Tensor) -> Tensor:
        """-log p of tokens from their logits, [n]."""
        rounded = self.lse - at_target
        exact = self._mass(1.0).log().squeeze(1) + (self._peaks().squeeze(1) - at_target.detach())
        return rounded + (exact - rounded.detach())

    def expected_of(self, values: Tensor) -> Tensor:
        """Expected value under the softmax of a number of each token, [n]."""
        values, mass = values.detach(), self._mass(1.0)
        sums = [(self._weights(part, 1.0) * values[rows]).sum(1, keepdim=True) for rows, part in parts_of(self._buffer)]
        leaf = torch.cat(sums).div_(mass).squeeze(1).requires_grad_()
        self._values.append((values, leaf))
        return leaf

    def weighted(self, make: MakeWeights) -> Tensor:
        """Sum of the logits by weights that are made of the logits, [n]."""
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
        """Mean logit over the vocabulary, [n]."""
        logits = self._logits()
        if weights is None:
            leaf = logits.mean(1).requires_grad_()
        else:
            weights = weights.to(logits)
            leaf = torch.cat([(part * weights).sum(1) for part in row_parts(self._buffer)]).requires_grad_()
        self._means.append((weights, leaf))
        return leaf

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`."""
        if index.ndim == 1:
            return self.at(index[:, None]).squeeze(1)
        leaf = self._logits().gather(1, index).requires_grad_()
        self._columns.append((index, leaf))
        return leaf

    def argmax(self) -> Tensor:
        """Most probable token, [n]."""
        peak, token = largest(self._logits())
        self._peak = peak[:, None]
        return token

    def top(self, k: int) -> Tensor:
        """The k largest logits, [n, k]."""
        return self._logits().topk(k).values

    @property
    def leaves(self) -> list[Tensor]:
        """All tensors of this head that the loss may depend on."""
        listed = [leaf for _, leaf in (*self._values, *self._weighted, *self._means, *self._columns)]
        return [*self._lses.values(), *self._expected.values(), *listed]

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
        of_lses = {beta: next(remaining) for beta in self._lses}
        of_expected = {beta: next(remaining) for beta in self._expected}
        of_values = [next(remaining) for _ in self._values]
        of_weighted = [next(remaining) for _ in self._weighted]
        factors = self._factors(of_lses, of_expected, of_values)
        gradient = self._of_weights(of_weighted)
        if gradient is None or factors:
            self._multiply(factors, of_values)
        if gradient is None:
            gradient = self._buffer
        elif factors:
            gradient.add_(self._buffer)
        for weights, _ in self._means:
            add_mean(gradient, weights, next(remaining))
        for columns, _ in self._columns:
            of_columns = next(remaining)
            if of_columns is not None:
                gradient.scatter_add_(1, columns, of_columns)
        return gradient

    def _of_weights(self, of_weighted: Sequence[Tensor | None]) -> Tensor | None:
        """Turn weights into the gradient by their sums, and return it; None where the loss depends on none."""
        gradient: Tensor | None = None
        for (weights, _), of_sum in zip(self._weighted, of_weighted, strict=True):
            if of_sum is None:
                continue
            weights.mul_(of_sum[:, None])
            if gradient is None:
                gradient = weights
            else:
                gradient.add_(weights)
        return gradient

    def _factors(
        self,
        of_lses: dict[float, Tensor | None],
        of_expected: dict[float, Tensor | None],
        of_values: Sequence[Tensor | None],
    ) -> Factors:
        """Return what the exponentials of each temperature are multiplied by, those without a gradient left out.

        What they are multiplied by for the values of tokens is a factor for each token; here is the constant part.
        """
        factors: Factors = {}
        for beta, of_lse in of_lses.items():
            if of_lse is not None:
                factors[beta] = (divided(of_lse[:, None] / self._masses[beta], beta), None)
        for beta, of_value in of_expected.items():
            if of_value is None:
                continue
            of_mass = of_value[:, None] / self._masses[beta]  # [n, 1]
            below = divided(self._peaks() - self._expected[beta].detach()[:, None], beta)
            constant = of_mass * (1 + below)
            if beta in factors:
                constant = constant + factors[beta][0]
            factors[beta] = (constant, divided(of_mass, beta))
        for (_, leaf), of_value in zip(self._values, of_values, strict=True):
            if of_value is None:
                continue
            taken = (of_value * leaf.detach())[:, None] / self._masses[1.0]  # [n, 1]
            if 1.0 in factors:
                factors[1.0] = (factors[1.0][0] - taken, factors[1.0][1])
            else:
                factors[1.0] = (-taken, None)
        return factors

    def _multiply(self, factors: Factors, of_values: Sequence[Tensor | None]) -> None:
        """Turn the exponentials in the buffer into the gradient by log-sum-exps and expected values."""
        if not factors:
            self._buffer.zero_()
            return
        self._exponentiate(max(factors))
        by_token = []  # values [n, V], and what they are multiplied by, [n, 1]
        for (values, _), of_value in zip(self._values, of_values, strict=True):
            if of_value is not None:
                by_token.append((values, of_value[:, None] / self._masses[1.0]))
        if len(factors) == 1 and self._beta in factors and factors[self._beta][1] is None and not by_token:
            self._buffer.mul_(factors[self._beta][0])
            return
        for rows, part in parts_of(self._buffer):
            terms = []  # [m, V] each
            for beta, (constant, slope) in factors.items():
                factor = constant[rows]
                if slope is not None:
                    factor = self._below_peak(part).mul_(slope[rows]).add_(factor)
                if beta == 1.0:
                    for values, of_mass in by_token:
                        factor = torch.addcmul(factor, values[rows], of_mass[rows])
                terms.append(self._weights(part, beta) * factor)
            part.copy_(sum(terms[1:], start=terms[0]))

    def _weights(self, part: Tensor, beta: float) -> Tensor:
        """Return exp((z - peak) / beta) of a part whose temperature is as high or higher, [m, V]."""
        if beta == self._beta:
            return part
        return part.pow(self._beta / beta)

    def _below_peak(self, part: Tensor) -> Tensor:
        """Return z - peak of a part, [m, V], a new tensor; very low where its exponential is 0."""
        shifted = part.log().clamp_min_(LOWEST)
        if self._beta != 1.0:
            shifted.mul_(self._beta)
        return shifted

    def _mass(self, beta: float) -> Tensor:
        """Return the sum of exp((z - peak) / beta), [n, 1], and leave exponentials in the buffer."""
        self._exponentiate(checked_temperature(beta))
        if beta not in self._masses:
            if self._beta == beta:
                self._masses[beta] = self._buffer.sum(1, keepdim=True)
            else:
                sums = [self._weights(part, beta).sum(1, keepdim=True) for part in row_parts(self._buffer)]
                self._masses[beta] = torch.cat(sums)
        return self._masses[beta]

    def _peaks(self) -> Tensor:
        """Return the largest logit of each row, [n, 1]; known once there are exponentials."""
        if self._peak is None:
            self._peak = self._logits().amax(1, keepdim=True)
        return self._peak

    def _logits(self) -> Tensor:
        """The buffer with logits in it, [n, V]."""
        if self._beta:
            self._buffer, self._beta = self._compute(), 0.0
        return self._buffer

    def _exponentiate(self, beta: float) -> None:
        """Put exponentials of this temperature into the buffer, unless it has those of a higher one."""
        if self._beta >= beta:
            return
        peak, highest = self._peaks(), max((beta, *self._masses))
        shifted = self._logits().sub_(peak)
        if highest != 1.0:
            shifted.div_(highest)
        shifted.exp_()
        self._beta = highest


def parts_of(values: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield parts of a matrix that stay in a cache, each behind the rows that it has, [n, V] -> [m, V]."""
    start = 0
    for part in row_parts(values):
        yield slice(start, start + len(part)), part
        start += len(part)


def add_mean(gradient: Tensor, weights: Tensor | None, of_mean: Tensor | None) -> None:
    """Add the gradient of a mean to that of the logits, [n, V]."""
    if of_mean is None:
        return
    if weights is None:
        gradient.add_((of_mean / gradient.shape[1])[:, None])
    else:
        gradient.addr_(of_mean, weights)


def divided(values: Tensor, beta: float) -> Tensor:
    """Return values by a temperature; at 1, which most losses ask for, they are returned as they are."""
    if beta == 1.0:
        return values
    return values / beta


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
