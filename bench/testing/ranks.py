"""Ranks: two processes train together and end with what one process ends with."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load

from bench.base.own_code import load as load_target
from bench.cells.build import exemplars_of, optimiser_of
from bench.config.resolve import Method
from bench.errors import BenchError
from bench.processes.endings import GroupError
from bench.processes.group import run_group
from bench.processes.rank import Rank
from bench.processes.watch import Limits
from bench.store.checkpoints import save_checkpoint
from bench.testing.method_of import method_of
from bench.testing.report import Failed, NotApplicable
from bench.testing.subject import Subject
from bench.training.training import train

NO_DROPOUT = "backbone.dropout=0.0"
"""Its masks are of each process; every other draw should be the same in all, and is compared."""
WORLD = 2
BATCH = 5
"""Rows of a step: not a multiple of two, so that processes have rows and tokens of different number."""

STEPS = 4
SECONDS = 600
WEIGHTS = 1e-6
CURVE = 2e-6
"""Stored curves have six decimals; of losses above 1 it is relative."""


def ranks(subject: Subject) -> str:
    """Two processes that share each step's rows end with the weights, buffers and losses of one, without dropout."""
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
            "sets": [*subject.sets, NO_DROPOUT],
        }
        try:
            run_group(
                "bench.testing.ranks:train_both",
                job,
                WORLD,
                scratch,
                threads=1,
                limits=Limits(cell=SECONDS),
                environment={"CUDA_VISIBLE_DEVICES": ""},
            )
        except GroupError as error:
            raise failed(error) from error
        except BenchError as error:
            raise Failed(f"{WORLD} processes to end well", str(error), "let all take part in `reduce`") from error
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


def failed(error: GroupError) -> Failed:
    """Return what to say of a process that failed."""
    lines = [line for line in error.log if line.strip()] or ["nothing"]
    return Failed(
        f"{WORLD} processes to end well",
        f"code {error.code} from process {error.rank}, which said last: {lines[-1]}",
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
        apart = (tensor.double() - shared_weights[name].double()).abs()
        worst = float(apart.masked_fill(tensor == shared_weights[name], 0.0).max())  # infinite ones can be equal
        if not worst <= WEIGHTS:
            raise Failed(
                f"'{name}' of process {rank} to end as in one process alone",
                f"{worst:.1e} beside it",
                "sum counts over ranks with `reduce` in end_of_step",
            )
    steps = zip(curve, shared_curve, strict=True)
    worst = max(abs(first - second) / max(1.0, abs(first)) for (_, first), (_, second) in steps)
    if not worst <= CURVE:
        raise Failed(
            "the losses of one process alone",
            f"{worst:.1e} beside them",
            "let step_loss be a sum over the rows it is given",
        )


def train_both(job: dict[str, Any], rank: Rank) -> None:
    """Be one of the processes; the first trains alone before."""
    given = method_of(job["method"]), job["backbone"], job["seed"], tuple(job["sets"])
    if rank.number == 0:
        rank.heartbeat("alone")
        train_and_leave(Subject(*given), 1, rank.scratch, "alone")
    rank.heartbeat("together")
    train_and_leave(Subject(*given), WORLD, rank.scratch, str(rank.number))
