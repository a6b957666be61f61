"""Zipf: how often the tokens of running text occur, where there is no text to count."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["zipf_counts"]

TOKENS = 10**8
"""Of the text, about, but for a factor that grows with the vocabulary."""


def zipf_counts(vocabulary: int) -> Tensor:
    """Return the count of each token id, int64 [V], near the law of Zipf and Mandelbrot: as 1 / (id + 3).

    >>> zipf_counts(3).tolist()
    [33333334, 25000000, 20000000]
    """
    return (TOKENS / (torch.arange(vocabulary) + 3.0)).long()
