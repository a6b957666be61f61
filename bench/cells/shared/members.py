"""Members: a cell shared by processes that torchrun has started. The first plans, scores and prints; all train."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cells.cell import Cell
from bench.cells.job import cell_of
from bench.cells.progress import Reports
from bench.cells.shared.workers import do_work, finish, job_of, scratch_folder
from bench.config.arguments import RunArguments, threads_of
from bench.processes.heartbeat import no_beat
from bench.processes.member import Member
from bench.processes.trainer import GROUP_TIMEOUT_S


def share_with_members(
    cell: Cell,
    rows_keys: Sequence[str],
    arguments: RunArguments,
    progress: Reports,
    member: Member,
    accumulate: int = 1,
    out_of_memory: bool = False,
) -> None:
    """Do a cell together with the other processes, and store the rows that all have made.

    Args:
        cell: what.
        rows_keys: evaluations whose rows are missing.
        arguments: of the run.
        progress: told what happens.
        member: this process, the first one.
        accumulate: micro-batches of an optimiser step on each process.
        out_of_memory: whether there are more of them than asked for, for want of memory.

    Raises:
        BenchError: when a process fails, or the rows are not exactly the wanted ones.
    """
    started = time.monotonic()
    with scratch_folder(arguments.results_folder, cell) as scratch:
        progress.stage(f"on {member.world} processes")
        job = {
            **job_of(cell, rows_keys, arguments, accumulate, out_of_memory),
            "scratch": str(scratch.resolve()),
            "threads": threads_of(cell.config.preset, arguments),
        }

        def act() -> None:
            do_work(cell, job, member.rank, member.world, scratch, no_beat)

        member.together(job, act, arguments.stall_timeout or GROUP_TIMEOUT_S)
        finish(cell, rows_keys, scratch, member.world, started, progress)


def follow(member: Member) -> int:
    """Do what the first process hands out; return the exit code of the run."""

    def do(job: dict[str, Any]) -> None:
        if job["threads"]:
            import torch

            torch.set_num_threads(job["threads"])
        do_work(cell_of(job["cell"]), job, member.rank, member.world, Path(job["scratch"]), no_beat)

    return member.follow(do)
