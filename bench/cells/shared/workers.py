"""Workers: several processes that share one cell. They leave their rows in a scratch folder; the parent stores them."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.cores import cores
from bench.base.files import remove_scratch, signature
from bench.base.outward import safe
from bench.cells.cell import Cell
from bench.cells.how import How
from bench.cells.job import cell_of, content_of
from bench.cells.progress import Reports
from bench.cells.shared.steps import Steps
from bench.cells.work import store_rows, work
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError
from bench.processes.group import run_group
from bench.processes.heartbeat import OnBeat, read_beat
from bench.processes.rank import Rank
from bench.processes.trainer import GROUP_TIMEOUT_S
from bench.processes.watch import Limits
from bench.training.recorder import OnStep

NOTES = "notes"
"""File of a scratch folder: a line for each thing that workers want a user to know."""


@dataclass(frozen=True)
class SharedCell:
    """A cell that several processes are to do.

    Args:
        cell: what.
        rows_keys: evaluations whose rows are missing.
        arguments: of the run.
        progress: told what happens.
    """

    cell: Cell
    rows_keys: Sequence[str]
    arguments: RunArguments
    progress: Reports

    def job(self, accumulate: int, out_of_memory: bool) -> dict[str, Any]:
        """Return what each process is to do, as content for JSON.

        Args:
            accumulate: micro-batches of an optimiser step on each process.
            out_of_memory: whether there are more of them than asked for, for want of memory.
        """
        how = How.of(self.arguments, timeout=max(GROUP_TIMEOUT_S, 2 * self.arguments.stall_timeout))
        return {
            "cell": content_of(self.cell),
            "rows": list(self.rows_keys),
            "how": how.cut_into(accumulate, out_of_memory).as_dict(),
        }

    @contextmanager
    def done_in(self, world: int) -> Iterator[Path]:
        """Yield a folder that the processes share; afterwards tell what they have noted, and store their rows.

        Args:
            world: number of processes.

        Raises:
            BenchError: the rows are not exactly the wanted ones.
        """
        started = time.monotonic()
        with scratch_folder(self.arguments.results_folder, self.cell) as scratch:
            yield scratch
            for note in notes_of(scratch):
                self.progress.warn(note)
            trained = self.cell.folder.trained()
            if trained is not None and trained["status"] == "ok":
                collect(self.cell, self.rows_keys, scratch, world, started)


def share(shared: SharedCell, accumulate: int, out_of_memory: bool) -> None:
    """Give a cell to several processes, and store the rows that they make.

    Args:
        shared: what, and how many processes.
        accumulate: micro-batches of an optimiser step on each process.
        out_of_memory: whether there are more of them than asked for, for want of memory.

    Raises:
        BenchError: when a process fails, or the rows are not exactly the wanted ones.
    """
    arguments, world = shared.arguments, shared.arguments.devices
    stage = f"on {world} processes"
    with shared.done_in(world) as scratch:
        shared.progress.stage(stage)
        steps = Steps(scratch)

        def look() -> None:
            point = steps.news()
            beat = read_beat(scratch / "heartbeat.0")
            if point is not None:
                shared.progress.step(*point)
            elif beat is None:
                shared.progress.beat(stage, 0)
            else:
                shared.progress.beat(beat.stage, beat.step)

        threads = threads_of(shared.cell.config.preset, arguments) or max(1, cores() // world)
        run_group(
            "bench.cells.shared.workers:do_share",
            shared.job(accumulate, out_of_memory),
            world,
            scratch,
            threads=threads,
            limits=Limits(arguments.stall_timeout, arguments.cell_timeout),
            on_look=look,
        )


@contextmanager
def scratch_folder(results: Path, cell: Cell) -> Iterator[Path]:
    """Make a folder that the processes of a cell share, and remove it afterwards."""
    scratch = results / ".work" / f"{cell.key}.{signature()}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
    finally:
        remove_scratch(scratch)


def do_share(job: dict[str, Any], rank: Rank) -> None:
    """Do one process' share of a job."""
    rank.heartbeat("reading the data")
    cell = cell_of(job["cell"], lambda what, done, of: rank.heartbeat(what, done))
    do_work(cell, job, rank.number, rank.world, rank.scratch, rank.heartbeat, Steps(rank.scratch).note)


def do_work(
    cell: Cell, job: dict[str, Any], rank: int, world: int, scratch: Path, on_beat: OnBeat, on_step: OnStep
) -> None:
    """Train and evaluate as one of several processes; what a user should know goes to the notes.

    Args:
        cell: what.
        job: as `SharedCell.job`.
        rank: number of this process, from 0.
        world: number of processes.
        scratch: folder that all of them share.
        on_beat: told that this process goes on.
        on_step: told about training steps, on the first rank.
    """
    with open(scratch / NOTES, "a") as notes:
        work(
            cell,
            job["rows"],
            rank=rank,
            world=world,
            how=How(**job["how"]),
            scratch=scratch,
            on_step=on_step,
            on_stage=lambda stage: on_beat(stage, 0),
            on_note=lambda note: print(safe(note), file=notes),
            on_beat=on_beat,
        )


def notes_of(scratch: Path) -> list[str]:
    """Return what workers wanted a user to know."""
    notes = scratch / NOTES
    if not notes.exists():
        return []
    return notes.read_text().splitlines()


def collect(cell: Cell, rows_keys: Collection[str], scratch: Path, world: int, started: float) -> None:
    """Store the rows that several processes have left in `scratch`.

    Raises:
        BenchError: when a process left none.
    """
    for key in rows_keys:
        paths = [scratch / f"{key}.{rank}" for rank in range(world)]
        parts = []
        for rank, path in enumerate(paths):
            if not path.exists():
                raise BenchError(f"{cell.label}: process {rank} left no rows for {cell.evaluations[key].kind}")
            parts.append([json.loads(line) for line in path.read_bytes().splitlines()])
        cut, cut_file = None, scratch / f"{key}.cut"
        if cut_file.exists():
            cut = tuple(json.loads(cut_file.read_bytes()))
        store_rows(cell, key, parts, started, cut)
        for path in paths:
            with suppress(OSError):
                path.unlink()
