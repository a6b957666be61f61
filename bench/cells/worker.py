"""Worker: one of several processes that share a cell; started by `bench.cells.launch`, not by people."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.cells.launch import NOTES
from bench.cells.plan import make_plan
from bench.cells.work import work
from bench.config.arguments import RunArguments
from bench.errors import BenchError


def main(job_file: str) -> None:
    """Do this rank's share of a job."""
    job = json.loads(Path(job_file).read_text())
    end_with(job["parent"])
    arguments = RunArguments.from_dict(job["arguments"])
    if threads := int(os.environ.get("OMP_NUM_THREADS", "0")):
        import torch

        torch.set_num_threads(threads)
    plan = make_plan(arguments)
    (cell,) = [cell for cell in plan.cells if (cell.key, cell.method.name) == (job["key"], job["method"])]
    scratch = Path(job_file).parent
    with open(scratch / NOTES, "a") as notes, exits_fail():
        work(
            cell,
            job["rows"],
            rank=int(os.environ["RANK"]),
            world=int(os.environ["WORLD_SIZE"]),
            accumulate=arguments.accumulate,
            workers=arguments.workers,
            scratch=scratch,
            on_note=lambda note: print(note, file=notes),
        )


@contextmanager
def exits_fail() -> Iterator[None]:
    """Fail where an objective raises SystemExit: even its code 0 would say that this rank's share is done.

    Raises:
        RuntimeError: in its place.
    """
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"SystemExit: {error}") from error


def end_with(parent: int) -> None:
    """End when the parent is gone: nobody would collect what this process makes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except BenchError as error:
        sys.exit(str(error))
