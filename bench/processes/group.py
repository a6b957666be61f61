"""Group: several processes that do one job. torchrun's elastic agent starts them, this process watches them."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.parents import is_alive
from bench.base.signals import asked_to_stop, between_steps
from bench.errors import BenchError
from bench.processes.endings import Ending, raise_cause, read_ending
from bench.processes.process import end_group
from bench.processes.watch import Limits, StalledError, Watch

GRACE_S = 3.0
"""How long the others may go on when one rank has failed, and all may take to end when they have said so."""

STOP_S = 10.0
"""How long ranks may take to stop when a signal came, beside the longest step that was seen, with its save."""

LOOK_S = 0.1
"""From one look at the ranks to the next."""

NO_LIMITS = Limits()
NO_CHANGE: Mapping[str, str] = {}

JOB = "job.json"
"""File of a scratch folder: what the ranks do."""


def run_group(
    target: str,
    content: Mapping[str, Any],
    world: int,
    scratch: Path,
    *,
    threads: int = 0,
    limits: Limits = NO_LIMITS,
    environment: Mapping[str, str] = NO_CHANGE,
    on_look: Callable[[], None] = lambda: None,
) -> None:
    """Run a function in several processes of their own and wait for all of them; none is left behind.

    A signal to this process is passed on to the ranks, which stop when their state is kept. The first rank that fails
    ends all others.

    Args:
        target: `module:function`, called with `content` and a `Rank` in each process.
        content: plain content for JSON.
        world: number of processes.
        scratch: folder of job, logs and heartbeats, which all of them share.
        threads: CPU threads of a process; 0 for what the environment says.
        limits: how long a rank may be silent, and the whole may take.
        environment: variables that are set in the ranks.
        on_look: called every moment while they work.

    Raises:
        Stopped: a signal came, to this process or to a rank.
        StalledError: a rank was silent for too long, or the whole took too long.
        MemoryShortageError: a rank ran out of memory.
        GroupError: a rank failed; with the end of its log.
    """
    job = {
        "target": target,
        "content": content,
        "threads": threads,
        "environment": dict(environment),
        "parent": os.getpid(),
        "path": [path or os.getcwd() for path in sys.path],
    }
    (scratch / JOB).write_text(json.dumps(job))
    group = Group(world, scratch, limits)
    with between_steps():
        try:
            group.start()
            while group.runs():
                group.look()
                on_look()
        finally:
            group.end()
    group.raise_cause()


class Agent(threading.Thread):
    """torchrun's elastic agent, in a thread: it leaves signals to the main thread.

    Args:
        world: number of processes.
        job: file that says what they do.
    """

    def __init__(self, world: int, job: Path) -> None:
        super().__init__(daemon=True, name="elastic-agent")
        self.world, self.job = world, job
        self.codes: dict[int, int] = {}  # of ranks that ended badly
        self.error: BaseException | None = None  # of the agent itself

    def run(self) -> None:
        """Start the ranks and wait until all have ended; when one fails, end the others."""
        from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch

        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=self.world,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            max_restarts=0,
            monitor_interval=LOOK_S,
        )
        quiet_logs()
        try:
            elastic_launch(config, sys.executable)("-m", "bench.processes.rank", str(self.job))
        except ChildFailedError as error:
            self.codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        except BaseException as error:
            self.error = error


class Group:
    """The processes of one job, seen from the one that waits for them.

    Args:
        world: number of processes.
        scratch: folder of job, logs and heartbeats.
        limits: how long a rank may be silent, and the whole may take.
    """

    def __init__(self, world: int, scratch: Path, limits: Limits) -> None:
        self.world, self.scratch = world, scratch
        self.watch = Watch(scratch, world, limits)
        self.agent = Agent(world, scratch / JOB)
        self.told: set[int] = set()  # ranks that know of the signal that came
        self.killed: set[int] = set()  # ranks that were ended from here
        self.deadline: float | None = None  # when those that still run are ended
        self.stalled: str | None = None

    def start(self) -> None:
        """Start the ranks."""
        self.agent.start()

    def runs(self) -> bool:
        """Wait a moment; return whether a rank still runs."""
        self.agent.join(LOOK_S)
        return self.agent.is_alive()

    def look(self) -> None:
        """Pass a signal on, and end the ranks when one is silent for too long, or has failed a while ago."""
        endings = self.endings()
        self.stalled = self.stalled or self.watch.look({ending.rank for ending in endings})
        now = time.monotonic()
        if number := asked_to_stop():
            self.tell(number)
        patience = self.patience(endings)
        if patience is not None:
            self.deadline = min(self.deadline or now + patience, now + patience)
        if self.stalled or (self.deadline is not None and now > self.deadline):
            self.kill()

    def endings(self) -> list[Ending]:
        """Return how ranks have said that they end."""
        said = [read_ending(self.scratch, rank) for rank in range(self.world)]
        return [ending for ending in said if ending is not None]

    def patience(self, endings: list[Ending]) -> float | None:
        """Return for how many seconds ranks may go on now; None for no limit."""
        kinds = {ending.kind for ending in endings}
        said = {ending.rank for ending in endings}
        died = any(rank not in said and not is_alive(process) for rank, process in self.watch.processes.items())
        if died or kinds & {"failed", "memory"} or len(said) == self.world:
            return GRACE_S
        if asked_to_stop() or "stopped" in kinds:
            return STOP_S + 2 * self.watch.longest_step
        return None

    def tell(self, number: int) -> None:
        """Pass a signal on to the ranks that do not know of it yet."""
        for rank, process in self.watch.processes.items():
            if rank not in self.told:
                self.told.add(rank)
                with suppress(ProcessLookupError):
                    os.kill(process, number)

    def kill(self) -> None:
        """End what is left of the ranks, and of what they have started."""
        said = {ending.rank for ending in self.endings()}
        for rank, process in self.watch.processes.items():
            if rank not in said and is_alive(process):
                self.killed.add(rank)
            end_group(process)

    def end(self) -> None:
        """Wait for the agent, and leave no process behind."""
        deadline = time.monotonic() + STOP_S
        while self.agent.is_alive() and time.monotonic() < deadline:
            self.watch.look(range(self.world))  # one that has just started gives its process id
            self.kill()
            self.agent.join(LOOK_S)
        self.kill()

    def raise_cause(self) -> None:
        """Raise what the end of the ranks means; return if all ended well."""
        if self.stalled:
            raise StalledError(self.stalled)
        codes = {rank: code for rank, code in self.agent.codes.items() if rank not in self.killed}
        raise_cause(self.endings(), codes, self.scratch, self.world)
        if self.agent.error is not None:
            error = self.agent.error
            raise BenchError(f"processes could not be started ({type(error).__name__}: {error})") from error
        if len(self.endings()) < self.world:
            raise BenchError(f"ranks {sorted(self.killed)} of {self.world} did not end by themselves")


def quiet_logs() -> None:
    """Keep what the agent logs off the terminal: how ranks end is said once, by us."""
    logger = logging.getLogger("torch.distributed.elastic")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
