"""Process runner: each cell in a process of its own, its outcome in the queue and its failure in the store.

Q/w/<key>.<generation>/     of one child: `job.json` says what it does, `log.0` takes what it prints, `heartbeat.0` says
                            that it lives, and where it is
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.base.signals import EXIT_CODES
from bench.cells.pace.pace import UNWATCHED
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from bench.processes.endings import TAIL, log_tail
from bench.processes.process import Child, start_child
from bench.processes.watch import Limits, Watch
from bench.queue.child import REFUSED, main
from bench.queue.outcome import CellOutcome, done_path, failed_path
from bench.queue.plan_file import PlanFile
from bench.queue.progress_file import progress_path
from bench.queue.protocol.job import Job
from bench.queue.protocol.runner import Ending, Handle, Runner

__all__ = ["PRELOAD", "ChildHandle", "ProcessRunner"]

PRELOAD = "bench.queue.preload"
"""What the fork server imports."""


def to_stderr(text: str) -> None:
    """Print a line."""
    print(text, file=sys.stderr, flush=True)


class ProcessRunner(Runner):
    """Runs the cells of a plan in child processes.

    Args:
        plan: whose cells.
        environment: of the children; that of this process by default.
        tell: is told what happens; by default a line is printed.
    """

    def __init__(
        self,
        plan: PlanFile,
        environment: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = to_stderr,
    ) -> None:
        self.plan, self.queue, self.tell = plan, plan.queue, tell
        self.environment = os.environ if environment is None else environment
        arguments = RunArguments.from_dict(plan.arguments)
        self.limits = Limits(arguments.stall_timeout, arguments.cell_timeout)

    def is_done(self, job: Job) -> bool:
        """Return whether an outcome says so."""
        return done_path(self.queue, job.key).exists()

    def may_be_silent(self, stage: str) -> bool:
        """Return whether a child gives no signs of life in a stage."""
        return stage in UNWATCHED

    def start(self, job: Job, generation: int, broken: str) -> ChildHandle:
        """Start a child, with a folder of its own."""
        scratch = self.queue / "w" / f"{job.key}.{generation}"
        scratch.mkdir(parents=True, exist_ok=True)
        file = scratch / "job.json"
        content = {
            "queue": str(self.queue),
            "key": job.key,
            "generation": generation,
            "cell": job.cell,
            "arguments": self.plan.arguments,
            "broken": broken,
            "progress": str(progress_path(self.queue, job.key, generation)),
        }
        file.write_text(json.dumps(content))
        child = start_child(main, [file], scratch / "log.0", self.environment, PRELOAD)
        return ChildHandle(self, job, generation, child, scratch)

    def give_up(self, job: Job, generation: int, deaths: int) -> None:
        """Fail a cell that its processes did not survive."""
        self.fail(job, generation, f"killed {deaths} workers: their processes were gone before it was done")

    def fail(self, job: Job, generation: int, why: str) -> None:
        """Note a failed cell whose child could not do it, in the store and in the queue.

        Raises:
            OSError: the disk is full or refuses; try again.
        """
        from bench.cells.job import config_of
        from bench.store.provenance import provenance
        from bench.store.store import CellFolder

        config = config_of(job.cell["config"]).as_dict()
        content = {"key": job.cell["key"], "config": config, "error": why, "status": "failed"}
        try:
            CellFolder(Path(job.folder)).write_failed(content, provenance())
        except BenchError as error:
            raise OSError(str(error)) from error
        CellOutcome("failed", why).write(self.queue, job.key, generation)

    def say(self, text: str) -> None:
        """Tell what happens."""
        self.tell(text)


class ChildHandle(Handle):
    """A cell in a child process, which is ended where it stalls.

    Args:
        runner: that started it.
        job: the cell.
        generation: of the lease.
        child: the process.
        scratch: its folder, with log and heartbeat.
    """

    def __init__(self, runner: ProcessRunner, job: Job, generation: int, child: Child, scratch: Path) -> None:
        self.runner, self.job, self.generation = runner, job, generation
        self.child, self.scratch = child, scratch
        self.watch = Watch(scratch, 1, runner.limits)
        self.stalled: str | None = None
        self.was_told = False

    def poll(self) -> Ending | None:
        """Return how the process ended, by its outcome and its exit code; one that stalls is ended first."""
        if self.child.poll() is None:
            self.stalled = self.watch.look(self.unwatched())
            if self.stalled is None:
                return None
            self.child.kill()
        return self.ending(self.child.poll())

    def unwatched(self) -> tuple[int, ...]:
        """Return the ranks that may be silent: the only one, in stages that are one call."""
        beat = self.watch.beats.get(0)
        if beat is not None and self.runner.may_be_silent(beat.stage):
            return (0,)
        return ()

    def ending(self, code: int | None) -> Ending:
        """Return how a process ended that has this exit code; None for one that the system does not let go."""
        if done_path(self.runner.queue, self.job.key).exists():
            return Ending.DONE
        if failed_path(self.runner.queue, self.job.key, self.generation).exists():
            return Ending.FAILED
        if self.stalled:
            return self.failed(self.stalled)
        if code == REFUSED:
            self.runner.say(f"cannot run {self.job.label} here: {self.tail(1)}")
            return Ending.REFUSED
        if self.was_told:
            return Ending.STOPPED
        if code is None or code < 0 or code in EXIT_CODES.values():
            return Ending.KILLED
        return self.failed(f"its process ended with code {code}:\n{self.tail(TAIL)}")

    def failed(self, why: str) -> Ending:
        """Note why the cell failed."""
        self.runner.fail(self.job, self.generation, why)
        return Ending.FAILED

    def tail(self, lines: int) -> str:
        """Return the last lines of the log."""
        return "\n".join(log_tail(self.scratch, 0, lines))

    def stop(self, number: int) -> None:
        """Send the signal to the process."""
        self.was_told = True
        self.child.stop(number)

    def kill(self) -> None:
        """Kill the process and what it has started."""
        self.was_told = True
        self.child.kill()
