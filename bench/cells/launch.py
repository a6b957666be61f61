"""Launch: several processes for one cell. The parent waits, and takes all of them down when one dies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.cells.cell import Cell
from bench.cells.work import as_sets
from bench.config.arguments import RunArguments, threads_of
from bench.errors import BenchError

GRACE_S = 3
NOTES = "notes"
"""File of a scratch folder: a line for each thing that workers want a user to know."""


def launch(cell: Cell, rows_keys: Sequence[str], arguments: RunArguments, scratch: Path) -> None:
    """Start one worker a device and wait for all of them.

    Raises:
        BenchError: with the end of the log of the first worker that failed.
    """
    job = {"arguments": alone(cell, arguments).as_dict(), "key": cell.key, "method": cell.method.name,
           "rows": list(rows_keys), "parent": os.getpid()}  # fmt: skip
    (scratch / "job.json").write_text(json.dumps(job))
    port, world = free_port(), arguments.devices
    threads = str(threads_of(cell.config.preset, arguments) or max(1, (os.cpu_count() or 1) // world))
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(world):
            environment = {
                **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world), "NODE_RANK": "0",
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": threads,
            }  # fmt: skip
            workers.append(start(scratch, rank, environment))
        wait(workers, scratch)
    finally:
        stop(workers)


def alone(cell: Cell, arguments: RunArguments) -> RunArguments:
    """Return arguments that plan one cell and those it is fine-tuned from, whatever was picked for it from a grid."""
    config = cell.config
    return replace(
        arguments, tasks=(config.task,), methods=(cell.method.asked,), seeds=(config.seed,), backbone=config.backbone,
        preset=config.preset, sets=tuple(f"{name}={value}" for name, value in as_sets(cell).items()),
        decode=",".join(decoding.name for decoding in config.decodings), limit=None,
    )  # fmt: skip


def start(scratch: Path, rank: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start one worker; what it prints goes to its log."""
    with open(scratch / f"log.{rank}", "wb") as log:
        command = [sys.executable, "-m", "bench.cells.worker", str(scratch / "job.json")]
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
    """End what is still running: politely, then not."""
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
