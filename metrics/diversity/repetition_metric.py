"""Rep and seq-rep-n as torchmetrics classes: sums and numbers of texts."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.diversity.distinct import shares
from bench.metrics.diversity.ngrams import Texts, count_ngrams, flatten, lengths_of
from bench.metrics.diversity.repetition import ends_in_a_loop

__all__ = ["Repetition", "SequenceRepetition"]


class Repetition(Metric):
    """Count the texts that end in a loop; the states are integers, equal to `repetition` of all texts to the last bit.

    >>> metric = Repetition()
    >>> metric.update([[1, 2, 3, 1, 2, 3], [1, 1, 1, 1, 1, 1]])
    >>> metric.compute().item()
    50.0
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    loops: Tensor
    n_texts: Tensor

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing; `kwargs` go to `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        self.add_state("loops", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("n_texts", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        flatten(texts)  # refuses what is no token id
        self.loops += sum(map(ends_in_a_loop, texts))
        self.n_texts += len(texts)

    def compute(self) -> Tensor:
        """Return the percentage of texts that end in a loop, in float64; not a number before the first text."""
        return 100.0 * self.loops.double() / self.n_texts


class SequenceRepetition(Metric):
    """Mean seq-rep-n over texts; a float64 sum agrees with `seq_rep` of all texts to about 1e-12.

    >>> metric = SequenceRepetition(2)
    >>> metric.update([[1, 2, 1, 2, 1], [1, 2, 3], [1]])
    >>> metric.compute().item()
    0.25
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    total: Tensor
    n_texts: Tensor

    def __init__(self, n: int = 4, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            n: order.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        if n < 1:
            raise ValueError(f"n-grams have an order of 1 or more, got {n}")
        self.n = n
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("n_texts", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none; those without an n-gram are left out."""
        new = shares(count_ngrams(texts, self.n)[-1], lengths_of(texts), self.n, "per_text")
        self.total += math.fsum((1.0 - new).tolist())
        self.n_texts += len(new)

    def compute(self) -> Tensor:
        """Return the mean share in float64; not a number before the first text with an n-gram."""
        return self.total / self.n_texts
