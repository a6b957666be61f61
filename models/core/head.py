"""Head: the softmax over the vocabulary, seen through what a loss needs of it.

Most objectives need a few numbers of the [n, V] logits: their log-sum-exp and some of their columns, or a mean, an
entropy, a log-sum-exp at another temperature. A loss written that way (`Objective.head_loss`) runs over `Head`,
ordinary autograd, and over `FusedHead` (fused_head.py), which turns the logits into their own gradient in place and so
never keeps [n, V] for a backward pass.

Shapes: n positions of a slice, V vocabulary, D width of a state, k tokens of a position.
"""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor


def sum_dtype(values: Tensor) -> torch.dtype:
    """Return the type that logits and sums are kept in: float64 for float64 values, else float32."""
    if values.dtype == torch.float64:
        return torch.float64
    return torch.float32


def product_dtype(weight: Tensor) -> torch.dtype:
    """Return the type that the products of a head run in: autocast's where it is on and the weight is not float64."""
    kind = weight.device.type
    if torch.is_autocast_enabled(kind) and weight.dtype != torch.float64:
        return torch.get_autocast_dtype(kind)
    return weight.dtype


BUDGET = {"cpu": 16 * 2**20}
"""Bytes of the logits of one slice, by kind of device."""

LARGE = 2**30
"""Bytes of the logits of one slice on any other device, where a slice should keep thousands of cores busy."""


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
    return BUDGET.get(values.device.type, LARGE)


def positions_in(n_bytes: int, bytes_each: int) -> int:
    """Return for how many positions of so many bytes there is space: a power of two from 256 to 8192.

    >>> positions_in(16 * 2**20, 8000 * 4), positions_in(16 * 2**20, 30000 * 4), positions_in(16 * 2**20, 100)
    (512, 256, 8192)
    """
    fitting = max(1, n_bytes // max(1, bytes_each))
    return min(8192, max(256, 2 ** (fitting.bit_length() - 1)))


CACHED = 2**19
"""Bytes of a part on a CPU: with two copies of it, what a core's own cache holds."""

PARTS = 8
"""Parts on other devices, where each costs some launches and a copy is as large as one."""


def row_parts(values: Tensor) -> tuple[Tensor, ...]:
    """Split a matrix into parts of some rows.

    Args:
        values: `[n, V]`.

    Returns:
        Views `[m, V]`, in order. How many rows a part has follows from shape, type and kind of device.
    """
    rows = -(-len(values) // PARTS)
    if values.device.type == "cpu":
        rows = CACHED // (values.shape[1] * values.element_size())
    return values.split(max(1, rows))


MakeWeights = Callable[[Tensor, slice], Tensor]
"""Makes a weight of each token from the logits of some positions and the places of these, [m, V] -> [m, V]."""


class Head:
    """Logits z of n positions over V tokens, in the graph; log p(w) = at(w) - lse.

    A `FusedHead` gives the same numbers. Call first what reads the logits themselves (`at`, `mean`, `weighted`,
    `argmax`, `top`): after a log-sum-exp or an expected value it has to compute them once more.

    Args:
        logits: [n, V].
    """

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits

    @cached_property
    def lse(self) -> Tensor:
        """Log-sum-exp of the logits, [n]."""
        return self.logits.logsumexp(1)

    @property
    def expected(self) -> Tensor:
        """Expected logit under the softmax, sum_w p(w) z_w, [n]; the entropy is `lse - expected`."""
        return self.expected_at(1.0)

    def lse_at(self, beta: float) -> Tensor:
        """Log-sum-exp of z / beta, [n]; a loss has one temperature, above 0."""
        return (self.logits / beta).logsumexp(1)

    def expected_at(self, beta: float) -> Tensor:
        """Expected logit under softmax(z / beta), of z itself, [n]; likewise."""
        return ((self.logits / beta).softmax(1) * self.logits).sum(1)

    def nll(self, at_target: Tensor) -> Tensor:
        """-log p of tokens from their logits, `lse - at_target` [n], with all digits where p is nearly 1.

        Args:
            at_target: [n] what `at` gave for one token of each position.
        """
        peak = self.logits.detach().amax(1)
        mass = (self.logits - peak[:, None]).exp().sum(1)
        return mass.log() + (peak - at_target)

    def expected_of(self, values: Tensor) -> Tensor:
        """Expected value under the softmax of a number of each token, sum_w p(w) values_w, [n].

        Args:
            values: [n, V], which get no gradient.
        """
        return (self.logits.softmax(1) * values.detach()).sum(1)

    def weighted(self, make: MakeWeights) -> Tensor:
        """Sum of the logits by weights that are made of the logits and get no gradient, sum_w c(w) z_w, [n].

        Args:
            make: the weights of some positions; it is called for all of them in order, a few at a time, and once each.
        """
        with torch.no_grad():
            weights = make(self.logits.detach(), slice(len(self.logits)))
        return (weights * self.logits).sum(1)

    def mean(self, weights: Tensor | None = None) -> Tensor:
        """Mean logit over the vocabulary, [n].

        Args:
            weights: [V] of each token, that sum to one and are not trained; uniform by default.
        """
        if weights is None:
            return self.logits.mean(1)
        return (self.logits * weights.to(self.logits)).sum(1)  # a product of matrices would lose digits under autocast

    def at(self, index: Tensor) -> Tensor:
        """Logits of some tokens, of the shape of `index`, [n] or [n, k]; repeats are allowed."""
        if index.ndim == 1:
            return self.logits.gather(1, index[:, None]).squeeze(1)
        return self.logits.gather(1, index)

    def argmax(self) -> Tensor:
        """Most probable token, [n]; not differentiable."""
        return self.logits.argmax(1)

    def top(self, k: int) -> Tensor:
        """The k largest logits, largest first, [n, k]; not differentiable."""
        return self.logits.detach().topk(k).values
