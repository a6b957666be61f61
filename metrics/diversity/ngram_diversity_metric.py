"""N-gram diversity of open-ended text as torchmetrics classes; all states are integers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.metrics.diversity import ngram_diversity
from bench.metrics.diversity.ngrams import Texts

__all__ = ["NgramDiversity", "SimctgDiversity"]


class NgramDiversity(Metric):
    """Meister et al.'s n-gram diversity; equal to `ngram_diversity` of all texts to the last bit.

    The state is five integers a text: its different n-grams of four orders, and its length.

    >>> metric = NgramDiversity()
    >>> metric.update([[1, 2, 1, 2, 1]])
    >>> metric.update([[1, 1]])
    >>> round(metric.compute().item(), 4)
    69.5833
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    counts: list[Tensor] | Tensor

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing; `kwargs` go to `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        self.add_state("counts", [], dist_reduce_fx="cat")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        assert isinstance(self.counts, list)
        self.counts.append(torch.from_numpy(ngram_diversity.kinds_and_lengths(texts)).to(self.device))

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the counts of all ranks; called by `compute`."""
        if isinstance(self.counts, list) and not self.counts:
            self.update([])  # torchmetrics would send floats beside integers
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return a percentage in float64; not a number before the first text with a token."""
        held = self.counts if isinstance(self.counts, Tensor) or self.counts else [torch.zeros(0, 5)]
        return _tensor(ngram_diversity.mean_of(dim_zero_cat(held).cpu().numpy()), self.device)


class SimctgDiversity(Metric):
    """SimCTG's diversity; equal to `simctg_diversity` of all texts to the last bit.

    >>> metric = SimctgDiversity("paper")
    >>> metric.update([[1, 2, 1, 2, 1]])
    >>> metric.update([[3, 4, 5, 6]])
    >>> round(metric.compute().item(), 4)
    57.1429
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    sums: Tensor

    def __init__(self, definition: ngram_diversity.Definition = "released", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            definition: `released` or `paper`, see `bench.metrics.diversity.ngram_diversity`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        ngram_diversity.simctg_signature(definition, "")  # refuses an unknown definition
        self.definition = definition
        self.add_state("sums", torch.zeros(2, 3, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        self.sums += torch.from_numpy(ngram_diversity.pooled(texts, self.definition)).to(self.device)

    def compute(self) -> Tensor:
        """Return a percentage in float64; not a number while an order has no n-gram."""
        return _tensor(ngram_diversity.product_of(self.sums.cpu().numpy(), self.definition), self.device)


def _tensor(value: float | None, device: torch.device) -> Tensor:
    return torch.tensor(math.nan if value is None else value, dtype=torch.float64, device=device)
