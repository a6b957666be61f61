"""Recorder: the curve of a training, and the step at which a loss or a weight was no longer finite."""

import math
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from bench.models.core.objective import Objective
from bench.training.events import Events

CURVE_POINTS = 100
"""Points of the training curve that are kept."""


class Recorder(Callback):
    """Keeps the training curve, and stops a run whose loss or weights are no longer finite.

    Each step's loss is looked at where it lies; the answer is fetched at the points of the curve only, together with a
    look at the weights: a gradient that is not finite leaves them so for good.

    Args:
        steps: of the whole training.
        accumulate: micro-batches of a step on this rank.
        events: receives the points of the curve, on the first rank.
    """

    def __init__(self, steps: int, accumulate: int, events: Events) -> None:
        self.steps, self.accumulate, self.events = steps, accumulate, events
        self.step = self.tokens = 0
        self.diverged_at: int | None = None
        self.curve: list[list[float]] = []
        self.sums: dict[str, torch.Tensor] = {}
        self.bad_at: torch.Tensor | None = None  # first step whose loss was not finite; infinite if there is none
        self.every = max(1, steps // CURVE_POINTS)

    def state_dict(self) -> dict[str, Any]:
        """Return the state from which a training is resumed, at the end of a step."""
        return {"step": self.step, "tokens": self.tokens, "curve": self.curve, "accumulate": self.accumulate}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state; a diverged training has none."""
        self.step, self.tokens, self.curve = state_dict["step"], state_dict["tokens"], state_dict["curve"]

    def ends_step(self, batch: Any) -> bool:
        """Return whether a micro-batch is the last one of its step."""
        return (int(batch["item"]) + 1) % self.accumulate == 0

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the micro-batch's share of the step's loss; at the end of a step, record it."""
        assert isinstance(module, Objective)
        for name, value in module.logged.items():
            self.sums[name] = self.sums.get(name, torch.zeros_like(value)) + value
        if not self.ends_step(batch):
            return
        self.step += 1
        loss = self.sums["loss"]  # the first step at which it is not finite is noted without waiting for the device
        if self.bad_at is None:
            self.bad_at = torch.full_like(loss, math.inf)
        self.bad_at = torch.where(loss.isfinite(), self.bad_at, self.bad_at.clamp(max=self.step))
        self.tokens += int(batch["step_tokens"])
        if (self.step % self.every == 0 or self.step == self.steps) and self.is_finite(trainer, module):
            self._record(trainer)
        self.sums = {}

    def is_finite(self, trainer: Trainer, module: LightningModule) -> bool:
        """Return whether losses and weights are finite on all ranks, all of which ask; if not, stop the training."""
        if self.bad_at is None:  # nothing was trained since the state was loaded
            return True
        finite = torch.stack([p.detach().isfinite().all() for p in module.parameters() if p.requires_grad]).all()
        bad_at = torch.where(finite, self.bad_at, self.bad_at.clamp(max=self.step))
        first = float(trainer.strategy.reduce(bad_at, reduce_op="min"))
        if not math.isfinite(first):
            return True
        self.diverged_at = int(first)
        trainer.should_stop = True
        return False

    def _record(self, trainer: Trainer) -> None:
        """Add a point to the curve, the average over ranks: each holds its share times the number of copies."""
        values = torch.stack([v.float() for v in self.sums.values()]) / self.accumulate
        values = trainer.strategy.reduce(values, reduce_op="mean")
        named = dict(zip(self.sums, values.tolist(), strict=True))
        self.curve.append([self.step, round(named["loss"], 6)])
        if trainer.is_global_zero:
            self.events.step(self.step, self.steps, {**named, "tokens": self.tokens})

    def result(self) -> dict[str, Any]:
        """Return what a record says of the training."""
        return {
            "status": "ok" if self.diverged_at is None else "diverged",
            "diverged_at": self.diverged_at,
            "steps": self.step,
            "tokens": self.tokens,
            "curve": self.curve,
        }
