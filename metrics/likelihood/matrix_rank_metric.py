"""The rank of a matrix of log-probabilities as a torchmetrics class over gathered rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.metrics.likelihood.matrix_rank import Precision, rank_of, singular_values

__all__ = ["MatrixRank"]


class MatrixRank(Metric):
    """Rank of all rows of A together (HistAlign, section 4.1); equal to `rank_of` their singular values.

    No sum of batches has the rank of the whole, so the rows are kept, 8 bytes a number: 1,000 contexts and 50,000 words
    take 400 MB. Their order does not change the rank but where a singular value is equal to the tolerance.

    >>> metric = MatrixRank(words=3)
    >>> metric.update(torch.tensor([[-1.0, -2.0, -3.0]]))
    >>> metric.update(torch.tensor([[-2.0, -4.0, -6.0], [-1.0, -1.0, -1.0]]))
    >>> metric.compute().item()
    2
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    rows: list[Tensor] | Tensor

    def __init__(self, words: int, precision: Precision = "float64", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            words: V, the length of a row.
            precision: which singular values count as zero, see `bench.metrics.likelihood.matrix_rank.rank_of`.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        rank_of(torch.zeros(0), (0, words), precision)  # refuses an unknown precision
        self.words, self.precision = words, precision
        self.add_state("rows", [], dist_reduce_fx="cat")

    def update(self, log_probs: Tensor) -> None:
        """Add `[n, V]` finite log-probabilities of any precision, possibly of no context.

        Raises:
            ValueError: another shape.
        """
        if log_probs.ndim != 2 or log_probs.shape[1] != self.words:
            raise ValueError(f"expected log-probabilities [n, {self.words}], got {tuple(log_probs.shape)}")
        assert isinstance(self.rows, list)
        self.rows.append(log_probs.detach().to(self.device, torch.float64))

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the rows of all ranks; called by `compute`."""
        if isinstance(self.rows, list) and not self.rows:
            self.update(torch.zeros(0, self.words))  # something of the right width to send
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return the rank, an integer; 0 before the first row."""
        held = self.rows if isinstance(self.rows, Tensor) or self.rows else [torch.zeros(0, self.words)]
        matrix = dim_zero_cat(held)
        shape = (matrix.shape[0], matrix.shape[1])
        return torch.tensor(rank_of(singular_values(matrix), shape, self.precision), device=self.device)
