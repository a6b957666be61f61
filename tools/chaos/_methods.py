"""A method that goes wrong in a way of each seed: `--method tools.chaos.methods:Trouble`."""

from __future__ import annotations

import os
from typing import ClassVar

import torch

from bench.errors import DataError
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import States

HEALED = "TROUBLE_HEALED"
"""Set in the environment: nothing goes wrong any more."""

KINDS = ("exception", "SystemExit", "NaN", "out of memory", "bad data")


class Trouble(Objective):
    """Maximum likelihood until the second step; then what `KINDS` has at the place of its seed."""

    name: ClassVar[str] = "trouble"
    paper: ClassVar[str] = "for tests"
    step = 0

    def loss(self, states: States) -> LossSum:
        self.step += 1
        loss = super().loss(states)
        if self.step < 2 or os.environ.get(HEALED):
            return loss
        return self.go_wrong(KINDS[self.run_seed % len(KINDS)], loss)

    def go_wrong(self, kind: str, loss: LossSum) -> LossSum:
        """Do what a kind of trouble does."""
        if kind == "SystemExit":
            raise SystemExit(0)
        if kind == "NaN":
            return LossSum(loss.total * float("nan"), loss.n_target_tokens, loss.terms)
        if kind == "out of memory":
            raise torch.OutOfMemoryError("out of memory")
        if kind == "bad data":
            raise DataError("row 7 of 'train.txt' is no text")
        raise RuntimeError("something went wrong")
