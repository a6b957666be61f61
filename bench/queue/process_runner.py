"""Process runner: each cell in a process of its own, its outcome in the queue and its failure in the store."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from bench.base.signals import EXIT_CODES
from bench.errors import BenchError
from bench.queue.child import REFUSED
from bench.queue.children import Child, run_child
from bench.queue.outcome import CellOutcome, done_path, failed_path
from bench.queue.plan_file import PlanFile
from bench.queue.protocol.job import Job
from bench.queue.protocol.runner import Ending, Handle, Runner

__all__ = ["ProcessRunner", "progress_path"]

TAIL = 12
"""Lines of a log that an error repeats."""


class ProcessRunner(Runner):
    """Runs the cells of a plan in child processes.

    Args:
        plan: whose cells.
    """

    def __init__(self, plan: PlanFile) -> None:
        self.plan, self.queue = plan, plan.queue

    def is_done(self, job: Job) -> bool:
        """Return whether an outcome says so."""
        return done_path(self.queue, job.key).exists()

    def start(self, job: Job, generation: int, broken: str) -> Handle:
        """Start a child; its job file and log are `w/<key>.<generation>.json` and `.log`."""
        folder, name = self.queue / "w", f"{job.key}.{generation}"
        folder.mkdir(parents=True, exist_ok=True)
        file, log = folder / f"{name}.json", folder / f"{name}.log"
        content = {
            "queue": str(self.queue),
            "key": job.key,
            "generation": generation,
            "cell": job.cell,
            "arguments": self.plan.arguments,
            "broken": broken,
            "progress": str(progress_path(self.queue, job.key, generation)),
            "started_by": os.getpid(),
        }
        file.write_text(json.dumps(content))
        return ChildHandle(self, job, generation, run_child(file, log, os.environ), log)

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
        """Print a line."""
        print(text, file=sys.stderr, flush=True)


class ChildHandle(Handle):
    """A cell in a child process.

    Args:
        runner: that started it.
        job: the cell.
        generation: of the lease.
        child: the process.
        log: what it prints.
    """

    def __init__(self, runner: ProcessRunner, job: Job, generation: int, child: Child, log: Path) -> None:
        self.runner, self.job, self.generation = runner, job, generation
        self.child, self.log = child, log
        self.was_told = False

    def poll(self) -> Ending | None:
        """Return how the process ended, by its outcome and its exit code."""
        code = self.child.poll()
        if code is None:
            return None
        if done_path(self.runner.queue, self.job.key).exists():
            return Ending.DONE
        if failed_path(self.runner.queue, self.job.key, self.generation).exists():
            return Ending.FAILED
        if code == REFUSED:
            self.runner.say(f"cannot run {self.job.label} here: {self.tail(1)}")
            return Ending.REFUSED
        if self.was_told:
            return Ending.STOPPED
        if code < 0 or code in EXIT_CODES.values():
            return Ending.KILLED
        self.runner.fail(self.job, self.generation, f"its process ended with code {code}:\n{self.tail(TAIL)}")
        return Ending.FAILED

    def tail(self, lines: int) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-lines:])

    def stop(self, number: int) -> None:
        """Send the signal to the process."""
        self.was_told = True
        self.child.send(number)

    def kill(self) -> None:
        """Kill the process and what it has started."""
        self.was_told = True
        self.child.kill()


def progress_path(queue: Path, key: str, generation: int) -> Path:
    """Return where a child says how far it is."""
    return queue / "p" / f"{key}.{generation}"
