"""Trainer: what a Lightning trainer needs to know as one of several processes, and its signs of life."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy, Strategy

from bench.processes.heartbeat import OnBeat

GROUP_TIMEOUT_S = 1800.0
"""How long a collective waits for the other ranks."""


def placed(
    world: int, strategy: str | Strategy | None, checkpoints: CheckpointIO, timeout: float = 0.0
) -> dict[str, Any]:
    """Return the arguments that tell a trainer where it runs. It never asks a scheduler's variables, such as SLURM's.

    Args:
        world: number of processes, of all machines.
        strategy: a Lightning strategy; by default one process or `ddp`.
        checkpoints: how the trainer reads and writes states.
        timeout: seconds that a collective waits for the other ranks; 0 for the default.
    """
    if world == 1:
        return {"devices": 1, "strategy": strategy or "auto", "plugins": [checkpoints, LightningEnvironment()]}
    here = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    return {
        "devices": here,
        "num_nodes": world // here,
        "strategy": strategy or DDPStrategy(timeout=timedelta(seconds=timeout or GROUP_TIMEOUT_S)),
        "plugins": [checkpoints, TorchElasticEnvironment()],
    }


class Beats(Callback):
    """Gives a sign of life before and after each part of a step, so that who waits for another rank is ahead of it.

    Args:
        on_beat: told the stage and the step.
    """

    def __init__(self, on_beat: OnBeat) -> None:
        self.on_beat = on_beat

    def on_train_batch_start(self, trainer: Trainer, *_: Any) -> None:
        """Give a sign."""
        self.on_beat("training", trainer.global_step + 1)

    def on_before_backward(self, trainer: Trainer, *_: Any) -> None:
        """Give a sign."""
        self.on_beat("training, backward", trainer.global_step + 1)

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *_: Any) -> None:
        """Give a sign."""
        self.on_beat("training, end", trainer.global_step)

    def on_validation_batch_start(self, trainer: Trainer, *_: Any) -> None:
        """Give a sign."""
        self.on_beat("validation", trainer.global_step)

    def on_validation_end(self, trainer: Trainer, *_: Any) -> None:
        """Give a sign."""
        self.on_beat("validation, end", trainer.global_step)
