"""Follower: reads what the workers of a queue say, tells people, and makes the outcome of a run of it."""

from __future__ import annotations

import time
from pathlib import Path

from bench.cells.cell import Cell
from bench.cells.loggers.logs import logs_of
from bench.cells.plan import Plan
from bench.cells.progress import Progress, counted
from bench.cells.run import Outcome, attempt
from bench.config.arguments import RunArguments
from bench.queue.outcome import CellOutcome, last_outcome
from bench.queue.overview import about, running_of
from bench.queue.plan_file import PlanFile
from bench.queue.planned import job_key
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.order import SETTLED, Order
from bench.queue.protocol.view import State, View
from bench.queue.work import is_trained

__all__ = ["Follower", "outcome_of"]

LOOK_S = 0.2
"""Between two looks at what the workers have done."""
SHOW_S = 2.0
"""Between two looks at how far the cells are that they have."""


class Follower:
    """Reads what workers say and tells people.

    Args:
        file: the plan of the queue.
        plan: of the run, for the numbers of its cells.
        progress: told what happens.
    """

    def __init__(self, file: PlanFile, plan: Plan, progress: Progress) -> None:
        self.file, self.progress = file, progress
        self.numbers = {job_key(cell): number for number, cell in enumerate(plan.cells, start=1)}
        self.of = len(plan.cells)
        self.view = View(DiskFiles(file.queue), Liveness(file.timing, time.monotonic))
        self.order = Order(file.jobs, self.view, is_trained)
        self.settled: dict[str, CellOutcome] = {}
        self.looked, self.shown = -LOOK_S, -SHOW_S

    def look(self) -> None:
        """Now and then, read all journals, and tell of each cell that is newly settled."""
        if time.monotonic() - self.looked < LOOK_S:
            return
        self.read()
        self.looked = time.monotonic()
        if self.looked - self.shown >= SHOW_S:
            self.show()
            self.shown = self.looked

    def read(self) -> None:
        """Read all journals, and tell of each cell that is newly settled."""
        self.view.refresh()
        running = 0
        for job in self.file.jobs:
            state = self.order.state(job.key)
            running += state is State.HELD
            if state in (State.DONE, State.FAILED) and job.key not in self.settled:
                found = last_outcome(self.file.queue, job.key)
                if found is not None:
                    self.settled[job.key] = found
                    self.tell(job.key, job.label, found)
        done = sum(self.order.state(job.key) in SETTLED for job in self.file.jobs)
        self.progress.cells(done, len(self.file.jobs), running, self.left_s(running))

    def left_s(self, running: int) -> float | None:
        """Return the seconds until all is settled with so many cells at once, by costs; None where nobody can tell."""
        took_s, done, left = 0.0, 0.0, 0.0
        for job in self.file.jobs:
            found = self.settled.get(job.key)
            if found is None:
                left += job.cost
            elif found.status in ("ok", "diverged"):
                took_s += found.seconds
                done += job.cost
        if not done or not running:
            return None
        return left * took_s / done / running

    def show(self) -> None:
        """Show how far the cells are that workers have."""
        rows = {}
        for job in self.file.jobs:
            if self.order.state(job.key) is not State.HELD:
                continue
            found = running_of(self.file.queue, job, self.view, {}).progress
            step, of = found.get("step", 0), found.get("of", 0)
            note = counted(found.get("stage") or "begins", step, of)
            if found.get("note"):
                note += f", {found['note']}"
            rows[job.label] = (step, of, note + about(found.get("left_s")))
        self.progress.running(rows)

    def tell(self, key: str, label: str, found: CellOutcome) -> None:
        """Tell people what became of a cell."""
        self.progress.cell(self.numbers[key], self.of, label)
        for warning in found.warnings:
            self.progress.warn(warning)
        if found.status == "failed":
            self.progress.failed(found.error)
            return
        how = {"ok": "done", "stored": "stored already"}.get(found.status, found.status)
        self.progress.done(how, found.seconds)


def outcome_of(plan: Plan, settled: dict[str, CellOutcome], arguments: RunArguments, progress: Progress) -> Outcome:
    """Return the outcome of a run whose queue is settled; cells that were not in it, or blocked, are looked at here.

    Args:
        plan: of the run.
        settled: what became of the cells of the queue, by their keys in it.
        arguments: of the run.
        progress: told what happens.
    """
    outcome, logs = Outcome(), logs_of(arguments, progress.warn)
    for number, cell in enumerate(plan.cells, start=1):
        found = settled.get(job_key(cell))
        if found is not None:
            add(cell, found, outcome)
            continue
        progress.cell(number, len(plan.cells), cell.label)  # stored, or blocked by one that has failed
        attempt(cell, arguments, progress, logs, outcome)
    return outcome


def add(cell: Cell, found: CellOutcome, outcome: Outcome) -> None:
    """Add what became of a cell to the outcome of the run."""
    if found.status == "failed":
        outcome.failed[cell.label] = found.error
        outcome.broken.setdefault(Path(cell.folder.path), cell.label)
        if found.is_missing:
            outcome.missing.add(cell.label)
        if found.is_blocked:
            outcome.blocked.add(cell.label)
    elif found.status == "diverged":
        outcome.diverged.append(cell.label)
    elif found.status == "stored":
        outcome.stored.append(cell.label)
    else:
        outcome.ok.append(cell.label)
