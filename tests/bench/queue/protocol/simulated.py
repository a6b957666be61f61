"""Many workers of one queue in one thread, on a clock and a disk that are made up: every fault by seed, in no time."""

from __future__ import annotations

import errno
import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.queue.protocol.files import QueueFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.journal import HEADER, records_of
from bench.queue.protocol.runner import Ending, Handle, Runner
from bench.queue.protocol.timing import Timing
from bench.queue.protocol.worker import Worker

TIMING = Timing(beat_s=0.25, ttl_s=3.0, reread_s=1.0, poll_s=0.5)


class Crash(Exception):
    """The worker is gone, in the middle of what it was doing."""


@dataclass
class Disk:
    """Files with all their versions, since some see an old one."""

    now: float = 0.0
    versions: dict[str, list[tuple[float, bytes]]] = field(default_factory=dict)
    full: tuple[float, float] = (0.0, 0.0)
    operations: int = 0

    def content(self, name: str, at: float) -> bytes | None:
        seen = [content for when, content in self.versions.get(name, []) if when <= at]
        return seen[-1] if seen else None

    def put(self, name: str, content: bytes) -> None:
        self.versions.setdefault(name, []).append((self.now, content))


@dataclass
class Faults:
    """What is wrong with one worker's machine.

    Args:
        lag_s: how old its view of files may be.
        refuse: share of writes that fail for want of space, after a part of them.
        lose: share of links whose reply is lost, after they were made.
        links: whether there are hard links.
        crash_at: the number of the write after which it is gone; -1 for never.
        skew, rate: of its clock.
    """

    lag_s: float = 0.0
    refuse: float = 0.0
    lose: float = 0.0
    links: bool = True
    crash_at: int = -1
    skew: float = 0.0
    rate: float = 1.0


class SeenFiles(QueueFiles):
    """The disk as one worker sees it; what it has seen once is never older later."""

    def __init__(self, disk: Disk, faults: Faults, draw: random.Random) -> None:
        self.disk, self.faults, self.draw = disk, faults, draw
        self.seen: dict[str, float] = {}
        self.own: set[str] = set()
        self.writes = 0

    def at(self, name: str, fresh: bool) -> float:
        if fresh or name in self.own:
            return self.disk.now
        at = self.disk.now - self.draw.uniform(0, self.faults.lag_s)
        self.seen[name] = max(at, self.seen.get(name, 0.0))
        return self.seen[name]

    def names(self, folder: str) -> list[str]:
        at = self.at(folder, fresh=False)
        found = [name for name, all_ in self.disk.versions.items() if all_[0][0] <= at]
        return [name.partition("/")[2] for name in found if name.startswith(f"{folder}/")]

    def read(self, name: str, *, fresh: bool = False) -> bytes | None:
        return self.disk.content(name, self.at(name, fresh))

    def exists(self, name: str) -> bool:
        return self.read(name) is not None

    def create(self, name: str, content: bytes) -> bool:
        self.refuse()
        if name in self.disk.versions:
            return False
        self.own.add(name)
        if name.startswith("l/"):  # not in one operation: others may see it empty
            self.disk.put(name, b"")
            self.written()
        self.disk.put(name, content)
        self.written()
        return True

    def write_at(self, name: str, offset: int, data: bytes) -> int:
        before = self.disk.content(name, self.disk.now)
        if before is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", name)
        is_new = offset + len(data) > len(before)
        if is_new:
            self.refuse()
            if self.draw.random() < self.faults.refuse:
                data = data[: self.draw.randrange(len(data))]
        self.disk.put(name, before[:offset] + data + before[offset + len(data) :])
        self.written()
        return len(data)

    def link(self, source: str, name: str) -> bool:
        if not self.faults.links:
            raise OSError(errno.EPERM, "no links")
        self.refuse()
        if name in self.disk.versions:
            return False
        content = self.disk.content(source, self.disk.now)
        assert content
        self.disk.put(name, content)
        self.own.add(name)
        self.written()
        if self.draw.random() < self.faults.lose:
            raise OSError(errno.EIO, "the reply was lost")
        return True

    def refuse(self) -> None:
        first, last = self.disk.full
        if first <= self.disk.now < last or self.draw.random() < self.faults.refuse:
            raise OSError(errno.ENOSPC, "disk full")

    def written(self) -> None:
        self.writes += 1
        self.disk.operations += 1
        if self.writes == self.faults.crash_at:
            raise Crash


