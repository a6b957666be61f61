"""Self-BLEU, MS-Jaccard and Distinct-n as torchmetrics classes over gathered texts.

These compare every text with all others, so that no sum can stand for a batch: the states are the texts themselves, one
tensor of token ids with a -1 after each text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.metrics.diversity import distinct, ms_jaccard, self_bleu
from bench.metrics.diversity.ngrams import Texts, flatten

__all__ = ["Distinct", "MSJaccard", "SelfBLEU"]

END = -1


class SelfBLEU(Metric):
    """Self-BLEU-1 to -n over all texts of all batches and ranks; equal to `self_bleu` of them to the last bit.

    >>> metric = SelfBLEU(max_n=2)
    >>> metric.update([[1, 2, 3, 4], [1, 2, 3, 5]])
    >>> metric.update([[6, 7, 8, 9]])
    >>> [round(value, 2) for value in metric.compute().tolist()]
    [50.0, 47.14]
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    texts: list[Tensor] | Tensor

    def __init__(self, max_n: int = 4, definition: self_bleu.Definition = "f2_code", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            max_n: largest order.
            definition: what zero shared n-grams count as, see `bench.metrics.diversity.self_bleu`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self_bleu.signature(max_n, definition)  # refuses an unknown definition
        self.max_n, self.definition = max_n, definition
        self.add_state("texts", [], dist_reduce_fx="cat")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        _add(self, "texts", texts)

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the texts of all ranks; called by `compute`."""
        _never_nothing(self, "texts")
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return percentages `[max_n]` in float64; not a number where Self-BLEU is not defined."""
        return _tensor(self_bleu.self_bleu(_unpacked(self.texts), self.max_n, self.definition), self.device)


class MSJaccard(Metric):
    """MS-Jaccard-1 to -n of all texts and references; equal to `ms_jaccard` of them to the last bit.

    >>> metric = MSJaccard(max_n=2)
    >>> metric.update([[1, 2, 3, 4]], [[1, 2, 3, 5]])
    >>> [round(value, 2) for value in metric.compute().tolist()]
    [60.0, 54.77]
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    texts: list[Tensor] | Tensor
    references: list[Tensor] | Tensor

    def __init__(self, max_n: int = 3, definition: ms_jaccard.Definition = "original", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            max_n: largest order.
            definition: what counts are relative to, see `bench.metrics.diversity.ms_jaccard`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        ms_jaccard.signature(max_n, definition)
        self.max_n, self.definition = max_n, definition
        self.add_state("texts", [], dist_reduce_fx="cat")
        self.add_state("references", [], dist_reduce_fx="cat")

    def update(self, texts: Texts, references: Texts) -> None:
        """Add token ids of texts and of references; there need not be equally many."""
        _add(self, "texts", texts)
        _add(self, "references", references)

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the texts of all ranks; called by `compute`."""
        _never_nothing(self, "texts", "references")
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return percentages `[max_n]` in float64; not a number where MS-Jaccard is not defined."""
        texts, references = _unpacked(self.texts), _unpacked(self.references)
        return _tensor(ms_jaccard.ms_jaccard(texts, references, self.max_n, self.definition), self.device)


class Distinct(Metric):
    """Distinct-n of all texts; equal to `distinct` of them to the last bit.

    >>> metric = Distinct(1)
    >>> metric.update([[1, 2, 1, 2, 1, 2], [1, 1]])
    >>> round(metric.compute().item(), 2)
    33.33
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    texts: list[Tensor] | Tensor

    def __init__(self, n: int = 1, definition: distinct.Definition = "f2_code", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            n: order.
            definition: what is divided by what, see `bench.metrics.diversity.distinct`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        distinct.signature(n, definition)
        self.n, self.definition = n, definition
        self.add_state("texts", [], dist_reduce_fx="cat")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        _add(self, "texts", texts)

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the texts of all ranks; called by `compute`."""
        _never_nothing(self, "texts")
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return a percentage in float64; not a number where Distinct-n is not defined."""
        return _tensor([distinct.distinct(_unpacked(self.texts), self.n, self.definition)], self.device)[0]


def _add(metric: Metric, state: str, texts: Texts) -> None:
    flatten(texts)  # refuses what is no token id, before it is mixed with others
    getattr(metric, state).append(_packed(texts, metric.device))


def _packed(texts: Texts, device: torch.device) -> Tensor:
    """Return the texts one after the other, `[tokens + texts]`, each followed by `END`."""
    return torch.tensor([token for text in texts for token in (*text, END)], dtype=torch.int64, device=device)


def _never_nothing(metric: Metric, *states: str) -> None:
    """Have an integer tensor to send on a rank without a text: torchmetrics would send floats beside integers."""
    for state in states:
        if isinstance(held := getattr(metric, state), list) and not held:
            held.append(_packed([], metric.device))


def _unpacked(state: list[Tensor] | Tensor) -> list[list[int]]:
    if isinstance(state, list) and not state:
        return []
    tokens: list[int] = dim_zero_cat(state).tolist()
    texts, start = [], 0
    for place, token in enumerate(tokens):
        if token == END:
            texts.append(tokens[start:place])
            start = place + 1
    return texts


def _tensor(values: Sequence[float | None], device: torch.device) -> Tensor:
    return torch.tensor([math.nan if v is None else v for v in values], dtype=torch.float64, device=device)
