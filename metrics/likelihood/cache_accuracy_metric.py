"""Acc@k as a torchmetrics class, for curves during training and for other people's loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.likelihood.cache_accuracy import KS

__all__ = ["CacheAccuracy"]


class CacheAccuracy(Metric):
    """Count prompts whose two words are both among the k best tokens (HistAlign, section 5.3), for several k at once.

    The states are integers, so ranks and batches add up exactly, and equal `acc_at_k` of the same prompts to the last
    bit. Feed every prompt once: unlike the function, which sees ids, this class cannot tell a repeated prompt from a
    new one.

    >>> metric = CacheAccuracy(ks=(1, 2))
    >>> metric.update(torch.tensor([[3, 4, 9], [3, 9, 4]]), [[[3, 30], [4]], [[3], [4]]])
    >>> {k: float(value) for k, value in metric.compute().items()}
    {1: 0.0, 2: 50.0}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    hits: Tensor
    prompts: Tensor

    def __init__(self, ks: Sequence[int] = KS, **kwargs: Any) -> None:
        """Start counting.

        Args:
            ks: Numbers of guesses, each at least 1, in the order of the result.
            **kwargs: Passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        if not ks or min(ks) < 1:
            raise ValueError(f"ks must be one or more positive numbers, it is {tuple(ks)}")
        self.ks = tuple(ks)
        self.add_state("hits", torch.zeros(len(self.ks), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("prompts", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, top_ids: Tensor, wanted: Tensor | Sequence[Sequence[Sequence[int]]]) -> None:
        """Add a batch of prompts.

        Args:
            top_ids: `[n, depth]` token ids, best first; fill up a short cache with a negative number.
            wanted: `[n, 2, p]` ids each word may begin with, filled up with negative numbers, or the same as nested
                lists of any lengths.
        """
        top_ids = torch.as_tensor(top_ids, device=self.device)
        wanted = _padded(wanted).to(self.device)
        if top_ids.ndim != 2 or wanted.ndim != 3 or wanted.shape[:2] != (len(top_ids), 2):
            shapes = f"{tuple(top_ids.shape)} and {tuple(wanted.shape)}"
            raise ValueError(f"top_ids must be [n, depth] and wanted [n, 2, p]; they are {shapes}")
        match = (top_ids[:, None, None, :] == wanted[..., None]) & (wanted >= 0)[..., None]  # [n, 2, p, depth]
        found = match.any(dim=2)  # [n, 2, depth]
        for place, k in enumerate(self.ks):
            self.hits[place] += found[..., :k].any(dim=-1).all(dim=-1).sum()
        self.prompts += len(top_ids)

    def compute(self) -> dict[int, Tensor]:
        """Return `{k: percentage}` in float64; not a number before the first prompt."""
        percent = 100.0 * self.hits.double() / self.prompts.double()
        return dict(zip(self.ks, percent, strict=True))


def _padded(wanted: Tensor | Sequence[Sequence[Sequence[int]]]) -> Tensor:
    if isinstance(wanted, Tensor):
        return wanted
    longest = max((len(word) for words in wanted for word in words), default=0)
    rows = [[[*word, *[-1] * (longest - len(word))] for word in words] for words in wanted]
    return torch.tensor(rows, dtype=torch.int64) if rows else torch.zeros(0, 2, 0, dtype=torch.int64)
