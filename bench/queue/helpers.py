"""Helpers: a worker whose cells several nodes share. Its first process is the worker, the others help it.

`srun`, or torchrun, starts the same `bench work PLAN` as every process of a group. The first one claims cells as any
worker does; for each of them it starts a child, and so does every other process. These children are a group of their
own (`bench/processes/member.py`): one that is killed, or hangs, ends with its cell and not with the worker. What the
processes tell each other, in the store of the group:

cell/<n>    the n-th cell that the worker has begun, by the name of its group; or what all end with
over/<n>    its child has ended
lost/<n>    that of a helper was killed
bye/<rank>  a helper has taken note of the end
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.base.signals import EXIT_CODES, Stopped, handled, told_to
from bench.errors import BenchError
from bench.processes.member import GROUP, End, Member, membership
from bench.processes.process import Child, start_child
from bench.queue.plan_file import PlanFile
from bench.queue.process_runner import PRELOAD, ChildHandle, ProcessRunner
from bench.queue.protocol.job import Job
from bench.queue.protocol.runner import Ending, Handle

__all__ = ["GroupRunner", "help_worker", "leading"]

LOOK_S = 0.1
GRACE_S = 20.0
"""How long a helper's child may go on when that of the worker has ended."""
BYE_S = 10.0
"""How long the worker waits at its end for helpers to take note."""
AGAIN = EXIT_CODES[signal.SIGUSR2]


class GroupRunner(ProcessRunner):
    """Runs each cell in a child of every process of the group; this is the first process.

    Args:
        plan: whose cells.
        member: this process.
    """

    def __init__(self, plan: PlanFile, member: Member) -> None:
        super().__init__(plan)
        self.member = member
        self.begun = 0

    def start(self, job: Job, generation: int, broken: str) -> Handle:  # type: ignore[override]
        """Have the helpers start their children, and start one here."""
        number, name, store = self.begun, f"{job.key}.{generation}", self.member.store
        self.begun += 1
        self.environment = of_group(name)
        store.set(f"cell/{number}", json.dumps({"group": name}))
        try:
            return GroupHandle(super().start(job, generation, broken), self.member, number)
        except OSError:
            store.set(f"over/{number}", "")
            raise

    def may_be_silent(self, stage: str) -> bool:
        """Return True: a process that waits for another node gives no sign; `--stall-timeout` is how long it waits."""
        return True


class GroupHandle(Handle):
    """A cell that the group runs.

    Args:
        handle: of the child of this process.
        member: this process.
        number: of the cell, among those that the worker has begun.
    """

    def __init__(self, handle: ChildHandle, member: Member, number: int) -> None:
        self.handle, self.member, self.number = handle, member, number

    def poll(self) -> Ending | None:
        """Return how it ended; the helpers are told first. Where a helper has lost its child, this one ends too."""
        if self.member.store.check([f"lost/{self.number}"]):
            self.handle.child.kill()
        ending = self.handle.poll()
        if ending is not None:
            self.member.store.set(f"over/{self.number}", "")
        return ending

    def stop(self, number: int) -> None:
        """Pass a signal on; the children agree between two steps."""
        self.handle.stop(number)

    def kill(self) -> None:
        """Kill the child of this process; the helpers kill theirs."""
        self.handle.kill()
        self.member.store.set(f"over/{self.number}", "")


@contextmanager
def leading(runner: GroupRunner) -> Iterator[End]:
    """Tell the helpers at the end what all processes end with, whatever happens."""
    end, store = End(), runner.member.store
    try:
        yield end
    finally:
        store.set(f"cell/{runner.begun}", json.dumps({"end": end.code}))
        byes = [f"bye/{rank}" for rank in range(1, runner.member.world)]
        deadline = time.monotonic() + BYE_S
        while not store.check(byes) and time.monotonic() < deadline:
            time.sleep(LOOK_S)


def help_worker(plan: PlanFile, member: Member) -> int:
    """Take part in every cell that the worker begins; return the exit code of all.

    Raises:
        BenchError: the worker is gone.
    """
    told: list[int] = []
    try:
        with told_to(told.append):
            for number in itertools.count():
                cell = wait_for(member, f"cell/{number}")
                if "end" in cell:
                    member.store.set(f"bye/{member.rank}", "")
                    return int(cell["end"])
                scratch = plan.queue / "w" / cell["group"]
                scratch.mkdir(parents=True, exist_ok=True)  # this node may not see it yet
                log = scratch / f"log.{member.rank}"
                take_part(member, number, start_child(main, [], log, of_group(cell["group"]), PRELOAD), told)
    except RuntimeError as error:  # torch's, where the store is gone
        if told:
            return AGAIN
        raise BenchError(f"the first process of this worker is gone: {error}") from error
    return 1


def wait_for(member: Member, name: str) -> dict[str, Any]:
    """Wait until something is said; return it."""
    while not member.store.check([name]):
        time.sleep(LOOK_S)
    found: dict[str, Any] = json.loads(member.store.get(name))
    return found


def take_part(member: Member, number: int, child: Child, told: list[int]) -> None:
    """Wait for a child, passing signals on; it is ended when that of the worker has ended and it does not."""
    deadline, sent = None, 0
    try:
        while child.poll() is None:
            for received in told[sent:]:
                child.stop(received)
            sent = len(told)
            if deadline is None and member.store.check([f"over/{number}"]):
                deadline = time.monotonic() + GRACE_S
            if deadline is not None and time.monotonic() > deadline:
                break
            time.sleep(LOOK_S)
        code = child.poll()
        if code is not None and code < 0:
            member.store.set(f"lost/{number}", "")
    finally:
        child.kill()


def of_group(name: str) -> Mapping[str, str]:
    """Return the environment of a child: a member of a group with this name, whose store the worker has."""
    return {**os.environ, GROUP: name, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}


def main() -> int:
    """Be the child of a helper."""
    from bench.cells.shared.members import follow

    member = membership()
    assert member is not None
    try:
        with handled():
            return follow(member)
    except Stopped as stopped:
        return stopped.exit_code
    except KeyboardInterrupt:
        return EXIT_CODES[signal.SIGINT]
