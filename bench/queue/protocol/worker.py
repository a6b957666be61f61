"""Worker: claims the cells of a plan one after another and has each run, until nothing is left.

Each `tick` is one short step and says how long to wait for the next one, so that a test can run many workers in one
thread, on clocks of its own.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from bench.queue.protocol.beat import Beat
from bench.queue.protocol.files import QueueFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.journal import CLAIMED, DONE, ENDED, FAILED, RETURNED, Journal, Record
from bench.queue.protocol.lease import Lease, Leases
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.order import Order
from bench.queue.protocol.runner import Ending, Handle, Runner
from bench.queue.protocol.timing import Timing, next_pause
from bench.queue.protocol.view import Claim, State, View

__all__ = ["MAX_DEATHS", "Worker"]

MAX_DEATHS = 2
"""Workers that may die of a cell before it counts as failed."""
CHILD_POLL_S = 0.1
"""Between two looks at a running cell, at the most."""
LAST_TRIES = 8
"""Times that a stopped worker tries to write its last records on a full disk."""


class Worker:
    """One worker of a queue.

    Args:
        jobs: of the plan, each behind those it waits for.
        files: of the queue.
        runner: runs a cell.
        timing: of the queue.
        is_trained: whether the cell of a job is trained in the store.
        clock: seconds, of any origin; only differences of it are used.
        wid: the worker's name; a random one by default.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        files: QueueFiles,
        runner: Runner,
        timing: Timing,
        is_trained: Callable[[Job], bool],
        clock: Callable[[], float],
        wid: str = "",
    ) -> None:
        self.wid = wid or os.urandom(8).hex()
        self.files, self.runner, self.timing, self.clock = files, runner, timing, clock
        self.draw = random.Random(self.wid)
        self.journal = Journal(files, self.wid)
        self.leases = Leases(files, self.wid)
        self.view = View(files, Liveness(timing, clock))
        self.beat = Beat(files, self.journal, self.view, timing, clock)
        self.order = Order(jobs, self.view, is_trained, self.draw)
        self.lease: Lease | None = None
        self.child: Handle | None = None
        self.stop_signal: int | None = None
        self.in_haste = False
        self.sent: int | None = None  # what the child was sent
        self.refreshed: float | None = None
        self.pause_s = 0.0
        self.tries_left = LAST_TRIES
        self.is_open = False
        self.has_refused = False
        self.has_ended = False

    # What a signal handler calls -------------------------------------------------------------------------------------

    def stop(self, number: int) -> None:
        """Ask the worker to end; asked twice, it waits for nothing. Plain assignments: a handler may call it."""
        if self.stop_signal is None:
            self.stop_signal = number
        else:
            self.in_haste = True

    # One step --------------------------------------------------------------------------------------------------------

    def tick(self) -> float | None:
        """Do one step; return the seconds to wait before the next one, or None when the worker has ended."""
        try:
            pause = self.step()
        except OSError as error:
            return self.wait_for_disk(error)
        self.pause_s = 0.0
        return pause

    def wait_for_disk(self, error: OSError | None = None) -> float | None:
        """Return a pause after a write that was refused; a worker that is to stop does not wait for ever."""
        if self.stop_signal is not None:
            self.tries_left -= 1
            if self.tries_left < 0:  # the lease expires by itself
                if self.child is not None:
                    self.child.kill()
                return None
        self.pause_s = next_pause(self.pause_s)
        if error is not None and self.pause_s > 1:
            self.runner.say(f"waits for the disk: {error}")
        return self.pause_s

    def step(self) -> float | None:
        """Do one step.

        Raises:
            OSError: the disk is full or refuses; the same step is done again later.
        """
        if not self.is_open:
            self.journal.open()
            self.is_open = True
        if not self.journal.flush():
            return self.wait_for_disk()
        if self.has_ended:
            return None
        if self.child is not None:
            return self.follow(self.child)
        if self.lease is not None:
            return self.begin(self.lease)
        if self.stop_signal is not None or self.has_refused:
            return self.end()
        return self.look_for_work()

    def look_for_work(self) -> float | None:
        """Claim a cell, or wait for one, or end where all are settled."""
        with self.beat.lock:
            self.reread(self.timing.reread_s)
            lease = self.claim_one()
            if lease is None and self.order.is_settled():
                return self.end()
        if lease is None:
            self.refreshed = None  # after the pause, whatever is new
            return self.timing.poll_s * self.draw.uniform(0.5, 1.0)
        self.lease = self.beat.lease = lease
        return 0.0

    def reread(self, age_s: float) -> None:
        """Read the journals of all peers, unless what was read is not older than so many seconds."""
        now = self.clock()
        if self.refreshed is None or not 0 <= now - self.refreshed < age_s:
            self.view.refresh(but=self.wid)
            self.refreshed = now

    def end(self) -> float:
        """Say that this worker has ended."""
        self.journal.put(Record(ENDED))
        self.has_ended = True
        return 0.0

    # Claiming --------------------------------------------------------------------------------------------------------

    def claim_one(self) -> Lease | None:
        """Try one free cell after another until one is won."""
        for job in self.order.candidates():
            if not self.order.is_free(job):  # what was read after a lost race says so
                continue
            lease = self.claim(job)
            if lease is not None:
                return lease
        return None

    def claim(self, job: Job) -> Lease | None:
        """Try to take the next lease of a cell; return None where somebody else has it or it is settled.

        Raises:
            OSError: the disk is full or refuses.
        """
        if self.view.state(job.key) is State.HELD:
            self.last_look(job.key)
            if not self.order.is_free(job):
                return None
        generation, deaths = self.next_generation(job.key), self.view.deaths(job.key)
        owner = self.leases.take(job.key, generation)
        self.view.note(job.key, generation, Claim(owner))
        if owner == self.wid:
            return Lease(job.key, generation, deaths)
        if owner:
            self.view.read(owner)
        return None

    def next_generation(self, key: str) -> int:
        """Return the generation that comes after the one that is known."""
        return self.view.generation(key) + 1

    def last_look(self, key: str) -> None:
        """Read what a dead owner has written to its end: its result may be among it, or it may beat again."""
        generation = self.view.generation(key)
        owner = self.view.holder(key) or self.leases.owner(key, generation)
        if owner:
            self.view.note(key, generation, Claim(owner))
            self.view.read(owner, fresh=True)

    # Running ---------------------------------------------------------------------------------------------------------

    def begin(self, lease: Lease) -> float:
        """Begin what was claimed, or settle it at once."""
        job = self.order.jobs[lease.key]
        if self.stop_signal is not None:
            return self.settle(RETURNED)
        if self.runner.is_done(job):
            return self.settle(DONE)
        if lease.deaths >= MAX_DEATHS:
            self.runner.give_up(job, lease.generation, lease.deaths)
            return self.settle(FAILED)
        record = Record(CLAIMED, lease.key, lease.generation, lease.deaths)
        if self.view.claims[lease.key][lease.generation].mark != CLAIMED:
            self.journal.put(record)
            self.view.note(lease.key, lease.generation, Claim(self.wid, CLAIMED, lease.deaths))
            return 0.0  # it is written before anything runs
        with self.beat.lock:
            broken = self.order.broken(job)
        self.child, self.sent = self.runner.start(job, lease.generation, broken), None
        self.runner.say(f"runs {job.label}")
        return 0.0

    def follow(self, child: Handle) -> float:
        """Look at the running cell: pass a signal on, settle what has ended."""
        assert self.lease is not None
        ending = child.poll()
        if ending is not None:
            return self.conclude(ending, self.lease)
        if self.lease.lost and self.sent != signal.SIGKILL:
            self.runner.say(f"was silent for too long: another worker has {self.order.jobs[self.lease.key].label}")
            self.in_haste = True
        if self.in_haste:
            self.sent = signal.SIGKILL
            child.kill()
        elif self.stop_signal is not None and self.sent is None:
            self.sent = self.stop_signal
            child.stop(self.stop_signal)
        return min(CHILD_POLL_S, self.timing.beat_s)

    def conclude(self, ending: Ending, lease: Lease) -> float:
        """Write what became of a cell."""
        self.runner.say(f"{ending.value}: {self.order.jobs[lease.key].label}")
        if ending is Ending.DONE:
            return self.settle(DONE)
        if ending is Ending.FAILED:
            return self.settle(FAILED)
        if ending is Ending.REFUSED:
            self.has_refused = True
        elif ending is Ending.KILLED and self.sent is None:
            lease.deaths += 1
        return self.settle(RETURNED)

    def settle(self, mark: str) -> float:
        """Let a cell go with a last record."""
        assert self.lease is not None
        lease, self.lease, self.child, self.beat.lease = self.lease, None, None, None
        self.in_haste = self.in_haste and self.stop_signal is not None
        self.journal.put(Record(mark, lease.key, lease.generation, lease.deaths))
        with self.beat.lock:
            self.view.note(lease.key, lease.generation, Claim(self.wid, mark, lease.deaths))
        with suppress(OSError):
            self.journal.flush()
        return 0.0
