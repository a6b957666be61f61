"""Beat: what a worker does all the time beside its cell: it beats, watches its peers, and sees when it was given up."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bench.queue.protocol.files import QueueFiles
from bench.queue.protocol.journal import Journal
from bench.queue.protocol.lease import Lease, lease_name
from bench.queue.protocol.timing import Timing
from bench.queue.protocol.view import View

__all__ = ["Beat", "BeatThread"]

WATCHED = 8
"""Peers that are looked at in one beat, at the most."""
CHECKED = 4
"""Beats between two looks whether the own lease was taken over."""


class Beat:
    """Beats of one worker. Without it a dead peer would be noticed only by workers that have nothing to do.

    Args:
        files: of the queue.
        journal: the worker's own.
        view: the worker's own; `lock` guards it.
        timing: of the queue.
        clock: seconds, of any origin.
    """

    def __init__(
        self, files: QueueFiles, journal: Journal, view: View, timing: Timing, clock: Callable[[], float]
    ) -> None:
        self.files, self.journal, self.view = files, journal, view
        self.timing, self.clock = timing, clock
        self.lock = threading.Lock()
        self.lease: Lease | None = None
        self.last = clock()
        self.turn = 0

    def tick(self) -> None:
        """Beat once."""
        now = self.clock()
        has_slept = now - self.last > 2 * self.timing.beat_s
        self.last = now
        self.journal.beat()
        if self.lock.acquire(blocking=False):  # else the worker itself is looking
            try:
                self.watch()
            finally:
                self.lock.release()
        if has_slept or self.journal.beats % CHECKED == 0:
            self.check_lease()

    def watch(self) -> None:
        """Look at a few peers that have not ended, in turn; now and then, see who has joined."""
        try:
            if self.journal.beats % CHECKED == 1:
                self.view.meet(but=self.journal.wid)
            peers = self.view.peers()
            for place in range(min(WATCHED, len(peers))):
                self.view.read(peers[(self.turn + place) % len(peers)])
        except OSError:
            return
        self.turn += WATCHED

    def check_lease(self) -> None:
        """Mark the own lease lost where somebody has the next generation of it."""
        lease = self.lease
        if lease is None:
            return
        try:
            if self.files.exists(lease_name(lease.key, lease.generation + 1)):
                lease.lost = True
        except OSError:
            return


class BeatThread:
    """Beats in a thread of its own, also while the worker waits for its child.

    Args:
        beat: what it does.
    """

    def __init__(self, beat: Beat) -> None:
        self.beat = beat
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True, name="beat")

    def __enter__(self) -> BeatThread:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.is_over.set()
        self.thread.join()

    def run(self) -> None:
        """Beat until the worker is over."""
        while not self.is_over.is_set():
            self.beat.tick()
            self.is_over.wait(self.beat.timing.beat_s)
