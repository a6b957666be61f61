"""Perplexity as a torchmetrics class, for curves during training and for other people's loops."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

__all__ = ["Perplexity"]


class Perplexity(Metric):
    """Pool negative log-likelihoods and their units over batches and ranks, and divide once at the end.

    The unit is whatever the counts count: tokens, words or bytes. The sum is float64 and agrees with the exact
    `perplexity` of the same rows to about 1e-12; scores that are stored come from that function.

    >>> metric = Perplexity()
    >>> metric.update(torch.tensor([2.0, 1.0]).log() * 4, torch.tensor([4, 4]))
    >>> round(float(metric.compute()), 6)
    1.414214
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    nll_sum: Tensor
    count: Tensor

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing; `kwargs` go to `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        self.add_state("nll_sum", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, nll_sums: Tensor, counts: Tensor) -> None:
        """Add texts.

        Args:
            nll_sums: `[n]` negative log-likelihoods in nats, one for each text.
            counts: `[n]` integers, how many units each text has.
        """
        if nll_sums.shape != counts.shape or counts.is_floating_point():
            described = f"{tuple(nll_sums.shape)}, {tuple(counts.shape)} {counts.dtype}"
            raise ValueError(f"perplexity needs one sum and one integer count for each text; got {described}")
        self.nll_sum += nll_sums.detach().to(self.nll_sum).sum()
        self.count += counts.to(self.count).sum()

    def compute(self) -> Tensor:
        """Return the perplexity in float64; not a number before the first unit, infinite after an impossible text."""
        return (self.nll_sum / self.count).exp()
