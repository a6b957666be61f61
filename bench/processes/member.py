"""Member: this process as one of several that torchrun has started. The first leads, the others follow."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bench.base.signals import Stopped
from bench.errors import BenchError
from bench.processes.endings import Ending, ending_of, raise_cause

LOST_S = 60.0
"""How long the first process waits for the others when one of them has failed."""

BYE_S = 10.0
"""How long it waits at the end for the others to take note."""

LOOK_S = 0.05

GROUP = "BENCH_GROUP"
"""Environment variable with the name of a group, where the processes of one torchrun are several groups in turn."""


@dataclass
class End:
    """What a run ends with.

    Args:
        code: the exit code.
    """

    code: int = 1


class Member:
    """One of the processes of a torchrun, on one machine or several.

    They agree through the store of torchrun's agent, and share a folder for rows. A cell has a process group of its
    own, so that a cell that fails does not spoil the next one.

    Args:
        rank: of this process.
        world: number of processes.
        group: name of the group among those that share a store.
    """

    def __init__(self, rank: int, world: int, group: str = "") -> None:
        self.rank, self.world, self.group = rank, world, group
        self.jobs = 0  # handed out so far
        self.lost: str | None = None  # why no more can be handed out

    @cached_property
    def store(self) -> Any:
        """What the processes tell each other, by name."""
        from torch._C._distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store, _, _ = next(iter(rendezvous("env://")))
        return PrefixStore(f"bench{self.group}", store)

    # The first process ----------------------------------------------------------------------------------------------

    def together(self, job: Mapping[str, Any], act: Callable[[], None], timeout: float) -> None:
        """Hand out a job, take part in it, and wait for all others.

        Args:
            job: plain content for JSON.
            act: this process' part.
            timeout: seconds that a collective waits for the other ranks.

        Raises:
            Stopped: a signal came to one of the processes.
            MemoryShortageError: one of them ran out of memory.
            BenchError: one of them failed.
        """
        if self.lost:
            raise BenchError(self.lost)
        number = self.jobs
        self.jobs += 1
        self.store.set(f"job/{number}", json.dumps({**job, "timeout": timeout}))
        own = self.take_part(number, act, timeout)
        raise_cause(self._endings(number, own), {}, Path(), self.world)

    def _endings(self, number: int, own: Ending) -> list[Ending]:
        """Return how the job has ended in all processes."""
        endings, deadline = {self.rank: own}, None
        while len(endings) < self.world:
            for rank in range(self.world):
                name = f"said/{number}/{rank}"
                if rank not in endings and self.store.check([name]):
                    endings[rank] = Ending(**json.loads(self.store.get(name)))
            if deadline is None and any(ending.kind != "ok" for ending in endings.values()):
                deadline = time.monotonic() + LOST_S
            if deadline is not None and time.monotonic() > deadline:
                missing = sorted(set(range(self.world)) - set(endings))
                self.lost = f"processes {missing} of {self.world} did not come back from a cell that failed"
                break
            time.sleep(LOOK_S)
        return list(endings.values())

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

    # The others -----------------------------------------------------------------------------------------------------

    def follow(self, do: Callable[[dict[str, Any]], None]) -> int:
        """Do what the first process hands out, until it says the end; return the exit code of all."""
        try:
            for number in range(sys.maxsize):
                while not self.store.check([f"job/{number}"]):
                    time.sleep(LOOK_S)
                job: dict[str, Any] = json.loads(self.store.get(f"job/{number}"))
                if "end" in job:
                    return int(job["end"])
                ending = self.take_part(number, lambda job=job: do(job), job["timeout"])  # type: ignore[misc]
                if ending.kind == "stopped":
                    return ending.code
        except Stopped as stopped:
            return stopped.exit_code
        finally:
            self.store.set(f"bye/{self.rank}", "")
        return 1

    # All --------------------------------------------------------------------------------------------------------------

    def take_part(self, number: int, act: Callable[[], None], timeout: float) -> Ending:
        """Do this process' part of a job in a process group of its own; say how it ended, and return it."""
        error: BaseException | None = None
        self._join(number, timeout)
        try:
            act()
        except BaseException as raised:
            error = raised
        ending = ending_of(self.rank, error)
        if error is not None:
            if ending.kind == "failed" and self.rank:
                traceback.print_exception(error)
            let_go(error)
            error = None
        self._leave()
        self.store.set(f"said/{number}/{self.rank}", json.dumps(asdict(ending)))
        return ending

    def _join(self, number: int, timeout: float) -> None:
        """Join the process group of a job; Lightning then finds it there."""
        import torch
        from torch import distributed
        from torch._C._distributed_c10d import PrefixStore

        backend = "gloo"
        if torch.cuda.is_available():
            backend = "nccl"
        distributed.init_process_group(
            backend,
            store=PrefixStore(f"group/{number}", self.store),
            rank=self.rank,
            world_size=self.world,
            timeout=timedelta(seconds=timeout),
        )

    def _leave(self) -> None:
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


@lru_cache(maxsize=1)
def membership() -> Member | None:
    """Return this process as a member of the group that torchrun has started; None where there is no such group."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return None
    return Member(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ.get(GROUP, ""))


def world_of(devices: int, nodes: int = 1) -> int:
    """Return how many processes share a cell: all of the torchrun that this process is a member of, if it is one.

    Args:
        devices: processes on each node.
        nodes: that share a cell.
    """
    member = membership()
    if member is None:
        return devices * nodes
    return member.world