@dataclass
class Run:
    """One run of one cell."""

    key: str
    generation: int
    wid: str
    result: bool = False


class SimulatedRunner(Runner):
    """Cells that take a while and then have a result."""

    def __init__(self, simulation: Simulation, wid: str) -> None:
        self.simulation, self.wid = simulation, wid

    def is_done(self, job: Job) -> bool:
        return job.key in self.simulation.results

    def start(self, job: Job, generation: int, broken: str) -> Handle:
        self.simulation.check_parents(job)
        run = Run(job.key, generation, self.wid)
        self.simulation.runs.append(run)
        return SimulatedHandle(self.simulation, job, run)

    def give_up(self, job: Job, generation: int, deaths: int) -> None:
        self.simulation.given_up[job.key] = deaths

    def say(self, text: str) -> None:
        pass


class SimulatedHandle(Handle):
    """One running cell; a stopped worker's cell stands still too."""

    def __init__(self, simulation: Simulation, job: Job, run: Run) -> None:
        self.simulation, self.job, self.run = simulation, job, run
        self.ends = simulation.disk.now + job.cost
        self.signal: int | None = None

    def poll(self) -> Ending | None:
        if self.signal is not None:
            return Ending.STOPPED
        if self.run.wid in self.simulation.refusing:
            return Ending.REFUSED
        if self.simulation.disk.now < self.ends:
            return None
        if self.job.key in self.simulation.poison:
            raise Crash
        if self.job.key in self.simulation.bad:
            return Ending.FAILED
        self.simulation.results.add(self.job.key)
        self.run.result = True
        return Ending.DONE

    def stop(self, number: int) -> None:
        self.signal = number

    def kill(self) -> None:
        self.signal = 9


