"""Execution: how one process works on a run. Its settings change speed, memory and the last bits of numbers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from bench.config.config import ExecutionConfig

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Asks NVIDIA's products for one order of summation; torch wants it in deterministic mode."""


@dataclass(frozen=True)
class Execution(ExecutionConfig):
    """Settings of the section `execution`, the command options that belong to it, and the rank of this process.

    Args:
        accumulate: micro-batches of an optimiser step on each process. The rows of the step stay the same.
        out_of_memory: whether micro-batches were made smaller because memory was short.
        threads: CPU threads of each process; 0 for the number that the environment sets.
        rank: of this process, which stores what was trained if it is the first, 0.
        world: number of processes that share the run.
    """

    accumulate: int = 1
    out_of_memory: bool = False
    threads: int = 0
    rank: int = 0
    world: int = 1

    @property
    def device(self) -> torch.device:
        """The device of this process: a GPU where there are some."""
        if torch.cuda.is_available():
            return torch.device("cuda", self.rank % torch.cuda.device_count())
        return torch.device("cpu")

    def recorded(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, for the provenance of a trained run."""
        content: dict[str, Any] = {"world": self.world, "accumulate": self.accumulate}
        names = ("activation_checkpointing", "deterministic", "out_of_memory")
        return content | {name: True for name in names if getattr(self, name)}

    @contextmanager
    def algorithms(self) -> Iterator[None]:
        """Within a `with` block, use deterministic algorithms where torch has them, if the setting is on.

        The variable CUBLAS_WORKSPACE_CONFIG is set where it is not, and stays: NVIDIA's products read it once.
        """
        before = torch.are_deterministic_algorithms_enabled()
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        if self.deterministic:
            os.environ.setdefault(WORKSPACE, ":4096:8")
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warns)
