"""The settings of a run that change its speed, its memory and its place, and no key: `--set execution.NAME=VALUE`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from bench.base.options import Amount, Positive, Range

__all__ = ["ExecutionConfig"]


@dataclass(frozen=True)
class ExecutionConfig:
    """The section `execution`. Settings that most runs choose, such as `--jobs`, are options of their own.

    Args:
        accumulate: micro-batches of an optimiser step on each process. The rows of the step stay the same.
        activation_checkpointing: compute activations again in the backward pass: less memory, a second forward pass.
        compile: compile the body of a model for its training: faster on a GPU after a slow start. The last bits of a
            loss change, and the record of the run says so.
        deterministic: use only algorithms that give the same bits each time, where torch has them: slower on a GPU.
        workers: processes that prepare batches.
        state_every: seconds from one saved state of a training to the next; 0 saves one after each step.
        log_dir: the folder of loggers that write files.
    """

    accumulate: Positive = 1
    activation_checkpointing: bool = False
    compile: bool = False
    deterministic: bool = False
    workers: Annotated[int, Range(0)] = 0
    state_every: Amount = 300.0
    log_dir: str = "logs"
