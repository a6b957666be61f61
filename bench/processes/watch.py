"""Watch: which rank of a group, or child of a queue, gives no sign of life any more, and what it was doing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.processes.heartbeat import Beat, read_beat

LEAST_S = 900.0
"""Without a limit of the user's, a rank may be silent for so long, or longer where steps take long."""

TIMES_LONGEST = 10
"""It may be silent for so many times the longest silence that any rank has come back from."""

STACK_S = 2.0
"""How long a rank may take to write its stack."""

STACK_LINES = 20


class StalledError(BenchError):
    """A process gave no sign of life for too long, or a cell took longer than it may."""


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds.

    Args:
        stall: from one sign of life of a rank to the next; 0 for a limit that follows the longest seen.
        cell: of the whole cell; 0 for no limit.
    """

    stall: float = 0.0
    cell: float = 0.0


class Watch:
    """Looks at the heartbeats of a group.

    Args:
        scratch: folder of their files.
        world: number of ranks.
        limits: how long a rank may be silent, and the whole group may take.
    """

    def __init__(self, scratch: Path, world: int, limits: Limits) -> None:
        self.scratch, self.world, self.limits = scratch, world, limits
        now = time.monotonic()
        self.started = self.looked = now
        self.beats: dict[int, Beat] = {}
        self.at = dict.fromkeys(range(world), now)  # of the last change that was seen
        self.longest = 0.0  # silence that a rank has come back from
        self.longest_step = 0.0  # the same within training and evaluation, where steps are counted

    @property
    def processes(self) -> dict[int, int]:
        """The process ids of the ranks that have given a sign of life."""
        return {rank: beat.process for rank, beat in self.beats.items()}

    @property
    def limit(self) -> float:
        """Seconds of silence that are too long."""
        return self.limits.stall or max(LEAST_S, TIMES_LONGEST * self.longest)

    def look(self, ended: Collection[int]) -> str | None:
        """Read the heartbeats; return who is silent for too long, or that the whole took too long.

        Args:
            ended: ranks that are not waited for.
        """
        now = time.monotonic()
        if now - self.looked > 5:  # this process was stopped, and perhaps the ranks with it: they get time
            self.at = {rank: at + now - self.looked for rank, at in self.at.items()}
        self.looked = now
        for rank in range(self.world):
            beat = read_beat(self.scratch / f"heartbeat.{rank}")
            if beat is not None and beat != self.beats.get(rank):
                self._heard(rank, beat, now)
        if self.limits.cell and now - self.started > self.limits.cell:
            return f"stalled: the cell took longer than {self.limits.cell:g} s (--cell-timeout)"
        silences = {rank: now - at for rank, at in self.at.items() if rank not in ended}
        if not silences or max(silences.values()) <= self.limit:
            return None
        return self._named(self._culprit(silences), silences)

    def _heard(self, rank: int, beat: Beat, now: float) -> None:
        """Take note of a sign of life."""
        before, silence = self.beats.get(rank), now - self.at[rank]
        if before is not None:
            self.longest = max(self.longest, silence)
            if before.step:
                self.longest_step = max(self.longest_step, silence)
        self.beats[rank], self.at[rank] = beat, now

    def _culprit(self, silences: dict[int, float]) -> int:
        """Return the rank that the other silent ones wait for: a stopped one, or the one that is behind."""
        about_as_long = [rank for rank, silence in silences.items() if silence > 0.8 * self.limit]

        def behind(rank: int) -> tuple[bool, int, int]:
            beat = self.beats.get(rank)
            if beat is None:
                return True, 0, rank
            return not is_stopped(beat.process), beat.count, rank

        return min(about_as_long, key=behind)

    def _named(self, rank: int, silences: dict[int, float]) -> str:
        """Say which rank is silent, for how long and where."""
        beat, where = self.beats.get(rank), "it has not started"
        if beat is not None:
            where = f"last seen in {beat.stage}, step {beat.step}"
            if is_stopped(beat.process):
                where += "; its process is stopped"
            where += self._stack(rank, beat)
        return f"stalled: rank {rank} of {self.world} was silent for {silences[rank]:.0f} s, {where}"

    def _stack(self, rank: int, beat: Beat) -> str:
        """Have a rank write the stacks of its threads into its log; return what it wrote."""
        log = self.scratch / f"log.{rank}"
        before = size_of(log)
        with suppress(OSError):
            os.kill(beat.process, signal.SIGQUIT)
            os.kill(beat.process, signal.SIGCONT)
        deadline, size = time.monotonic() + STACK_S, before
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if before < size_of(log) == size:
                break
            size = size_of(log)
        if size_of(log) == before:
            return "\n(it wrote no stack)"
        with open(log, errors="replace") as file:
            file.seek(before)
            return "\n" + main_stack(file.read())


def size_of(file: Path) -> int:
    """Return the bytes of a file, 0 where it is not there yet."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def main_stack(text: str) -> str:
    """Return the first lines of the stack of the main thread, the last of those that `faulthandler` has written."""
    stack = text.strip().rpartition("\n\n")[2]
    return "\n".join(stack.splitlines()[:STACK_LINES])


def is_stopped(process: int) -> bool:
    """Return whether a process is stopped, as by SIGSTOP; False where the system does not say."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] in ("T", "t")
