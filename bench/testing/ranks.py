"""Ranks: two processes train together and end with what one process ends with. Each is started as this module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load

from bench.base.entries import load as load_target
from bench.base.outward import guard_process
from bench.cells.build import exemplars_of, optimiser_of
from bench.cells.workers import end_with, free_port, stop
from bench.config.resolve import Method
from bench.errors import BenchError
from bench.store.checkpoints import save_checkpoint
from bench.testing.method_of import method_of
from bench.testing.report import Failed, NotApplicable
from bench.testing.subject import Subject
from bench.training.training import train

WORLD = 2
BATCH = 5
"""Rows of a step: not a multiple of two, so that processes have rows and tokens of different number."""

STEPS = 4
SECONDS = 600
WEIGHTS = 1e-6
CURVE = 2e-6
"""Stored curves have six decimals."""


def ranks(subject: Subject) -> str:
    """Two processes that share each step's rows end with the weights, buffers and losses of one."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("it says batch_invariant = False")
    if torch.backends.mps.is_available():
        raise NotApplicable("training would run on this machine's accelerator, which has no float64")
    importable(subject.method)
    with tempfile.TemporaryDirectory(prefix="bench-ranks-") as folder:
        scratch = Path(folder)
        job = {
            "method": subject.method.asked,
            "backbone": subject.backbone,
            "seed": subject.seed,
            "sets": subject.sets,
            "parent": os.getpid(),
        }
        (scratch / "job.json").write_text(json.dumps(job))
        port, workers = free_port(), list[subprocess.Popen[bytes]]()
        try:
            workers += [start(rank, port, scratch) for rank in range(WORLD)]
            wait(workers, scratch)
        finally:
            stop(workers)
        for rank in range(WORLD):
            same(left(scratch, "alone"), left(scratch, str(rank)), rank)
    return f"{STEPS} steps of {BATCH} rows"


def importable(method: Method) -> None:
    """Refuse a class that another process cannot find."""
    target = method.asked
    try:
        if ":" not in target or (not target.startswith("__main__") and load_target(target) is method.kind):
            return
    except BenchError:
        pass
    raise NotApplicable(f"other processes cannot import '{target}': put the class in a module, at its top level")


Training = tuple[dict[str, torch.Tensor], list[list[float]]]
"""Tensors of a checkpoint, and the training curve."""


def train_and_leave(subject: Subject, world: int, scratch: Path, name: str) -> None:
    """Train as the program does; leave the checkpoint and the curve."""
    objective = subject.objective(fresh=True)
    config = replace(subject.config.trainer, steps=STEPS, batch_size=BATCH, lr=1e-3)
    objective.setup_run(replace(objective.run_context, optimiser=optimiser_of(config)))
    trained = train(
        objective,
        subject.cell.task,
        subject.codec,
        config,
        subject.seed,
        world=world,
        exemplars=partial(exemplars_of, subject.cell),
    )
    (scratch / f"weights.{name}").write_bytes(save_checkpoint(objective))
    (scratch / f"curve.{name}").write_text(json.dumps(trained["curve"]))


def start(rank: int, port: int, scratch: Path) -> subprocess.Popen[bytes]:
    """Start one process."""
    environment = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(WORLD),
        "NODE_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    return run(environment, scratch, scratch / f"log.{rank}")


def run(environment: dict[str, str], scratch: Path, log: Path) -> subprocess.Popen[bytes]:
    """Run this module in an interpreter of its own, its output in a file."""
    with open(log, "wb") as out:
        command = [sys.executable, "-m", "bench.testing.ranks", str(scratch)]
        return subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=subprocess.STDOUT)


def wait(workers: Sequence[subprocess.Popen[bytes]], scratch: Path) -> None:
    """Wait until all have ended well."""
    deadline = time.monotonic() + SECONDS
    while any(worker.poll() is None for worker in workers) and not any(worker.poll() for worker in workers):
        if time.monotonic() > deadline:
            raise Failed(f"{WORLD} processes to end", f"none within {SECONDS} s", "let all take part in `reduce`")
        time.sleep(0.02)
    codes = [worker.poll() for worker in workers]
    if failed := [(code > 0, rank, code) for rank, code in enumerate(codes) if code]:  # killed ones first
        _, rank, code = min(failed)
        lines = (scratch / f"log.{rank}").read_text(errors="replace").strip().splitlines() or ["nothing"]
        raise Failed(
            f"{WORLD} processes to end well",
            f"code {code} from process {rank}, which said last: {lines[-1]}",
            "let every parameter and every process take part in each step",
        )


def left(scratch: Path, name: str) -> Training:
    """Return what a training has left."""
    return load((scratch / f"weights.{name}").read_bytes()), json.loads((scratch / f"curve.{name}").read_text())


def same(alone: Training, shared: Training, rank: int) -> None:
    """Compare the training of one process alone with that of one of two."""
    weights, curve = alone
    shared_weights, shared_curve = shared
    for name, tensor in weights.items():
        worst = float((tensor.double() - shared_weights[name].double()).abs().max())
        if not worst <= WEIGHTS:
            raise Failed(
                f"'{name}' of process {rank} to end as in one process alone",
                f"{worst:.1e} beside it",
                "sum counts over ranks with `reduce` in end_of_step",
            )
    worst = max(abs(first - second) for (_, first), (_, second) in zip(curve, shared_curve, strict=True))
    if not worst <= CURVE:
        raise Failed(
            "the losses of one process alone",
            f"{worst:.1e} beside them",
            "let step_loss be a sum over the rows it is given",
        )


def main(folder: str) -> None:
    """Be one of the processes; the first trains alone before."""
    scratch, rank = Path(folder), int(os.environ["RANK"])
    job: dict[str, Any] = json.loads((scratch / "job.json").read_text())
    end_with(job["parent"])
    torch.set_num_threads(1)
    given = method_of(job["method"]), job["backbone"], job["seed"], tuple(job["sets"])
    if rank == 0:
        train_and_leave(Subject(*given), 1, scratch, "alone")
    train_and_leave(Subject(*given), WORLD, scratch, str(rank))


if __name__ == "__main__":
    guard_process()
    main(sys.argv[1])
