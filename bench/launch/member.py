"""Member: this process as one of several that share each run. The first one leads, the others follow.

torchrun has started them, on one machine or several, or `ranks.py` has for `--devices`. They agree through the store of
torchrun's agent and not through a process group, so one may wait for another for as long as it takes. Each run has a
process group of its own, so that one that fails does not spoil the next one. In the store:

job/<n>          the n-th piece of work that the leader hands out, or the exit code of all
ended/<n>/<rank>  how it has ended in a process
bye/<rank>       the process has read the exit code
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import BenchError
from bench.launch.endings import ExitReason, LostGroup, MemoryShortageError, is_out_of_memory
from bench.launch.signals import Stopped, stop_if_asked

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.cells.progress import Reports
    from bench.config.arguments import RunArguments
    from bench.training.recorder import OnStep
    from bench.training.selection import OnValidation

__all__ = ["Member", "membership", "use_threads", "world_of"]

LOST_S = 60.0
"""Seconds that the leader waits for the others when the work has failed in one of them."""
LEADER_S, STOP_S = 20.0, 300.0
"""Seconds that a follower waits for the leader when its own work has failed, or was stopped: states take time."""
BYE_S, LOOK_S = 5.0, 0.05


@dataclass
class End:
    """The exit code of all processes of a group."""

    code: int = 1


class Member:
    """One process of a group.

    Args:
        rank: of this process.
        world: number of processes.
    """

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        self.jobs = 0  # handed out so far
        self.lost = ""  # why no more can be handed out
        self.scratch: Path | None = None  # a folder that goes with the group, however it ends

    @cached_property
    def store(self) -> Any:
        """What the processes tell each other, by name."""
        from torch._C._distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store, _, _ = next(iter(rendezvous("env://")))
        return PrefixStore("bench", store)

    # The leader -----------------------------------------------------------------------------------------------------

    @contextmanager
    def leading(self) -> Iterator[End]:
        """Tell the others at the end what all processes end with, whatever happens."""
        end = End()
        try:
            yield end
        except Stopped as stopped:
            end.code = stopped.exit_code
            raise
        except BenchError as error:
            end.code = error.exit_code
            raise
        finally:
            self.store.set(f"job/{self.jobs}", json.dumps({"end": end.code}))
            deadline = time.monotonic() + BYE_S
            names = [f"bye/{rank}" for rank in range(1, self.world)]
            while not self.store.check(names) and time.monotonic() < deadline:
                time.sleep(LOOK_S)

    def share(
        self,
        cell: Cell,
        rows_keys: Sequence[str],
        arguments: RunArguments,
        progress: Reports,
        on_step: OnStep,
        on_validation: OnValidation,
        accumulate: int,
        out_of_memory: bool,
    ) -> None:
        """Execute a run together with the other processes, and store the rows that all have made.

        Args:
            cell: the run.
            rows_keys: evaluations whose rows are missing.
            arguments: of the command.
            progress: told what happens in this process.
            on_step: told about training steps.
            on_validation: told what validations find.
            accumulate: micro-batches of an optimiser step on each process.
            out_of_memory: whether there are more of them than asked for, for want of memory.

        Raises:
            LostGroup: memory was not enough, and not all processes have come back from the attempt.
            BenchError: a process failed, or the rows are not exactly the wanted ones.
        """
        from bench.base.files import scratch_folder
        from bench.cells.execution import Execution
        from bench.cells.job import content_of
        from bench.cells.work import collect
        from bench.config.arguments import threads_of

        if self.lost and out_of_memory:
            raise LostGroup
        started = time.monotonic()
        told = {
            "on_step": on_step,
            "on_validation": on_validation,
            "on_stage": progress.stage,
            "on_note": progress.warn,
            "on_beat": progress.beat,
        }
        with scratch_folder(self.scratch or arguments.results_folder, cell.key) as scratch:
            job = {
                "cell": content_of(cell),
                "rows": list(rows_keys),
                "execution": Execution.of(arguments).cut_into(accumulate, out_of_memory).as_dict(),
                "scratch": str(scratch.resolve()),
                "threads": threads_of(cell.config.preset, arguments),
            }
            self.together(job, lambda: self.work(cell, job, told))
            trained = cell.folder.trained()
            if trained is not None and trained["status"] == "ok":
                collect(cell, rows_keys, scratch, self.world, started)

    def together(self, job: Mapping[str, Any], act: Callable[[], None]) -> None:
        """Hand out a job, take part in it, and wait until all have ended it.

        Raises:
            Stopped: a signal came to one of the processes.
            MemoryShortageError: one of them ran out of memory.
            BenchError: one of them failed.
        """
        if self.lost:
            raise BenchError(self.lost)
        number = self.jobs
        self.jobs += 1
        self.store.set(f"job/{number}", json.dumps(job))
        reasons = self.exit_reasons(number, self.take_part(number, act))
        worst = sorted((reason for reason in reasons if reason.kind != "ok"), key=lambda reason: reason.at)
        for kind in ("memory", "failed", "stopped"):
            for reason in worst:
                if reason.kind == kind:
                    self.raise_for(reason)

    def exit_reasons(self, number: int, own: ExitReason) -> list[ExitReason]:
        """Return how a job has ended in all processes that still answer."""
        reasons, deadline = {self.rank: own}, math.inf
        while len(reasons) < self.world:
            for rank in set(range(self.world)) - set(reasons):
                if self.store.check([f"ended/{number}/{rank}"]):
                    reasons[rank] = ExitReason(**json.loads(self.store.get(f"ended/{number}/{rank}")))
            if deadline == math.inf and any(reason.kind != "ok" for reason in reasons.values()):
                deadline = time.monotonic() + LOST_S
            if time.monotonic() > deadline:
                missing = ", ".join(map(str, sorted(set(range(self.world)) - set(reasons))))
                self.lost = (
                    f"process {missing} of {self.world} does not answer any more; it is stopped, hangs, or its machine "
                    f"is gone"
                )
                break
            stop_if_asked()  # a signal that came while the work failed
            time.sleep(LOOK_S)
        return list(reasons.values())

    def raise_for(self, reason: ExitReason) -> None:
        """Raise what a bad end in one process means for the run."""
        if reason.kind == "stopped":
            raise Stopped(reason.number)
        if reason.kind == "memory":
            raise MemoryShortageError(f"process {reason.rank} of {self.world}: {reason.text}")
        if self.lost:
            raise BenchError(f"{self.lost} (process {reason.rank}: {reason.text})")
        raise BenchError(f"process {reason.rank} of {self.world} failed: {reason.text}")

    # The followers --------------------------------------------------------------------------------------------------

    def follow(self) -> int:
        """Do what the leader hands out, until it tells the end; return the exit code."""
        from bench.cells.job import cell_of

        reason = ExitReason(self.rank)
        try:
            for number in range(sys.maxsize):
                job = self.job(number, reason)
                if job is None:
                    return reason.code
                if "end" in job:
                    return int(job["end"])
                reason = self.take_part(number, lambda job=job: self.work(cell_of(job["cell"]), job, {}))  # type: ignore[misc]
        except Stopped as stopped:
            return stopped.exit_code
        finally:
            self.store.set(f"bye/{self.rank}", "")
        return 1

    def job(self, number: int, reason: ExitReason) -> dict[str, Any] | None:
        """Return the next job; None where the leader does not go on behind a bad end, as it hangs or has failed."""
        patience = {"ok": math.inf, "stopped": STOP_S}.get(reason.kind, LEADER_S)
        deadline = time.monotonic() + patience
        while not self.store.check([f"job/{number}"]):
            if time.monotonic() > deadline:
                print(f"process 0 of {self.world} does not answer any more: {reason.text}", file=sys.stderr)
                return None
            stop_if_asked()
            time.sleep(LOOK_S)
        job: dict[str, Any] = json.loads(self.store.get(f"job/{number}"))
        return job

    # All processes --------------------------------------------------------------------------------------------------

    def work(self, cell: Cell, job: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """Do this process' share of a run; what a user should know is told by the leader."""
        from bench.cells.execution import Execution
        from bench.cells.work import work
        from bench.launch.memory import note_shortage

        use_threads(job["threads"])
        execution, number = Execution(**job["execution"]), self.taking_part
        try:
            work(
                cell,
                job["rows"],
                rank=self.rank,
                world=self.world,
                execution=execution,
                scratch=Path(job["scratch"]),
                first_has_ended=lambda: self.store.check([f"ended/{number}/0"]),
                **told,
            )
        except BaseException as error:
            if is_out_of_memory(error):  # should this process end alone, the next group knows
                note_shortage(cell, self.world, execution.accumulate)
            raise

    def take_part(self, number: int, act: Callable[[], None]) -> ExitReason:
        """Do this process' part of a job in a process group of its own; tell how it ended, and return it."""
        error: BaseException | None = None
        self.taking_part = number
        self.join(number)
        try:
            act()
        except BaseException as raised:
            error = raised
        reason = ExitReason.of(self.rank, error)
        if error is not None:
            if reason.kind == "failed" and self.rank:
                traceback.print_exception(error)
            let_go(error)
            error = None
        self.leave()
        self.store.set(f"ended/{number}/{self.rank}", json.dumps(asdict(reason)))
        return reason

    def join(self, number: int) -> None:
        """Join the process group of a job; Lightning then finds it there."""
        import torch
        from torch import distributed
        from torch._C._distributed_c10d import PrefixStore

        from bench.training.training import GROUP_TIMEOUT_S

        distributed.init_process_group(
            "nccl" if torch.cuda.is_available() else "gloo",
            store=PrefixStore(f"group/{number}", self.store),
            rank=self.rank,
            world_size=self.world,
            timeout=timedelta(seconds=GROUP_TIMEOUT_S),
        )

    def leave(self) -> None:
        """Leave the process group; processes that wait for this one there get an error when nothing holds it here."""
        from torch import distributed

        gc.collect()
        if distributed.is_initialized():
            distributed.destroy_process_group()


def let_go(error: BaseException) -> None:
    """Forget what the functions held that an exception came through, such as a model and its process group."""
    found: BaseException | None = error
    while found is not None:
        traceback.clear_frames(found.__traceback__)
        found = found.__cause__ or found.__context__


def use_threads(threads: int) -> None:
    """Compute with so many threads; 0 for what the environment says."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch

        torch.set_num_threads(threads)


@lru_cache(maxsize=1)
def membership() -> Member | None:
    """Return this process as a member of a group that torchrun's agent has started; None where there is none."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return None
    return Member(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))


def world_of(devices: int, nodes: int = 1) -> int:
    """Return how many processes share a run: all of the group that this process is a member of, if it is of one.

    Args:
        devices: processes on each node.
        nodes: that share a run.
    """
    member = membership()
    return devices * nodes if member is None else member.world
