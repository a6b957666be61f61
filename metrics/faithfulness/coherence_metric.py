"""Coherence as a torchmetrics class: a sum in float64 and integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.faithfulness.coherence import cosines
from bench.metrics.faithfulness.embedder import Embedder

__all__ = ["Coherence"]


class Coherence(Metric):
    """Mean cosine of prompts and their texts; agrees with `coherence` of all pairs to about 1e-6.

    An encoder in float32 reads a text in another batch with other last digits; the sum itself is in float64.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    total: Tensor
    counts: Tensor

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            embedder: as `bench.metrics.faithfulness.embedder.load` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.embedder = embedder
        self.add_state("total", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        # Pairs, and how many prompts and texts were cut.
        self.add_state("counts", torch.zeros(2, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, prompts: Sequence[str], texts: Sequence[str]) -> None:
        """Add pairs, possibly none; arguments as for `cosines`."""
        found, cut = cosines(prompts, texts, self.embedder)
        self.total += found.sum().to(self.device)
        self.counts += torch.tensor([len(found), cut], device=self.device)

    def compute(self) -> Tensor:
        """Return the mean cosine times 100 in float64; not a number before the first pair."""
        return 100.0 * self.total / self.counts[0]
