"""Execution: the settings of a process that works on a run. They change speed, memory and place, and last bits only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from bench.config.arguments import RunArguments
from bench.config.execution import ExecutionConfig
from bench.models.backbones.backbone import Backbone
from bench.training.compiled import compiled_body

__all__ = ["Execution", "device_of"]

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Asks NVIDIA's products for one order of summation; torch wants it in deterministic mode."""


@dataclass(frozen=True)
class Execution(ExecutionConfig):
    """How one process works on a run: the section `execution`, the options beside it, and what memory has asked for.

    Args:
        micro_batch: the rows of a micro-batch that were asked for; empty where `accumulate` was.
        strategy: `ddp` or `fsdp`, for several processes.
        out_of_memory: whether there are more micro-batches than asked for, for want of memory.
    """

    micro_batch: str = ""
    strategy: str = "ddp"
    out_of_memory: bool = False

    @staticmethod
    def of(arguments: RunArguments) -> Execution:
        """Return how a run was asked to work."""
        settings = asdict(arguments.execution)
        return Execution(**settings, micro_batch=arguments.micro_batch, strategy=arguments.strategy)

    def cut_into(self, accumulate: int, out_of_memory: bool) -> Execution:
        """Return the same with another number of micro-batches."""
        return replace(self, accumulate=accumulate, out_of_memory=out_of_memory)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for another process: `Execution(**content)` undoes it."""
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
