"""Workers: several processes that share one cell. The parent waits, and ends all of them when one dies.

Started as `python -m bench.cells.workers JOB` by `share`, not by people.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.base.files import signature
from bench.base.outward import guard_process, safe
from bench.cells.cell import Cell
from bench.cells.job import cell_of, content_of
from bench.cells.progress import Reports
from bench.cells.work import store_rows, work
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError

GRACE_S = 3
"""How long a worker may take to end after SIGTERM, before it is killed."""

JOB, NOTES = "job.json", "notes"
"""Files of a scratch folder: what workers do, and a line for each thing that they want a user to know."""


def share(cell: Cell, rows_keys: Sequence[str], arguments: RunArguments, progress: Reports) -> None:
    """Give a cell to several processes, and store the rows that they make.

    Raises:
        BenchError: when a process fails, or the rows are not exactly the wanted ones.
    """
    started = time.monotonic()
    scratch = arguments.results_folder / ".work" / f"{cell.key}.{signature()}"
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        progress.stage(f"on {arguments.devices} processes")
        launch(cell, rows_keys, arguments, scratch)
        for note in notes_of(scratch):
            progress.warn(note)
        trained = cell.folder.trained()
        if trained is not None and trained["status"] == "ok":
            collect(cell, rows_keys, scratch, arguments.devices, started)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # another run may be using the folder, or removing it too
            scratch.parent.rmdir()


def notes_of(scratch: Path) -> list[str]:
    """Return what workers wanted a user to know."""
    notes = scratch / NOTES
    if not notes.exists():
        return []
    return notes.read_text().splitlines()


def collect(cell: Cell, rows_keys: Collection[str], scratch: Path, world: int, started: float) -> None:
    """Store the rows that several processes have left in `scratch`.

    Raises:
        BenchError: when a process left none.
    """
    for key in rows_keys:
        paths = [scratch / f"{key}.{rank}" for rank in range(world)]
        parts = []
        for rank, path in enumerate(paths):
            if not path.exists():
                raise BenchError(f"{cell.label}: process {rank} left no rows for {cell.evaluations[key].kind}")
            parts.append([json.loads(line) for line in path.read_bytes().splitlines()])
        cut, cut_file = None, scratch / f"{key}.cut"
        if cut_file.exists():
            cut = tuple(json.loads(cut_file.read_bytes()))
        store_rows(cell, key, parts, started, cut)
        for path in paths:
            with suppress(OSError):
                path.unlink()


# The parent ---------------------------------------------------------------------------------------------------------


def launch(cell: Cell, rows_keys: Sequence[str], arguments: RunArguments, scratch: Path) -> None:
    """Start one worker a device and wait for all of them.

    Raises:
        BenchError: with the end of the log of the first worker that failed.
    """
    job = {
        "cell": content_of(cell),
        "rows": list(rows_keys),
        "accumulate": arguments.accumulate,
        "workers": arguments.workers,
        "seconds": arguments.state_every,
        "started_by": os.getpid(),
    }
    (scratch / JOB).write_text(json.dumps(job))
    port, world = free_port(), arguments.devices
    threads = threads_of(cell.config.preset, arguments) or max(1, (os.cpu_count() or 1) // world)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(world):
            environment = {
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(world),
                "NODE_RANK": "0",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": str(threads),
            }
            workers.append(start(scratch, rank, environment))
        wait(workers, scratch)
    finally:
        stop(workers)


def start(scratch: Path, rank: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start one worker; what it prints goes to its log."""
    with open(scratch / f"log.{rank}", "wb") as log:
        command = [sys.executable, "-m", "bench.cells.workers", str(scratch / JOB)]
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def wait(workers: Sequence[subprocess.Popen[bytes]], scratch: Path) -> None:
    """Wait until all have ended well, or one has not."""
    while True:
        codes = [worker.poll() for worker in workers]
        failed = [(code > 0, rank, code) for rank, code in enumerate(codes) if code]
        if failed:
            _, rank, code = min(failed)  # one that was killed explains the others, which have lost it
            tail = (scratch / f"log.{rank}").read_text(errors="replace").strip().splitlines()[-12:]
            raise BenchError(f"process {rank} of {len(workers)} ended with code {code}:\n" + "\n".join(tail))
        if all(code == 0 for code in codes):
            return
        time.sleep(0.05)


def stop(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """End what is still running: by SIGTERM, then by SIGKILL."""
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    deadline = time.monotonic() + GRACE_S
    for worker in workers:
        try:
            worker.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# A worker -----------------------------------------------------------------------------------------------------------


def main(job_file: str) -> None:
    """Do this rank's share of a job."""
    job = json.loads(Path(job_file).read_text())
    end_with(job["started_by"])
    if threads := int(os.environ.get("OMP_NUM_THREADS", "0")):
        import torch

        torch.set_num_threads(threads)
    cell = cell_of(job["cell"])
    scratch = Path(job_file).parent
    with open(scratch / NOTES, "a") as notes, exits_fail():
        work(
            cell,
            job["rows"],
            rank=int(os.environ["RANK"]),
            world=int(os.environ["WORLD_SIZE"]),
            accumulate=job["accumulate"],
            workers=job["workers"],
            seconds=job["seconds"],
            scratch=scratch,
            on_note=lambda note: print(safe(note), file=notes),
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
    guard_process()
    try:
        main(sys.argv[1])
    except BenchError as error:
        sys.exit(str(error))