class Simulation:
    """A queue with its workers.

    Args:
        jobs: of the plan.
        seed: of every random number.
        timing: of the queue.
        make_worker: a worker's class; that of a mutant in tests of the tests.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        seed: int = 0,
        timing: Timing = TIMING,
        make_worker: Callable[..., Worker] = Worker,
    ) -> None:
        self.jobs, self.timing, self.make_worker = jobs, timing, make_worker
        self.draw = random.Random(seed)
        self.disk = Disk()
        self.workers: dict[str, Worker] = {}
        self.events: list[tuple[float, int, str, str]] = []
        self.asleep: dict[str, float] = {}
        self.slept: set[str] = set()
        self.dead: set[str] = set()
        self.ended: set[str] = set()
        self.excused: set[str] = set()
        self.results: set[str] = set()
        self.bad: set[str] = set()
        self.poison: set[str] = set()
        self.refusing: set[str] = set()
        self.given_up: dict[str, int] = {}
        self.runs: list[Run] = []
        self.n_events = 0

    def add(self, faults: Faults | None = None, at: float = 0.0) -> str:
        """Start one more worker; return its name."""
        faults = faults or Faults()
        wid = f"{self.draw.getrandbits(64):016x}"
        worker = self.make_worker(
            self.jobs,
            SeenFiles(self.disk, faults, random.Random(self.draw.random())),
            SimulatedRunner(self, wid),
            self.timing,
            lambda job: job.key in self.results,
            lambda: faults.skew + faults.rate * self.disk.now,
            wid,
        )
        self.workers[wid] = worker
        self.later(at, wid, "tick")
        self.later(at, wid, "beat")
        return wid

    def later(self, at: float, wid: str, what: str) -> None:
        self.n_events += 1
        heapq.heappush(self.events, (at, self.n_events, wid, what))

    def kill(self, wid: str, at: float) -> None:
        self.later(at, wid, "kill")

    def sleep(self, wid: str, at: float, seconds: float) -> None:
        """Stop a worker for some time."""
        self.later(at, wid, f"sleep {seconds}")

    def suspend(self, at: float, seconds: float) -> None:
        """Stop the whole machine for some time: nobody may be given up for that."""
        for wid in self.workers:
            self.later(at, wid, f"suspend {seconds + self.draw.uniform(0, 0.2)}")  # not all wake at once

    def terminate(self, wid: str, at: float) -> None:
        self.later(at, wid, "stop")

    def run(self, limit_s: float = 600.0) -> Simulation:
        """Go on until every worker has ended or died."""
        while self.events:
            at, _, wid, what = heapq.heappop(self.events)
            if wid in self.dead or wid in self.ended:
                continue
            if at < self.asleep.get(wid, 0.0) and what != "kill":
                self.later(self.asleep[wid], wid, what)
                continue
            self.disk.now = max(self.disk.now, at)
            assert self.disk.now < limit_s, "the queue does not come to an end"
            self.happen(wid, what)
        return self

    def happen(self, wid: str, what: str) -> None:
        worker, now = self.workers[wid], self.disk.now
        if what == "kill":
            self.dead.add(wid)
            self.excused.add(wid)
        elif what.startswith("sleep"):
            self.asleep[wid] = now + float(what.split()[1])
            self.slept.add(wid)
            self.excused.add(wid)
        elif what.startswith("suspend"):
            self.asleep[wid] = now + float(what.split()[1])
        elif what == "stop":
            worker.stop(15)
        else:
            try:
                self.step(worker, what)
            except Crash:
                self.dead.add(wid)
                self.excused.add(wid)

    def step(self, worker: Worker, what: str) -> None:
        if what == "beat":
            worker.beat.tick()
            self.later(self.disk.now + self.timing.beat_s, worker.wid, "beat")
            return
        pause = worker.tick()
        if pause is None:
            self.ended.add(worker.wid)
            if worker.lease or worker.journal.waiting:  # it was told to end, and the disk was full
                self.excused.add(worker.wid)
        else:
            self.later(self.disk.now + max(pause, 1e-3) * self.draw.uniform(1.0, 1.1), worker.wid, "tick")

    # What must hold --------------------------------------------------------------------------------------------------

    def check_parents(self, job: Job) -> None:
        assert all(parent in self.results for parent in job.after), "a child before its parent"

    def records(self) -> dict[tuple[str, int], tuple[str, str]]:
        """The owner and last mark of every lease, as the journals have them."""
        found: dict[tuple[str, int], tuple[str, str]] = {}
        for name, versions in self.disk.versions.items():
            if name.startswith("j/"):
                for record in records_of(versions[-1][1][HEADER:])[0]:
                    found[record.key, record.generation] = (name[2:], record.mark)
        return found

    def unexcused(self) -> list[Run]:
        """Runs of a cell that had an owner that lived, or was done or failed already, or had this very lease."""
        records, wrong, known = self.records(), [], set()
        for run in self.runs:
            if (run.key, run.generation) in known:
                wrong.append(run)
            known.add((run.key, run.generation))
            for generation in range(1, run.generation):
                owner, mark = self.owner(run.key, generation), records.get((run.key, generation), ("", ""))[1]
                lives = owner and owner not in self.excused and mark != "r"  # without a name it died claiming
                had_settled = mark in ("d", "f") and owner not in self.slept  # one that slept may say so late
                if lives or had_settled:
                    wrong.append(run)
        return wrong

    def owner(self, key: str, generation: int) -> str:
        versions = self.disk.versions.get(f"l/{key}.{generation}", [])
        return versions[-1][1].decode() if versions else ""

    def lost(self) -> list[str]:
        """Cells without a result that should have one."""
        doomed = self.bad | self.poison | set(self.given_up)
        for job in self.jobs:
            if doomed.intersection(job.after):
                doomed.add(job.key)
        return [job.key for job in self.jobs if job.key not in self.results | doomed]


def chain_of(number: int, draw: random.Random) -> list[Job]:
    """Cells, a quarter of them children, that take 0.1 to 1 s."""
    jobs: list[Job] = []
    for index in range(number):
        after: tuple[str, ...] = ()
        if index % 4 == 3:
            after = (jobs[draw.randrange(len(jobs))].key,)
        jobs.append(Job(f"{index:016x}", f"cell {index}", after, cost=draw.uniform(0.1, 1.0)))
    return jobs
