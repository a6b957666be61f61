"""Cache hit rate and coverage as a torchmetrics class; the states are integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.likelihood.cache_hits import hit_rate

__all__ = ["CacheHits"]


class CacheHits(Metric):
    """How often the most similar memory entry holds the next token; equal to `cache_hits.hit_rate` to the last bit.

    >>> metric = CacheHits()
    >>> metric.update([1, 0], [3, 1], [4, 4])
    >>> {name: value.item() for name, value in metric.compute().items()}
    {'cache-hit@1': 25.0, 'cache-coverage': 50.0}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    sums: Tensor

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing; `kwargs` go to `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        # Hits, tokens that the memory has, tokens.
        self.add_state("sums", torch.zeros(3, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, hits: Sequence[int], cached: Sequence[int], tokens: Sequence[int]) -> None:
        """Add texts, possibly none.

        Args:
            hits: `[n]` target tokens that the most similar entry holds.
            cached: `[n]` target tokens that some readable entry holds.
            tokens: `[n]` target tokens.

        Raises:
            ValueError: unequal lengths, or more hits than tokens that could be.
        """
        hit_rate(cached, tokens)  # refuses what cannot be
        hit_rate(hits, cached)
        self.sums += torch.tensor([sum(hits), sum(cached), sum(tokens)], device=self.device)

    def compute(self) -> dict[str, Tensor]:
        """Return `cache-hit@1` and `cache-coverage` in percent, in float64; not a number of no token."""
        hits, cached, tokens = self.sums.double()
        return {"cache-hit@1": 100.0 * hits / cached, "cache-coverage": 100.0 * cached / tokens}
