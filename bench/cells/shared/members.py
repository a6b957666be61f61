"""Members: a cell shared by processes that torchrun has started. The first plans, scores and prints; all train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.cells.job import cell_of
from bench.cells.shared.steps import no_step
from bench.cells.shared.workers import SharedCell, do_work
from bench.config.arguments import threads_of
from bench.processes.heartbeat import no_beat
from bench.processes.member import Member
from bench.processes.rank import use_threads
from bench.processes.trainer import GROUP_TIMEOUT_S


def share_with_members(shared: SharedCell, member: Member, accumulate: int, out_of_memory: bool) -> None:
    """Do a cell together with the other processes, and store the rows that all have made.

    Args:
        shared: what.
        member: this process, the first one.
        accumulate: micro-batches of an optimiser step on each process.
        out_of_memory: whether there are more of them than asked for, for want of memory.

    Raises:
        BenchError: when a process fails, or the rows are not exactly the wanted ones.
    """
    cell, arguments = shared.cell, shared.arguments
    with shared.done_in(member.world) as scratch:
        shared.progress.stage(f"on {member.world} processes")
        job = {
            **shared.job(accumulate, out_of_memory),
            "scratch": str(scratch.resolve()),
            "threads": threads_of(cell.config.preset, arguments),
        }

        def act() -> None:
            do_work(cell, job, member.rank, member.world, scratch, shared.progress.beat, shared.progress.step)

        member.together(job, act, arguments.stall_timeout or GROUP_TIMEOUT_S)


def follow(member: Member) -> int:
    """Do what the first process hands out; return the exit code of the run."""

    def do(job: dict[str, Any]) -> None:
        use_threads(job["threads"])
        do_work(cell_of(job["cell"]), job, member.rank, member.world, Path(job["scratch"]), no_beat, no_step)

    return member.follow(do)
