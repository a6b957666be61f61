"""Overview: who works on what in the queues of a store, how far each is, and when it may end. Nothing is written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells.pace.pace import duration
from bench.errors import UsageError
from bench.queue.outcome import last_outcome
from bench.queue.plan_file import COPY, PlanFile, read_plan
from bench.queue.progress_file import progress_path, read_progress
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.order import SETTLED, Order
from bench.queue.protocol.view import State, View
from bench.queue.work import is_trained

__all__ = ["QueueOverview", "Running", "overview_of", "overviews", "text_of"]


@dataclass(frozen=True)
class Running:
    """One cell that a worker has.

    Args:
        label: of the cell.
        config: of the cell.
        key: of the trained cell.
        worker: its name.
        silent_s: since the worker's last beat, by the clocks of the file system and of this machine.
        progress: what its child says (`progress_file.py`); empty where it has not begun.
    """

    label: str
    config: dict[str, Any]
    key: str
    worker: str
    silent_s: float
    progress: dict[str, Any]


@dataclass(frozen=True)
class QueueOverview:
    """One queue.

    Args:
        nonce: of its plan.
        counts: cells by state.
        running: the cells that workers have.
        workers: that beat.
        left_s: until all is done, at the pace so far; None where nobody can tell.
    """

    nonce: str
    counts: dict[str, int]
    running: tuple[Running, ...]
    workers: int
    left_s: float | None


def overviews(results: Path) -> list[QueueOverview]:
    """Return every queue of a store, in name order; a folder without a whole plan is passed over."""
    found = []
    for path in sorted(results.glob(f".work/queue-*/{COPY}")):
        try:
            plan = read_plan(path)
        except UsageError:
            continue
        found.append(overview_of(path.parent, plan))
    return found


def overview_of(queue: Path, plan: PlanFile) -> QueueOverview:
    """Return one queue, read from its files.

    Args:
        queue: its folder, wherever the store is seen from here.
        plan: of the queue.
    """
    view = View(DiskFiles(queue), Liveness(plan.timing, time.monotonic))
    view.refresh()
    order = Order(plan.jobs, view, is_trained)
    states = {job.key: order.state(job.key) for job in plan.jobs}
    silence = {wid: silence_of(queue, wid) for wid in view.peers()}
    workers = sum(silent_s < plan.timing.ttl_s for silent_s in silence.values())
    running = []
    for job in plan.jobs:
        if states[job.key] is State.HELD:
            running.append(running_of(queue, job, view, silence))
    return QueueOverview(
        nonce=plan.nonce,
        counts=dict(Counter(state.value for state in states.values())),
        running=tuple(running),
        workers=workers,
        left_s=time_left(queue, plan.jobs, states, workers),
    )


def running_of(queue: Path, job: Job, view: View, silence: dict[str, float]) -> Running:
    """Return one cell that a worker has."""
    worker = view.holder(job.key)
    progress = read_progress(progress_path(queue, job.key, view.generation(job.key)))
    return Running(
        label=job.label,
        config=job.cell.get("config", {}),
        key=job.cell.get("key", job.key),
        worker=worker,
        silent_s=round(silence.get(worker, 0.0), 1),
        progress=progress or {},
    )


def silence_of(queue: Path, wid: str) -> float:
    """Return for how long a worker has not written, in seconds."""
    try:
        return max(0.0, time.time() - (queue / "j" / wid).stat().st_mtime)
    except OSError:
        return 0.0


def time_left(queue: Path, jobs: Sequence[Job], states: dict[str, State], workers: int) -> float | None:
    """Return the seconds until all cells are done, by their costs and what those that are done took."""
    took_s, done, left = 0.0, 0.0, 0.0
    for job in jobs:
        outcome = None
        if states[job.key] is State.DONE:
            outcome = last_outcome(queue, job.key)
        if outcome is not None and outcome.status in ("ok", "diverged"):
            took_s += outcome.seconds
            done += job.cost
        elif states[job.key] not in SETTLED:
            left += job.cost
    if not done or not workers:
        return None
    return round(left * took_s / done / workers, 1)


def text_of(overview: QueueOverview) -> str:
    """Return a queue for people: a line for it, and one for each cell that a worker has."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(overview.counts.items()))
    lines = [f"queue {overview.nonce}: {counts}; {overview.workers} workers{about(overview.left_s)}"]
    lines += [running_text(running) for running in overview.running]
    return "\n".join(lines)


def running_text(running: Running) -> str:
    """Return one cell that a worker has, for people."""
    line = f"  {running.label}  on {running.worker[:8]}, last beat {running.silent_s:.0f} s ago"
    progress = running.progress
    if not progress:
        return line
    line += f"  {progress.get('stage') or 'begins'}"
    if progress.get("of"):
        line += f" {progress['step']} of {progress['of']}"
    if progress.get("note"):
        line += f", {progress['note']}"
    return line + about(progress.get("left_s"))


def about(seconds: float | None) -> str:
    """Return an expected time for people; nothing where nobody can tell.

    >>> about(75.0), about(30.0), about(None)
    (', about 2 min more', ', about 30 s more', '')
    """
    if seconds is None:
        return ""
    return f", about {duration(seconds)} more"
