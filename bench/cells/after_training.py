"""After training: an objective chooses by data what no step trains, such as a penalty; other processes wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast, overload

import numpy as np
import torch

from bench.base.autocast import autocast
from bench.cells.build import exemplars_of
from bench.cells.cell import Cell
from bench.cells.evaluators import to_device
from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.objective import Objective
from bench.tasks.encode.batches import chosen
from bench.tasks.encode.codec import Codec
from bench.tasks.encode.token_store import TokenStore
from bench.training.events import SILENT, Events
from bench.training.execution import Execution

__all__ = ["SplitBatches", "fitted"]


def fitted(cell: Cell, objective: Objective, codec: Codec, status: str, events: Events) -> dict[str, Any]:
    """Let an objective choose by data what no step trains; return what is recorded of it, or nothing.

    One process does it, on its device; the others read what is stored.

    Raises:
        UsageError: there is no validation batch.
    """
    if status != "ok" or not cell.method.chooses_after_training:
        return {}
    objective.to(Execution().device).eval()
    events.beat("after training", 0)
    train, valid = (SplitBatches(cell, codec, split, objective.device, events) for split in ("train", "valid"))
    if not len(valid):
        raise UsageError(
            f"{cell.label}: chooses on the validation split, which has no rows that fit the model; give the task more "
            f"validation text, or leave the method out"
        )
    with torch.no_grad(), autocast(cell.config.trainer.precision, objective.device):
        return {"after_training": objective.after_training(train, valid)}


class SplitBatches(Sequence[Batch]):
    """The batches of a split in order, each collated and moved when it is asked for.

    Args:
        cell: whose task and batch size; of the validation split it has those rows that validation reads.
        codec: of its backbone.
        split: name.
        device: that batches are moved to.
        events: receives a beat for each batch.
    """

    def __init__(self, cell: Cell, codec: Codec, split: str, device: torch.device, events: Events = SILENT) -> None:
        self.cell, self.codec, self.split = cell, codec, split
        self.device, self.events = device, events
        self.size = cell.config.trainer.batch_size
        self.n_asked = 0

    @cached_property
    def rows(self) -> TokenStore:
        """Every row of the split; they are encoded when the first batch is asked for."""
        return self.cell.task.encoded(self.split, self.codec, exemplars=exemplars_of(self.cell, self.split))

    @cached_property
    def numbers(self) -> np.ndarray[Any, Any]:
        """Which of the rows are read, in order."""
        if self.split != "valid":
            return np.arange(len(self.rows))
        ids = [row.id for row in self.rows]
        required = set(chosen(ids, self.cell.config.trainer.validate_rows))
        return np.array([number for number, name in enumerate(ids) if name in required], dtype=np.int64)

    def __len__(self) -> int:
        return -(-len(self.numbers) // self.size)

    @overload
    def __getitem__(self, index: int) -> Batch: ...

    @overload
    def __getitem__(self, index: slice) -> list[Batch]: ...

    def __getitem__(self, index: int | slice) -> Batch | list[Batch]:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        start = self.size * range(len(self))[index]
        self.n_asked += 1
        self.events.beat("after training", self.n_asked)
        batch = self.codec.picked(self.rows, self.numbers[start : start + self.size])
        return cast("Batch", to_device(batch, self.device))
