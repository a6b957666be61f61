"""Many real worker processes on one queue, with kills, stops, old views, odd clocks and a full disk, by seed.

`python -m tools.chaos.leases --runs 40` prints, for each goal, what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.queue.protocol.job import Job
from bench.queue.protocol.journal import CLAIMED, HEADER, RETURNED, records_of
from bench.queue.protocol.lease import lease_name
from bench.queue.protocol.timing import Timing
from tests.bench.queue.protocol.mutants import caught
from tools.chaos._cells import FULL, Faults, content_of, result_path

LONG = Timing(beat_s=0.25, ttl_s=3.0, reread_s=1.0, poll_s=0.5)
SHORT = Timing(beat_s=0.1, ttl_s=1.2, reread_s=0.3, poll_s=0.2)
LIMIT_S = 120


@dataclass(frozen=True)
class Scenario:
    """Which faults a run has.

    Args:
        kills, stops: how many of the workers.
        respawn: whether another worker is started for each one that was killed.
        full_s: for how long the disk is full.
        is_odd: whether views are up to 2 s old and clocks are skewed and run at other rates.
        refuse: share of writes that are refused.
    """

    name: str
    kills: int = 0
    stops: int = 0
    respawn: bool = False
    full_s: float = 0.0
    is_odd: bool = False
    refuse: float = 0.0


SCENARIOS = (
    Scenario("3 kills", kills=3),
    Scenario("6 kills with respawn", kills=6, respawn=True),
    Scenario("3 stops", stops=3),
    Scenario("disk full, 2 kills", kills=2, full_s=4.0),
    Scenario("old views, odd clocks, 2 kills, 2 stops", kills=2, stops=2, is_odd=True),
    Scenario("all of it and 3 % refused", kills=2, stops=2, full_s=2.0, is_odd=True, refuse=0.03),
)


@dataclass
class Found:
    """What became of one run."""

    cells: int = 0
    done: int = 0
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    orphans: int = 0
    given_up: int = 0
    doubled: int = 0
    unexcused: list[str] = field(default_factory=list)
    stuck: int = 0
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.torn or self.orphans or self.unexcused or self.stuck)


class ChaosRun:
    """One queue, its workers, and what happens to them.

    Args:
        root: an empty folder.
        seed: of everything.
        workers: at the start.
        cells: of the plan, a quarter of them children.
        scenario: the faults.
        timing: of the queue.
    """

    def __init__(
        self, root: Path, seed: int, workers: int, cells: int, scenario: Scenario, timing: Timing = LONG
    ) -> None:
        self.root, self.scenario, self.timing = root, scenario, timing
        self.draw = random.Random(seed)
        self.jobs = self.plan(cells)
        content = {"jobs": [job.as_dict() for job in self.jobs], "timing": timing.as_dict()}
        (root / "plan.json").write_text(json.dumps(content))
        self.n_workers = workers
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.excused: set[str] = set()

    def plan(self, cells: int) -> list[Job]:
        jobs: list[Job] = []
        for index in range(cells):
            after: tuple[str, ...] = ()
            if index % 4 == 3:
                after = (jobs[self.draw.randrange(len(jobs))].key,)
            jobs.append(Job(f"{index:016x}", f"cell {index}", after, cost=self.draw.uniform(0.1, 0.6)))
        return jobs

    def start(self) -> str:
        """Start a worker; return its name."""
        faults = Faults(refuse=self.scenario.refuse, lose=self.scenario.refuse)
        if self.scenario.is_odd:
            faults = Faults(
                lag_s=self.draw.uniform(0, min(2.0, self.timing.ttl_s / 2)),
                refuse=self.scenario.refuse,
                lose=self.scenario.refuse,
                skew_s=self.draw.uniform(-1e6, 1e6),
                rate=self.draw.uniform(0.9, 1.1),
            )
        wid = f"{self.draw.getrandbits(64):016x}"
        command = [sys.executable, "-m", "tools.chaos._lease_worker", str(self.root), wid, json.dumps(asdict(faults))]
        with open(self.root / f"log-{wid}", "wb") as log:
            self.processes[wid] = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        return wid

    def run(self) -> Found:
        """Start the workers, let it happen, and look at what is left."""
        started = time.monotonic()
        names = [self.start() for _ in range(self.n_workers)]
        victims = self.draw.sample(names, self.scenario.kills + self.scenario.stops)
        events = self.events(victims)
        self.wait_until_begun()
        begun = time.monotonic()
        stuck = 0
        while events or any(process.poll() is None for process in self.processes.values()):
            if time.monotonic() - started > LIMIT_S:
                stuck = 1
                break
            while events and events[0][0] <= time.monotonic() - begun:
                self.happen(*events.pop(0)[1:])
            time.sleep(0.02)
        for process in self.processes.values():
            process.kill()
            process.wait()
        found = self.look()
        found.stuck, found.seconds = stuck, time.monotonic() - started
        return found

    def wait_until_begun(self) -> None:
        """Wait until every worker has a journal: before that nothing can be lost."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(list(self.root.glob("j/*"))) < self.n_workers:
            time.sleep(0.02)

    def events(self, victims: Sequence[str]) -> list[tuple[float, str, str]]:
        """Return what happens when: seconds, what, to whom."""
        busy_s = sum(job.cost for job in self.jobs) / self.n_workers
        events = []
        for number, wid in enumerate(victims):
            at = self.draw.uniform(0.0, busy_s)
            if number < self.scenario.kills:
                events.append((at, "kill", wid))
            else:
                events.append((at, "stop", wid))
                events.append((at + 2 * self.timing.ttl_s, "go on", wid))
        if self.scenario.full_s:
            at = self.draw.uniform(0.0, busy_s)
            events.append((at, "full", ""))
            events.append((at + self.scenario.full_s, "room", ""))
        return sorted(events)

    def happen(self, what: str, wid: str) -> None:
        """Do one thing to a worker or the disk."""
        if what == "full":
            (self.root / FULL).touch()
        elif what == "room":
            (self.root / FULL).unlink()
        elif self.processes[wid].poll() is None:
            number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "go on": signal.SIGCONT}[what]
            os.kill(self.processes[wid].pid, number)
            if what != "go on":
                self.excused.add(wid)
            if what == "kill" and self.scenario.respawn:
                self.start()

    def look(self) -> Found:
        """Compare what is left with what should be."""
        found = Found(cells=len(self.jobs))
        given_up = {path.name.removeprefix("given-up-") for path in self.root.glob("given-up-*")}
        found.given_up, found.orphans = len(given_up), len(list(self.root.glob("orphan-*")))
        doomed = set(given_up)
        for job in self.jobs:
            path = result_path(self.root, job.key)
            if doomed.intersection(job.after) and not path.exists():
                doomed.add(job.key)
            elif not path.exists() and job.key not in doomed:
                found.lost.append(job.key)
            elif path.exists() and path.read_bytes() != content_of(job.key):
                found.torn.append(job.key)
            elif path.exists():
                found.done += 1
        self.look_at_claims(found)
        return found

    def look_at_claims(self, found: Found) -> None:
        """Count cells that were begun again, and those among them whose owner was neither stopped nor killed."""
        marks: dict[tuple[str, int], set[str]] = {}
        for journal in self.root.glob("j/*"):
            for record in records_of(journal.read_bytes()[HEADER:])[0]:
                marks.setdefault((record.key, record.generation), set()).add(record.mark)
        for (key, generation), marked in sorted(marks.items()):
            if generation == 1 or CLAIMED not in marked:
                continue
            found.doubled += 1
            older = self.root / lease_name(key, generation - 1)
            owner = older.read_text() if older.exists() else ""
            was_returned = RETURNED in marks.get((key, generation - 1), set())
            if owner not in self.excused and not was_returned:
                found.unexcused.append(f"{key}.{generation}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; return 0 when every goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    all_found = []
    for number in range(given.runs):
        scenario = SCENARIOS[number % len(SCENARIOS)]
        root = Path(tempfile.mkdtemp(prefix="leases-"))
        found = ChaosRun(root, given.seed + number, given.workers, given.cells, scenario).run()
        all_found.append(found)
        print(
            f"{number + 1}/{given.runs} {scenario.name}: {found.done} of {found.cells} done, "
            f"{found.doubled} begun again, {found.given_up} given up, {found.seconds:.1f} s",
            flush=True,
        )
        if found.is_good:
            shutil.rmtree(root, ignore_errors=True)
        else:
            print(f"  kept: {root}: {found}")
    return report(all_found)


def report(all_found: Sequence[Found]) -> int:
    """Print goals and what was measured; return 0 when all are met."""
    lost = sum(len(found.lost) for found in all_found)
    torn = sum(len(found.torn) for found in all_found)
    orphans = sum(found.orphans for found in all_found)
    unexcused = sum(len(found.unexcused) for found in all_found)
    stuck = sum(found.stuck for found in all_found)
    mutants = caught()
    rows = [
        ("cells lost", "0", str(lost), lost == 0),
        ("results torn", "0", str(torn), torn == 0),
        ("children before their parents", "0", str(orphans), orphans == 0),
        ("begun again though the owner was neither stopped nor killed", "0", str(unexcused), unexcused == 0),
        ("queues that did not end", "0", str(stuck), stuck == 0),
        ("mutants caught", str(len(mutants)), str(sum(mutants.values())), all(mutants.values())),
    ]
    cells = sum(found.cells for found in all_found)
    print(f"\n{len(all_found)} runs, {cells} cells, {sum(found.doubled for found in all_found)} begun again")
    for what, goal, measured, _ in rows:
        print(f"8 workers with faults, {cells:,} cells: {what} · goal: {goal} · measured: {measured}")
    return int(not all(row[-1] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
