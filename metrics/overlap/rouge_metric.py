"""ROUGE as a torchmetrics class, for curves during training and for other people's loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.overlap.rouge import USUAL, Kind, Measure, Several, check_options, text_scores
from bench.metrics.overlap.rouge_tokens import Tokenizer, count_letters, is_applicable

__all__ = ["Rouge"]


class Rouge(Metric):
    """Add up the scores of texts over batches and ranks, and divide once at the end.

    The states are a sum in float64 and integers, so the result agrees with `rouge` of all texts together to about
    1e-12, however they were split.

    >>> metric = Rouge(["rouge-1", "rouge-l"])
    >>> metric.update(["the river is long"], [["the long river", "a river"]])
    >>> [round(score, 2) for score in metric.compute().tolist()]
    [85.71, 57.14]
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    total: Tensor
    counts: Tensor

    def __init__(
        self,
        kinds: Sequence[Kind] = USUAL,
        measure: Measure = "f1",
        tokenizer: Tokenizer = "stemmed",
        several: Several = "max",
        max_bytes: int | None = None,
        as_long: bool = False,
        **kwargs: Any,
    ) -> None:
        """Start from nothing.

        Args:
            kinds: some of `rouge.KINDS`.
            measure: as for `rouge.rouge`.
            tokenizer: as for `rouge.rouge`.
            several: as for `rouge.rouge`.
            max_bytes: as for `rouge.rouge`.
            as_long: as for `rouge.rouge`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        check_options(kinds, measure, tokenizer, several, max_bytes)
        self.kinds, self.measure, self.tokenizer = tuple(kinds), measure, tokenizer
        self.several, self.max_bytes, self.as_long = several, max_bytes, as_long
        self.add_state("total", torch.zeros(len(kinds), dtype=torch.float64), dist_reduce_fx="sum")
        # Texts, letters of the references, and how many of these rouge-score's tokenizer drops.
        self.add_state("counts", torch.zeros(3, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        """Add texts, possibly none; arguments as for `rouge.rouge`."""
        scores = text_scores(
            hypotheses,
            references,
            self.kinds,
            self.measure,
            tokenizer=self.tokenizer,
            several=self.several,
            max_bytes=self.max_bytes,
            as_long=self.as_long,
        )
        letters = count_letters(text for texts in references for text in texts)
        self.total += torch.from_numpy(np.sum(scores, axis=0)).to(self.device)
        self.counts += torch.tensor([len(scores), *letters], device=self.device)

    def compute(self) -> Tensor:
        """Return each kind in percent, [kinds] in float64 or a scalar of one; not a number before the first text.

        Nor is it a number where `rouge.rouge` is None: the tokenizer drops more than half of the references' letters.
        """
        texts, letters, dropped = self.counts.tolist()
        if not is_applicable(letters, dropped, self.tokenizer):
            return torch.full_like(self.total, torch.nan)
        return 100.0 * self.total / texts
