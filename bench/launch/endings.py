"""Endings: how a piece of work ends in one process, and which of several processes was the cause of a bad end."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.launch.processes import log_tail
from bench.launch.signals import EXIT_CODES, Stopped

__all__ = ["MEMORY_CODE", "ExitReason", "LostGroup", "MemoryShortageError", "cause_of", "is_out_of_memory"]

MEMORY_CODE = 86
"""What a process ends with that ran out of memory, and whose leader did not answer."""


class MemoryShortageError(BenchError):
    """One of the processes of a group ran out of memory."""


class LostGroup(KeyboardInterrupt):
    """The group has to be started again before the run can be tried with smaller micro-batches."""


@dataclass(frozen=True)
class ExitReason:
    """How a piece of work has ended in one process: well, stopped by a signal, for want of memory, or by an error.

    Args:
        rank: of the process.
        kind: `ok`, `stopped`, `memory` or `failed`.
        code: that the process ends with if nobody tells it otherwise.
        number: of the signal.
        text: the error.
        at: nanoseconds of the wall clock, to tell the first failure from those that followed from it.
    """

    rank: int
    kind: str = "ok"
    code: int = 0
    number: int = 0
    text: str = ""
    at: int = 0

    @staticmethod
    def of(rank: int, error: BaseException | None) -> ExitReason:
        """Return how work ends with an exception, None for a good end."""
        now = time.time_ns()
        if error is None:
            return ExitReason(rank, at=now)
        if isinstance(error, Stopped):
            return ExitReason(rank, "stopped", error.exit_code, int(error.signal), at=now)
        text = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        if isinstance(error, LostGroup) or is_out_of_memory(error):
            return ExitReason(rank, "memory", MEMORY_CODE, text=text, at=now)
        return ExitReason(rank, "failed", 1, text=text, at=now)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of the host or of a device, was not enough."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError, MemoryShortageError)):
        return True
    texts = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def cause_of(codes: Mapping[int, int], scratch: Path, world: int) -> tuple[str, int, str]:
    """Return why ranks have ended badly: a kind, the rank that was the cause, and a text for people.

    Kinds are `memory`, `failed`, `killed` and `stopped` (by a signal, whose exit code the text is). When one rank ends
    badly the agent stops the others, so a rank that was only stopped is the cause where there is no other.

    Args:
        codes: exit codes of ranks that ended badly, those that ended first in front.
        scratch: folder of their logs.
        world: number of ranks.
    """
    by_kind: dict[str, list[int]] = {}
    for rank, code in codes.items():
        kind = "failed"
        if code in EXIT_CODES.values() or -code in EXIT_CODES:
            kind = "stopped"
        elif code == MEMORY_CODE:
            kind = "memory"
        elif code < 0:
            kind = "killed"
        by_kind.setdefault(kind, []).append(rank)
    for kind in ("memory", "failed", "killed", "stopped"):
        if kind in by_kind:
            rank = by_kind[kind][0]
            break
    code = codes[rank]
    if kind == "stopped":
        return kind, rank, str(code if code > 0 else EXIT_CODES[signal.Signals(-code)])
    if kind == "killed":
        return kind, rank, f"process {rank} of {world} was killed by {signal.Signals(-code).name}"
    return kind, rank, f"process {rank} of {world} ended with code {code}:\n" + "\n".join(log_tail(scratch, rank))
