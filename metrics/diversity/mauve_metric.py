"""MAUVE as a torchmetrics class over gathered features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from bench.metrics.diversity.mauve import mauve
from bench.metrics.faithfulness.embedder import Embedder, embed

__all__ = ["Mauve"]


class Mauve(Metric):
    """MAUVE of all texts against all references; its clusters depend on their order, so ranks may differ in a digit.

    The states are features; nothing is kept on disk. Empty texts are left out.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    references: list[Tensor] | Tensor
    texts: list[Tensor] | Tensor

    def __init__(self, reader: Embedder, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            reader: as `bench.metrics.diversity.mauve.load_reader` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.reader = reader
        self.add_state("references", [], dist_reduce_fx="cat")
        self.add_state("texts", [], dist_reduce_fx="cat")

    def update(self, references: Sequence[str], texts: Sequence[str]) -> None:
        """Add references and texts; there need not be equally many."""
        for state, some in (("references", references), ("texts", texts)):
            values, _ = embed(self.reader, [text for text in some if text])
            getattr(self, state).append(values.to(self.device))

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Gather the features of all ranks; called by `compute`."""
        if isinstance(self.texts, list) and not self.texts:
            self.update([], [])  # something of the right width to send
        super().sync(*args, **kwargs)

    def compute(self) -> Tensor:
        """Return a percentage in float64; not a number below two references or texts.

        Raises:
            NoVerifier: mauve-text is not installed.
        """
        value = mauve(dim_zero_cat(self.references).cpu().numpy(), dim_zero_cat(self.texts).cpu().numpy())
        return torch.tensor(math.nan if value is None else value, dtype=torch.float64, device=self.device)
