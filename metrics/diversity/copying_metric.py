"""Copy rates as a torchmetrics class; the states are integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.diversity.copying import MAX_N, copied

__all__ = ["CopyRate"]


class CopyRate(Metric):
    """Count what of texts stands in their sources; equal to `copy_rates` and `longest_copied` to the last bit.

    >>> metric = CopyRate()
    >>> metric.update(["a dog ran to the park".split()], ["the dog ran to town".split()])
    >>> {name: round(value.item(), 1) for name, value in metric.compute().items()}
    {'copy-1': 66.7, 'copy-2': 40.0, 'copy-3': 25.0, 'copy-4': 0.0, 'longest-copy': 3.0}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    sums: Tensor

    def __init__(self, **kwargs: Any) -> None:
        """Start from nothing; `kwargs` go to `torchmetrics.Metric`."""
        super().__init__(**kwargs)
        self.add_state("sums", torch.zeros(2, MAX_N + 1, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Sequence[Sequence[str]], sources: Sequence[Sequence[str]]) -> None:
        """Add texts and their sources as words, possibly none; `words_of` makes words of texts."""
        self.sums += torch.from_numpy(copied(texts, sources)).to(self.device)

    def compute(self) -> dict[str, Tensor]:
        """Return `copy-1` to `copy-4` in percent and `longest-copy` in words, in float64; not a number of nothing."""
        parts, totals = self.sums.double()
        names = [f"copy-{n}" for n in range(1, MAX_N + 1)]
        rates = dict(zip(names, 100.0 * parts[:MAX_N] / totals[:MAX_N], strict=True))
        return {**rates, "longest-copy": parts[MAX_N] / totals[MAX_N]}
