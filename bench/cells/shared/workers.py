"""Workers: several processes that share one cell. They leave their rows in a scratch folder; the parent stores them."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.base.files import signature
from bench.base.outward import safe
from bench.cells.cell import Cell
from bench.cells.job import cell_of, content_of
from bench.cells.progress import Reports
from bench.cells.work import store_rows, work
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError
from bench.processes.group import run_group
from bench.processes.heartbeat import OnBeat
from bench.processes.rank import Rank
from bench.processes.trainer import GROUP_TIMEOUT_S
from bench.processes.watch import Limits

NOTES = "notes"
"""File of a scratch folder: a line for each thing that workers want a user to know."""


def share(
    cell: Cell,
    rows_keys: Sequence[str],
    arguments: RunArguments,
    progress: Reports,
    accumulate: int = 1,
    out_of_memory: bool = False,
) -> None:
    """Give a cell to several processes, and store the rows that they make.

    Args:
        cell: what.
        rows_keys: evaluations whose rows are missing.
        arguments: how many processes, and how long they may take.
        progress: told what happens.
        accumulate: micro-batches of an optimiser step on each process.
        out_of_memory: whether there are more of them than asked for, for want of memory.

    Raises:
        BenchError: when a process fails, or the rows are not exactly the wanted ones.
    """
    started = time.monotonic()
    world = arguments.devices
    with scratch_folder(arguments.results_folder, cell) as scratch:
        stage = f"on {world} processes"
        progress.stage(stage)
        job = job_of(cell, rows_keys, arguments, accumulate, out_of_memory)
        threads = threads_of(cell.config.preset, arguments) or max(1, (os.cpu_count() or 1) // world)
        limits = Limits(arguments.stall_timeout, arguments.cell_timeout)
        run_group(
            "bench.cells.shared.workers:do_share",
            job,
            world,
            scratch,
            threads=threads,
            limits=limits,
            on_look=lambda: progress.beat(stage, 0),
        )
        finish(cell, rows_keys, scratch, world, started, progress)


@contextmanager
def scratch_folder(results: Path, cell: Cell) -> Iterator[Path]:
    """Make a folder that the processes of a cell share, and remove it afterwards."""
    scratch = results / ".work" / f"{cell.key}.{signature()}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # another run may be using the folder, or removing it too
            scratch.parent.rmdir()


def job_of(
    cell: Cell, rows_keys: Sequence[str], arguments: RunArguments, accumulate: int, out_of_memory: bool
) -> dict[str, Any]:
    """Return what each process is to do, as content for JSON."""
    return {
        "cell": content_of(cell),
        "rows": list(rows_keys),
        "accumulate": accumulate,
        "workers": arguments.workers,
        "out_of_memory": out_of_memory,
        "seconds": arguments.state_every,
        "timeout": max(GROUP_TIMEOUT_S, 2 * arguments.stall_timeout),
    }


def do_share(job: dict[str, Any], rank: Rank) -> None:
    """Do one process' share of a job."""
    rank.heartbeat("reading the data")
    do_work(cell_of(job["cell"]), job, rank.number, rank.world, rank.scratch, rank.heartbeat)


def do_work(cell: Cell, job: dict[str, Any], rank: int, world: int, scratch: Path, on_beat: OnBeat) -> None:
    """Train and evaluate as one of several processes; what a user should know goes to the notes."""
    with open(scratch / NOTES, "a") as notes:
        work(
            cell,
            job["rows"],
            rank=rank,
            world=world,
            accumulate=job["accumulate"],
            workers=job["workers"],
            timeout=job["timeout"],
            seconds=job["seconds"],
            scratch=scratch,
            out_of_memory=job["out_of_memory"],
            on_stage=lambda stage: on_beat(stage, 0),
            on_note=lambda note: print(safe(note), file=notes),
            on_beat=on_beat,
        )


def finish(cell: Cell, rows_keys: Sequence[str], scratch: Path, world: int, started: float, progress: Reports) -> None:
    """Tell what the processes have noted, and store the rows that they have left."""
    for note in notes_of(scratch):
        progress.warn(note)
    trained = cell.folder.trained()
    if trained is not None and trained["status"] == "ok":
        collect(cell, rows_keys, scratch, world, started)


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
