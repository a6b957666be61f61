"""LogicNLG BLEU as a torchmetrics class, for curves during training and for other people's loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.overlap.table_bleu import (
    N_COUNTS,
    SCALES,
    Scale,
    bleu_counts,
    bleu_from_counts,
    check_pairs,
)

__all__ = ["TableBLEU"]


class TableBLEU(Metric):
    """Add up BLEU-1/2/3 over batches and ranks, and divide once at the end.

    On the corpus scale the states are integers, so the result is that of `corpus_bleu_123` on all sentences together,
    however they were split. On the sentence scale a float64 sum agrees with `sentence_bleu_123` to about 1e-12.

    >>> metric = TableBLEU("corpus")
    >>> metric.update(["The aldra is long"], [["the aldra is the longest river"]])
    >>> [round(score, 2) for score in metric.compute().tolist()]
    [45.49, 42.89, 38.39]
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    counts: Tensor
    total: Tensor

    def __init__(self, scale: Scale = "corpus", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            scale: `corpus` pools counts, `sentence` averages the scores of sentences.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        if scale not in SCALES:
            raise ValueError(f"scale {scale!r} is unknown; there are: {', '.join(SCALES)}")
        self.scale = scale
        # On the corpus scale sums of bleu_counts; on the sentence scale the number of sentences.
        n_counts = N_COUNTS if scale == "corpus" else 1
        self.add_state("counts", torch.zeros(n_counts, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("total", torch.zeros(3, dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        """Add sentences, possibly none; arguments as for `corpus_bleu_123`."""
        if not check_pairs(hypotheses, references):
            return
        counts = [bleu_counts(*pair) for pair in zip(hypotheses, references, strict=True)]
        if self.scale == "corpus":
            self.counts += torch.tensor(counts, device=self.device).sum(dim=0)
            return
        sums = [math.fsum(column) for column in zip(*map(bleu_from_counts, counts), strict=True)]
        self.counts += len(counts)
        self.total += torch.tensor(sums, dtype=torch.float64, device=self.device)

    def compute(self) -> Tensor:
        """Return BLEU-1, -2 and -3 in percent, [3] in float64; not a number before the first sentence."""
        if self.scale == "corpus":
            return torch.tensor(bleu_from_counts(self.counts.tolist()), dtype=torch.float64, device=self.device)
        return self.total / self.counts
