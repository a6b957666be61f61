"""Group: this process as one of several that share each run. The first one leads, the others follow.

torchrun has started them, on one machine or several, or `processes.py` has for `--devices`. The leader plans, locks and
stores; it hands a run to the others through the store of torchrun's agent, so they may wait for as long as it takes.
Then all train, by Lightning's process group, and evaluate their shares of the rows. A process that fails ends, and the
agent ends the others: a group does not go on behind a failure. Keys in the store:

run/<n>            the n-th run that the processes share; null when there is no more
<n>/<point>/<rank> a process has come to a point of its work on it
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from bench.base.printable import one_line
from bench.errors import BenchError
from bench.launch.processes import use_threads
from bench.launch.signals import raise_pending_signal

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.config.arguments import RunArguments
    from bench.training.events import Events

LOOK_S = 0.05


class GroupError(BenchError):
    """A process, "process 1 of 2", failed in its part of a run, so that the group cannot go on."""

    def __init__(self, label: str, process: str, reason: str) -> None:
        super().__init__(one_line(f"failed: {label}: {process}: {reason}"))
        self.reason = reason


class Group:
    """The processes that share each run, as one of them sees them."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        self.runs = 0  # that were shared so far

    @cached_property
    def store(self) -> Any:
        """What the processes tell each other, by name."""
        from torch._C._distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store, _, _ = next(iter(rendezvous("env://")))
        return PrefixStore("bench", store)

    @contextmanager
    def led(self) -> Iterator[None]:
        """Lead the group, and tell the others at the end that there is no more run."""
        try:
            yield
        finally:
            self.store.set(f"run/{self.runs}", json.dumps(None))

    def follow(self) -> int:
        """Do a part of each run that the leader hands out; return the exit code."""
        from bench.cells.record import cell_of
        from bench.config.arguments import RunArguments

        while job := json.loads(self.wait_for(f"run/{self.runs}")):
            self.take_part(cell_of(job["run"]), RunArguments(**job["run"]["arguments"]), job["rows"])
        return 0

    def share(self, cell: Cell, arguments: RunArguments, rows_keys: Sequence[str], events: Events) -> None:
        """Execute a run with the other processes, and store the predictions of some evaluations that all have made.

        Raises:
            GroupError: this process failed, as it also does when another one is gone.
            BenchError: the predictions are not exactly the required ones.
        """
        from bench.cells.record import job_of

        self.store.set(f"run/{self.runs}", json.dumps({"run": job_of(cell, arguments), "rows": list(rows_keys)}))
        self.take_part(cell, arguments, rows_keys, events)

    def take_part(
        self, cell: Cell, arguments: RunArguments, rows_keys: Sequence[str], events: Events | None = None
    ) -> None:
        """Do this process' part of a run."""
        from bench.cells.work import execution_of, failure_of, train_and_evaluate
        from bench.training.events import SILENT

        execution = execution_of(cell, arguments, self.rank, self.world)
        use_threads(execution.threads)
        try:
            train_and_evaluate(cell, rows_keys, execution, events or SILENT, self.meet)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also an objective's SystemExit
            reason = failure_of(cell, execution.accumulate * self.world, error)
            raise GroupError(cell.label, f"process {self.rank} of {self.world}", reason) from error
        self.runs += 1

    def meet(self, point: str) -> None:
        """Tell that this process has come to a point of its work; the first one waits for all others there."""
        self.store.set(f"{self.runs}/{point}/{self.rank}", "")
        if self.rank == 0:
            for rank in range(1, self.world):
                self.wait_for(f"{self.runs}/{point}/{rank}")

    def wait_for(self, key: str) -> Any:
        """Wait until there is a value in the store, however long it takes, and return it.

        Raises:
            Stopped: a signal came, also from torchrun's agent because another process has failed.
        """
        while not self.store.check([key]):
            raise_pending_signal()
            time.sleep(LOOK_S)
        return self.store.get(key)


@lru_cache(maxsize=1)
def current_group() -> Group | None:
    """Return the group that this process is a member of; None where torchrun's agent has not started it."""
    if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return None
    return Group(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
