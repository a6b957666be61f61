"""Validation rows: as much validation text as is enough to choose a number by, from everywhere in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice, slices

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Batch

MOST_TARGETS = 50_000
"""Targets that are enough to choose by; the batch that reaches them is read whole."""


def rows_from_everywhere(objective: Objective, batches: Sequence[Batch], most: int) -> Iterator[TokenSlice]:
    """Yield slices of whole batches, in an order that is drawn once for all, until there are `most` targets.

    Args:
        objective: whose states they are.
        batches: of a split, asked for one by one.
        most: targets that are enough.
    """
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(0)).tolist()
    n_targets = 0
    for number in order:
        for tokens in slices(objective.states(batches[number]), objective.slice_size):
            yield tokens
            n_targets += len(tokens)
        if n_targets >= most:
            return
