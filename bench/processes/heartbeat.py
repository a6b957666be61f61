"""Heartbeat: a process says in a small file that it goes on, and where it is; who watches it reads the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

SIZE = 160
"""Bytes of the file: one record, always written at its start."""

OnBeat = Callable[[str, int], None]
"""Told the stage that a process is in, and the step or row it has reached there."""

T = TypeVar("T")


@dataclass(frozen=True)
class Beat:
    """The last sign of life of a process.

    Args:
        count: of its signs so far. It is compared with itself only, never with a clock.
        process: its process id.
        step: of its stage.
        stage: what it does.
    """

    count: int
    process: int
    step: int
    stage: str


class Heartbeat:
    """Writes the signs of life of this process.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        self.count = 0

    def __call__(self, stage: str, step: int = 0) -> None:
        """Say that this process goes on; a disk that refuses costs a sign of life, not the work."""
        self.count += 1
        record = f"{self.count} {os.getpid()} {step} {stage}".encode()[:SIZE]
        with suppress(OSError):
            os.pwrite(self.file, record.ljust(SIZE), 0)


def no_beat(stage: str, step: int = 0) -> None:
    """Say nothing: nobody watches this process."""


def read_beat(path: Path) -> Beat | None:
    """Return the last sign of life in a file, None where there is none yet."""
    try:
        count, process, step, stage = path.read_bytes().decode(errors="replace").split(" ", 3)
        return Beat(int(count), int(process), int(step), stage.strip())
    except (OSError, ValueError):  # not there, or read while it was written: the next look will do
        return None


def beating(items: Iterable[T], stage: str, on_beat: OnBeat) -> Iterator[T]:
    """Yield items, with a sign of life for each."""
    for number, item in enumerate(items, start=1):
        on_beat(stage, number)
        yield item
