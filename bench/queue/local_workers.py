"""Local workers: the worker processes of `bench run --jobs` on this machine, each with its share of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.errors import BenchError, UsageError

__all__ = ["LocalWorkers", "shares_of"]

GRACE_S = 60
"""How long workers may take to end after a signal: their children save what they have."""
RESTARTS = 3
"""Times that a worker which was killed is started again, for each of them."""


class LocalWorkers:
    """Worker processes of one plan; all have ended when the block is left.

    Args:
        plan_file: what they work on.
        shares: the environment of each.
        logs: folder for what they print.
    """

    def __init__(self, plan_file: Path, shares: Sequence[Mapping[str, str]], logs: Path) -> None:
        self.plan_file, self.shares, self.logs = plan_file, shares, logs
        self.processes: list[subprocess.Popen[bytes]] = []
        self.restarts = RESTARTS * len(shares)

    def __enter__(self) -> LocalWorkers:
        self.processes = [self.start(slot) for slot in range(len(self.shares))]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.end(signal.SIGINT)
        else:
            self.end(signal.SIGTERM)

    def start(self, slot: int) -> subprocess.Popen[bytes]:
        """Start one worker, in a session of its own: Ctrl-C is for the parent, which passes it on."""
        command = [sys.executable, "-m", "bench.queue.local_worker", str(self.plan_file), str(os.getpid())]
        with open(self.log(slot), "ab") as log:
            return subprocess.Popen(
                command,
                env={**os.environ, **self.shares[slot]},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, slot: int) -> Path:
        """Return where a worker prints to."""
        return self.logs / f"worker-{slot}.log"

    def check(self) -> bool:
        """Return whether any worker is left, starting one again that was killed.

        Raises:
            BenchError: a worker cannot go on, with what it said last.
        """
        for slot, process in enumerate(self.processes):
            code = process.poll()
            if code is None or code == 0:
                continue
            if code < 0 and self.restarts:
                self.restarts -= 1
                self.processes[slot] = self.start(slot)
        return any(process.poll() is None for process in self.processes)

    def last_words(self) -> str:
        """Return what the workers said last."""
        tails = [self.log(slot).read_text(errors="replace").strip()[-400:] for slot in range(len(self.shares))]
        return "\n".join(tail for tail in tails if tail)

    def end(self, number: signal.Signals) -> None:
        """Have every worker end, by a signal, then by SIGKILL."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)
        deadline = time.monotonic() + GRACE_S
        try:
            for process in self.processes:
                process.wait(max(0.1, deadline - time.monotonic()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            for process in self.processes:
                process.kill()
                process.wait()


def shares_of(jobs: int, devices: int, threads: int) -> list[dict[str, str]]:
    """Return the environment of each local worker: its threads, and its GPUs where there are any.

    Args:
        jobs: workers.
        devices: processes that share a cell; each of them takes a GPU.
        threads: CPU threads of a process, 0 for one.

    Raises:
        UsageError: there are fewer GPUs than that.
    """
    shares = [{"OMP_NUM_THREADS": str(threads or 1)} for _ in range(jobs)]
    gpus = visible_gpus()
    if not gpus:
        return shares
    if jobs * devices > len(gpus):
        raise UsageError(
            f"--jobs {jobs} x --devices {devices} needs {jobs * devices} GPUs, and {len(gpus)} are visible; "
            f"ask for fewer"
        )
    for slot, share in enumerate(shares):
        share["CUDA_VISIBLE_DEVICES"] = ",".join(gpus[slot * devices : (slot + 1) * devices])
    return shares


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that this process sees, as CUDA_VISIBLE_DEVICES has them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] or [str(number) for number in range(count)]


def unfinished(workers: LocalWorkers) -> BenchError:
    """Return the error of a queue that no worker is left for."""
    return BenchError(f"all workers have ended before their cells were done:\n{workers.last_words()}")
