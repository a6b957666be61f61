"""How: what decides speed, memory and place of a cell's work, and no result but for rounding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from bench.config.arguments import RunArguments
from bench.models.backbones.backbone import Backbone
from bench.store.state_files import SECONDS
from bench.training.compiled import compiled_body

__all__ = ["How", "device_of"]

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Asks NVIDIA's products for one order of summation; torch wants it in deterministic mode."""


@dataclass(frozen=True)
class How:
    """How one process works on a cell.

    Args:
        accumulate: micro-batches of an optimiser step on each process.
        out_of_memory: whether there are more of them than asked for, for want of memory.
        micro_batch: the rows of one that were asked for; empty where `accumulate` was.
        strategy: `ddp` or `fsdp`, for several processes.
        activation_checkpointing: whether activations are computed again in the backward pass.
        compile: whether the body of the model is compiled for the training.
        deterministic: whether torch takes only algorithms that give the same bits each time, where it has them.
        workers: processes beside this one that prepare batches.
        state_every: seconds from one state of the training to the next.
    """

    accumulate: int = 1
    out_of_memory: bool = False
    micro_batch: str = ""
    strategy: str = "ddp"
    activation_checkpointing: bool = False
    compile: bool = False
    deterministic: bool = False
    workers: int = 0
    state_every: float = SECONDS

    @staticmethod
    def of(arguments: RunArguments) -> How:
        """Return how a run was asked to work."""
        asked = arguments.execution
        return How(
            accumulate=asked.accumulate,
            micro_batch=arguments.micro_batch,
            strategy=arguments.strategy,
            activation_checkpointing=asked.activation_checkpointing,
            compile=asked.compile,
            deterministic=asked.deterministic,
            workers=asked.workers,
            state_every=asked.state_every,
        )

    def cut_into(self, accumulate: int, out_of_memory: bool) -> How:
        """Return the same with another number of micro-batches."""
        return replace(self, accumulate=accumulate, out_of_memory=out_of_memory)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for another process: `How(**content)` undoes it."""
        return asdict(self)

    def recorded(self, world: int, rows: int) -> dict[str, Any]:
        """Return what the provenance of a trained cell says of it: what was asked for, where it is not the default.

        Args:
            world: processes.
            rows: of an optimiser step.
        """
        said: dict[str, Any] = {"world": world, "accumulate": self.accumulate}
        if world > 1:
            said["strategy"] = self.strategy
        if self.micro_batch:
            micro_batches = world * self.accumulate
            said["micro_batch"] = {"asked": self.micro_batch, "rows": -(-rows // micro_batches)}
        for name in ("activation_checkpointing", "compile", "deterministic", "out_of_memory"):
            if getattr(self, name):
                said[name] = True
        return said

    @contextmanager
    def algorithms(self) -> Iterator[None]:
        """Let torch choose algorithms as asked, for the time of a `with` block."""
        if not self.deterministic:
            yield
            return
        with deterministic_algorithms():
            yield

    @contextmanager
    def body(self, backbone: Backbone, rank: int) -> Iterator[None]:
        """Compile the body of a model if asked, for the time of a `with` block of training."""
        if not self.compile:
            yield
            return
        with compiled_body(backbone, device_of(rank)):
            yield


@contextmanager
def deterministic_algorithms() -> Iterator[None]:
    """Let torch take only algorithms that give the same bits each time, for the time of a `with` block.

    Where torch has none it warns and goes on. Afterwards its mode and what it does then are as before. The variable
    CUBLAS_WORKSPACE_CONFIG is set where it is not, and stays: NVIDIA's products read it once, when a process first uses
    them.
    """
    before, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    os.environ.setdefault(WORKSPACE, ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warns)


def device_of(rank: int) -> torch.device:
    """Return the device of a process: a GPU where there are some."""
    if torch.cuda.is_available():
        return torch.device("cuda", rank % torch.cuda.device_count())
    return torch.device("cpu")
