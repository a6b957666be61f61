"""Child: the function that executors are given. It starts one run as a process of its own and waits for its end.

The run's scratch folder has `job.json` (what is done), `news.json` (how far it is, for people), `outcome.json` (what
became of it), and of each process its id and its log.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.base.files import make_scratch, remove_scratch, write_atomic
from bench.base.keys import canonical
from bench.base.own_code import importable
from bench.base.redaction import guard_process
from bench.cells.job import cell_of
from bench.cells.loggers import logs_of
from bench.cells.progress import Progress
from bench.cells.run import Outcome, attempt
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from bench.launch.endings import MEMORY_CODE, cause_of
from bench.launch.lock import LockedError
from bench.launch.member import membership, use_threads
from bench.launch.processes import end_with, log_tail, note_process, print_to, run_child
from bench.launch.ranks import Rank, run_ranks
from bench.launch.signals import EXIT_CODES, Stopped, handled

__all__ = ["NEWS", "execute_in_process", "main"]

JOB, NEWS, OUTCOME = "job.json", "news.json", "outcome.json"

NEWS_S = 0.5
"""Seconds between two news of a run."""
SMALLER = 12
"""Times that a group is started again with smaller micro-batches: a step of 4,096 rows then has one in each."""


def execute_in_process(job: Mapping[str, Any]) -> dict[str, Any]:
    """Start a run as a process of its own, or as several, and wait; return what became of it.

    Args:
        job: plain content: `cell` (of `bench.cells.job`), `arguments` (of the command), `processes` that share the run,
            `threads` of each, `environment` (variables to set), `broken` (the run of the same folder that has failed),
            `folder` and `path` (where relative paths and the user's own modules are looked up), `scratch`.

    Returns:
        `status`: `done` (with the `outcome`, `seconds` and `warnings`), `failed` (before the run began), `locked` or
        `killed` (its process is gone; these three with an `error`), or `stopped` (by a signal, with its exit `code`).

    Raises:
        StoreError: the scratch folder cannot be made.
    """
    scratch, world = Path(job["scratch"]), job["processes"]
    make_scratch(scratch)
    try:
        (scratch / JOB).write_text(json.dumps(job))
        if world == 1:
            codes = {0: run_child(main, scratch / JOB, job["environment"])}
        else:
            for _ in range(SMALLER):
                codes = run_ranks(
                    "bench.launch.child:be_rank",
                    job,
                    world,
                    scratch,
                    threads=job["threads"],
                    environment=job["environment"],
                )
                if MEMORY_CODE not in codes.values():
                    break
        return outcome_of(codes, scratch, world)
    finally:
        remove_scratch(scratch)


def outcome_of(codes: Mapping[int, int], scratch: Path, world: int) -> dict[str, Any]:
    """Return what became of a run whose processes have ended with some codes: what it has left, else what they mean."""
    with suppress(OSError, ValueError):
        found: dict[str, Any] = json.loads((scratch / OUTCOME).read_bytes())
        return found
    kind, rank, text = cause_of({rank: code for rank, code in codes.items() if code}, scratch, world)
    if kind == "stopped":
        return {"status": "stopped", "code": int(text)}
    if kind == "killed":
        return {"status": "killed", "error": "\n".join([text, *log_tail(scratch, rank)])}
    return {"status": "failed", "error": text}


def main(job_file: str) -> int:
    """Be the only process of a run; return the exit code."""
    guard_process()
    scratch = Path(job_file).parent
    note_process(scratch, 0)
    print_to(scratch / "log.0")
    try:
        with handled():
            return do_run(json.loads(Path(job_file).read_bytes()), scratch)
    except Stopped as stopped:
        return stopped.exit_code
    except KeyboardInterrupt:
        return EXIT_CODES[signal.SIGINT]
    except BenchError as error:  # the disk refuses the outcome
        print(error, flush=True)
        return error.exit_code


def be_rank(job: dict[str, Any], rank: Rank) -> int:
    """Be one of several processes of a run; return the exit code."""
    member = membership()
    assert member is not None, "torchrun's agent has started this process"
    member.scratch = rank.scratch
    if rank.number:
        return member.follow()
    with member.leading() as end:
        end.code = do_run(job, rank.scratch)
    return 1 if member.lost else end.code  # the agent ends those that do not answer


def do_run(job: dict[str, Any], scratch: Path) -> int:
    """Execute a run in this process, alone or as the leader of a group, and write what became of it."""
    if os.path.isdir(job["folder"]):
        os.chdir(job["folder"])
    for folder in job["path"]:
        importable(Path(folder))
    use_threads(job["threads"])
    arguments, news = RunArguments.from_dict(job["arguments"]), News(scratch / NEWS)
    try:
        cell = cell_of(job["cell"], news.rows)
        outcome, logs = Outcome(), logs_of(arguments, news.warn)
        if job["broken"]:
            outcome.broken[cell.folder.path] = job["broken"]
        attempt(cell, arguments, news, logs, outcome)
        outcome.loggers_off |= logs.off
        content: dict[str, Any] = {"status": "done", "outcome": outcome.as_dict()}
    except LockedError as error:
        content = {"status": "locked", "error": str(error)}
    except Exception as error:  # the code or the data is not that of the plan
        traceback.print_exc()
        content = {"status": "failed", "error": str(error)}
    content |= {"seconds": time.monotonic() - news.started, "warnings": news.warnings}
    write_atomic(scratch / OUTCOME, canonical(content), replace=True)
    return 0


class News(Progress):
    """Writes how far a run is into a file twice a second, and keeps its warnings.

    Args:
        path: of the file. It is replaced whole, and a disk that refuses costs news and not the run.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(quiet=True)
        self.path, self.written = path, -NEWS_S
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Keep a warning."""
        print(f"warning: {text}", flush=True)
        self.warnings.append(text)

    def failed(self, why: str) -> None:
        """Print why the run failed."""
        print(f"failed: {why}", flush=True)

    def show(self, text: str, done: int, of: int) -> None:
        """Write the file, unless the last news are new or no stage has begun."""
        if done and time.monotonic() - self.written < NEWS_S:
            return
        self.written = time.monotonic()
        beside = self.path.with_suffix(".new")
        with suppress(OSError):
            beside.write_text(json.dumps([done, of, text]))
            os.replace(beside, self.path)


def read_news(scratch: Path) -> tuple[int, int, str]:
    """Return steps or rows done and wanted of the current stage of a run, and a text."""
    try:
        done, of, text = json.loads((scratch / NEWS).read_bytes())
    except (OSError, ValueError):
        return 0, 0, "starting"
    return int(done), int(of), str(text)


if __name__ == "__main__":
    end_with(int(sys.argv[2]))
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
