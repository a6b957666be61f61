"""Endings: how the ranks of a group have ended, and which of them was the cause."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NoReturn

from bench.base.files import write_atomic
from bench.base.signals import EXIT_CODES, Stopped
from bench.errors import BenchError

Kind = Literal["ok", "stopped", "memory", "failed"]

MEMORY_CODE = 86
"""What a rank ends with that ran out of memory."""

TAIL = 12
"""Last lines of a log that a message repeats."""


class GroupError(BenchError):
    """One of several processes failed.

    Args:
        rank: which one.
        world: of how many.
        code: what it ended with.
        log: the last lines that it printed.
    """

    def __init__(self, rank: int, world: int, code: int, log: Sequence[str]) -> None:
        super().__init__(f"process {rank} of {world} ended with code {code}:\n" + "\n".join(log))
        self.rank, self.code, self.log = rank, code, log


class MemoryShortageError(BenchError):
    """One of several processes ran out of memory."""


@dataclass(frozen=True)
class Ending:
    """How a rank has ended, as it said itself.

    Args:
        rank: which one.
        kind: of end.
        code: of the process.
        number: of the signal that stopped it, 0 for none.
        text: what went wrong.
        at: when, in nanoseconds; compared on one machine only.
    """

    rank: int
    kind: Kind
    code: int = 0
    number: int = 0
    text: str = ""
    at: int = 0

    def as_json(self) -> bytes:
        """Return the content for a file."""
        return json.dumps(asdict(self)).encode()


def ending_of(rank: int, error: BaseException | None) -> Ending:
    """Return how a rank ends with an exception, None for a good end."""
    now = time.time_ns()
    if error is None:
        return Ending(rank, "ok", at=now)
    if isinstance(error, Stopped):
        return Ending(rank, "stopped", error.exit_code, int(error.signal), at=now)
    text = f"{type(error).__name__}: {error}"
    if is_out_of_memory(error):
        return Ending(rank, "memory", MEMORY_CODE, text=text, at=now)
    return Ending(rank, "failed", 1, text=text, at=now)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of the host or of a device, was not enough."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError, MemoryShortageError)):
        return True
    texts = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def leave(scratch: Path, ending: Ending) -> None:
    """Leave an ending for who watches."""
    write_atomic(scratch / f"ending.{ending.rank}", ending.as_json(), replace=True)


def read_ending(scratch: Path, rank: int) -> Ending | None:
    """Return how a rank said that it ends, None while it has not."""
    path = scratch / f"ending.{rank}"
    if not path.exists():
        return None
    return Ending(**json.loads(path.read_bytes()))


def log_tail(scratch: Path, rank: int, lines: int = TAIL) -> list[str]:
    """Return the last lines that a rank printed."""
    path = scratch / f"log.{rank}"
    if not path.exists():
        return []
    return path.read_text(errors="replace").strip().splitlines()[-lines:]


def raise_cause(endings: Sequence[Ending], codes: Mapping[int, int], scratch: Path, world: int) -> None:
    """Raise for the rank that explains the others, which have only lost it; return if all ended well.

    Args:
        endings: what ranks have said.
        codes: exit codes of processes that ended badly and were not ended by us.
        scratch: folder of their logs.
        world: number of ranks.

    Raises:
        GroupError: a rank was killed, or raised an exception.
        MemoryShortageError: a rank ran out of memory.
        Stopped: a signal came to a rank.
    """

    def fail(rank: int, code: int, text: str = "") -> NoReturn:
        raise GroupError(rank, world, code, log_tail(scratch, rank) or [text])

    said = {ending.rank: ending for ending in endings}
    unsaid = {rank: code for rank, code in codes.items() if rank not in said}
    stops = {-number: number for number in EXIT_CODES}  # a signal that came before there was a handler
    for rank, code in unsaid.items():
        if code < 0 and code not in stops:
            fail(rank, code)
    ordered = sorted(endings, key=lambda ending: ending.at)
    for ending in ordered:
        if ending.kind == "memory":
            raise MemoryShortageError(f"process {ending.rank} of {world}: {ending.text}")
    for ending in ordered:
        if ending.kind == "failed":
            fail(ending.rank, ending.code, ending.text)
    for rank, code in unsaid.items():
        if code > 0:
            fail(rank, code)
    for ending in ordered:
        if ending.kind == "stopped":
            raise Stopped(ending.number)
    for code in unsaid.values():
        raise Stopped(signal.Signals(-code))
