"""Corpus BLEU and corpus chrF as a torchmetrics class, exact across batches and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.overlap.chrf import BleuTokenizer, score_of_counts, text_counts

__all__ = ["CorpusOverlap"]


class CorpusOverlap(Metric):
    """Add up what sacrebleu counts, over batches and ranks, and score the sums once at the end.

    The states are integers, so the result is that of `corpus_bleu` or `corpus_chrf` of all texts together to the last
    bit, however they were split.

    >>> metric = CorpusOverlap("bleu")
    >>> metric.update(["the river is very long"], [["the river is very wide", "rivers"]])
    >>> round(metric.compute().item(), 6)
    66.87403
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    counts: Tensor

    def __init__(self, score: Literal["bleu", "chrf"], tokenizer: BleuTokenizer = "13a", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            score: which of the two.
            tokenizer: of BLEU; `chrf.bleu_tokenizer` chooses one by the references.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        (of_nothing,) = text_counts(score, [""], [[""]], tokenizer)
        self.score, self.tokenizer = score, tokenizer
        # Texts, then sums of `text_counts`.
        self.add_state("counts", torch.zeros(1 + len(of_nothing), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        """Add texts, possibly none; arguments as for `chrf.corpus_bleu`."""
        found = text_counts(self.score, hypotheses, references, self.tokenizer)
        if found:
            self.counts += torch.tensor([[1, *one] for one in found], device=self.device).sum(dim=0)

    def compute(self) -> Tensor:
        """Return the score in percent, a scalar in float64; not a number before the first text."""
        texts, *counts = self.counts.tolist()
        score = score_of_counts(self.score, counts) if texts else torch.nan
        return torch.tensor(score, dtype=torch.float64, device=self.device)
