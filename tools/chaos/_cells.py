"""Cells that only sleep and publish, on a disk with faults: what chaos runs have in place of training."""

from __future__ import annotations

import errno
import hashlib
import random
import time
from dataclasses import dataclass
from pathlib import Path

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.runner import Ending, Handle, Runner

FULL = "full"
"""A file of this name beside the queue: the disk is full as long as it is there."""


@dataclass(frozen=True)
class Faults:
    """What is wrong with one worker's machine.

    Args:
        lag_s: how old its view of files may be.
        refuse: share of writes that fail for want of space, after a part of them.
        lose: share of links whose reply is lost, after they were made.
        skew_s, rate: of its clock.
    """

    lag_s: float = 0.0
    refuse: float = 0.0
    lose: float = 0.0
    skew_s: float = 0.0
    rate: float = 1.0

    def clock(self) -> float:
        return self.skew_s + self.rate * time.monotonic()


class FaultyFiles(DiskFiles):
    """Real files with faults between them and the worker."""

    def __init__(self, root: Path, faults: Faults, draw: random.Random) -> None:
        super().__init__(root)
        self.faults, self.draw = faults, draw
        self.seen: dict[str, tuple[float, object]] = {}

    def old(self, name: str, look: object) -> object:
        """Return what was seen a while ago, or look again."""
        now = time.monotonic()
        if name in self.seen and now - self.seen[name][0] < self.draw.uniform(0, self.faults.lag_s):
            return self.seen[name][1]
        found = look()  # type: ignore[operator]
        self.seen[name] = (now, found)
        return found

    def names(self, folder: str) -> list[str]:
        return self.old(folder, lambda: super(FaultyFiles, self).names(folder))  # type: ignore[return-value]

    def read(self, name: str, *, fresh: bool = False) -> bytes | None:
        if fresh:
            self.seen.pop(name, None)
        return self.old(name, lambda: super(FaultyFiles, self).read(name))  # type: ignore[return-value]

    def create(self, name: str, content: bytes) -> bool:
        self.need_room()
        return super().create(name, content)

    def write_at(self, name: str, offset: int, data: bytes) -> int:
        if offset:  # a beat needs no room
            self.need_room()
            if self.draw.random() < self.faults.refuse:
                data = data[: self.draw.randrange(len(data))]
        return super().write_at(name, offset, data)

    def link(self, source: str, name: str) -> bool:
        self.need_room()
        won = super().link(source, name)
        if won and self.draw.random() < self.faults.lose:
            raise OSError(errno.EIO, "the reply was lost")
        return won

    def need_room(self) -> None:
        if (self.root / FULL).exists() or self.draw.random() < self.faults.refuse:
            raise OSError(errno.ENOSPC, "disk full")


class SleepingRunner(Runner):
    """Runs cells that sleep for their cost in seconds and publish a few kilobytes."""

    def __init__(self, files: FaultyFiles) -> None:
        self.files = files

    def is_done(self, job: Job) -> bool:
        return result_path(self.files.root, job.key).exists()

    def start(self, job: Job, generation: int, broken: str) -> Handle:
        for parent in job.after:
            if not result_path(self.files.root, parent).exists():
                (self.files.root / f"orphan-{job.key}").touch()
        return Sleeping(self.files, job)

    def give_up(self, job: Job, generation: int, deaths: int) -> None:
        (self.files.root / f"given-up-{job.key}").touch()

    def say(self, text: str) -> None:
        print(text, flush=True)


class Sleeping(Handle):
    """One such cell."""

    def __init__(self, files: FaultyFiles, job: Job) -> None:
        self.files, self.job = files, job
        self.ends = time.monotonic() + job.cost
        self.was_told = False

    def poll(self) -> Ending | None:
        if self.was_told:
            return Ending.STOPPED
        if time.monotonic() < self.ends:
            return None
        self.files.need_room()
        try:
            write_atomic(result_path(self.files.root, self.job.key), content_of(self.job.key))
        except StoreError as error:
            raise OSError(str(error)) from error
        return Ending.DONE

    def stop(self, number: int) -> None:
        self.was_told = True

    def kill(self) -> None:
        self.was_told = True


def result_path(root: Path, key: str) -> Path:
    """Return where a cell publishes."""
    return root / "results" / key


def content_of(key: str) -> bytes:
    """Return what a cell publishes: some kilobytes that only it would."""
    return b"".join(hashlib.sha256(f"{key} {number}".encode()).digest() for number in range(128))
