"""Entity precision as a torchmetrics class: counts, and a sum of shares in float64."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.faithfulness.entity_precision import Level, is_in_source

__all__ = ["EntityPrecision"]


class EntityPrecision(Metric):
    """How many named entities of summaries their sources have (P_ent; Nan et al. 2021), by both aggregates.

    `pooled` is of integers and equal to `entity_precision.aggregate` of all summaries to the last bit; `mean` is of a
    sum in float64 and agrees to about 1e-12. Summaries without an entity are left out of both.

    >>> metric = EntityPrecision(level=1)
    >>> metric.update([["Aldra"], ["Sorn", "ALDRA"], []], ["the aldra rose", "the Aldra fell", "it rained"])
    >>> {name: round(value.item(), 4) for name, value in metric.compute().items()}
    {'mean': 75.0, 'pooled': 66.6667}
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    shares: Tensor
    counts: Tensor

    def __init__(self, level: Level = 2, stop_words: Collection[str] = (), **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            level: how an entity is matched, see `bench.metrics.faithfulness.entity_precision`.
            stop_words: in lower case, for level 2; `entity_precision.stop_words` returns those of the paper's code.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        if level not in (0, 1, 2):
            raise ValueError(f"level {level!r} is unknown; there are: 0, 1, 2")
        self.level, self.stop_words = level, frozenset(stop_words)
        self.add_state("shares", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        # Entities that the source has, entities, summaries that have one.
        self.add_state("counts", torch.zeros(3, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, entities: Sequence[Sequence[str]], sources: Sequence[str]) -> None:
        """Add summaries, possibly none.

        Args:
            entities: of each of `[n]` summaries, as `entity_precision.spacy_entities` returns.
            sources: `[n]` texts.

        Raises:
            ValueError: unlike numbers of summaries and sources.
        """
        if len(entities) != len(sources):
            raise ValueError(f"expected a source per summary, got {len(entities)} summaries and {len(sources)} sources")
        for some, source in zip(entities, sources, strict=True):
            found = sum(is_in_source(entity, source, self.level, self.stop_words) for entity in some)
            self.counts += torch.tensor([found, len(some), len(some) > 0], device=self.device)
            self.shares += found / len(some) if some else 0.0

    def compute(self) -> dict[str, Tensor]:
        """Return `mean` and `pooled` in percent, scalars in float64; not a number before the first entity."""
        found, entities, summaries = self.counts.double()
        return {"mean": 100.0 * self.shares / summaries, "pooled": 100.0 * found / entities}
