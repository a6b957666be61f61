"""The test that two processes together train the same model as one process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from bench.base.redaction import one_line
from bench.cells.build import optimiser_of, training_loader
from bench.config.resolve import find_method
from bench.launch.processes import run_processes
from bench.store.checkpoints import save_checkpoint
from bench.testing.report import TOLERANCE, Failed, NotApplicable, difference, near
from bench.testing.subject import Subject
from bench.training.execution import Execution
from bench.training.training import train

WORLD, STEPS, BATCH = 2, 4, 5
"""Processes, steps, and rows of a step: not a multiple of two, so that each has rows and tokens of another number."""
CURVE = "the training curve"


def ranks(subject: Subject) -> str:
    """Two processes that share each step's rows end with the weights, buffers and losses of one, without dropout."""
    if not subject.objective().batch_invariant:
        raise NotApplicable("it says batch_invariant = False")
    if torch.backends.mps.is_available():
        raise NotApplicable("training would run on this machine's accelerator, which has no float64")
    if subject.method.spec.startswith("__main__"):
        raise NotApplicable("other processes cannot import a class of this program: put it in a file of its own")
    sets = [*subject.sets, "backbone.dropout=0.0"]  # its masks are of each process; every other draw is compared
    with tempfile.TemporaryDirectory(prefix="bench-ranks-") as folder:
        scratch = Path(folder)
        job = {"method": subject.method.spec, "backbone": subject.backbone, "seed": subject.seed, "sets": sets}
        job["folder"], without_gpu = folder, {"CUDA_VISIBLE_DEVICES": ""}
        ended = run_processes("bench.testing.ranks:train_both", job, WORLD, scratch, 1, without_gpu)
        if ended["status"] != "done":
            raise Failed(
                f"expected {WORLD} processes to end well; got: {one_line(ended.get('error', 'a signal'))}; let every "
                f"parameter and every process take part in each step"
            )
        alone, *together = (load((scratch / name).read_bytes()) for name in ("alone", *map(str, range(WORLD))))
    for rank, shared in enumerate(together):
        for name, tensor in alone.items():
            tolerance = TOLERANCE
            if name == CURVE:  # it is stored with six decimals
                tolerance = 2e-6 * max(1.0, float(tensor.abs().max()))
            remedy = "sum counts over ranks with `reduce` in end_of_step, and rows in step_loss"
            expected = f"{name} of process {rank} to be that of one process alone"
            near(difference(tensor, shared[name]), expected, remedy, tolerance)
    return f"{STEPS} steps of {BATCH} rows"


def train_both(job: Mapping[str, Any]) -> None:
    """Be one of the processes; the first one trains alone before."""
    given = find_method(job["method"]), job["backbone"], job["seed"], tuple(job["sets"])
    folder, rank = Path(job["folder"]), os.environ["RANK"]
    if rank == "0":
        (folder / "alone").write_bytes(trained(Subject(*given), 1))
    (folder / rank).write_bytes(trained(Subject(*given), WORLD))


def trained(subject: Subject, world: int) -> bytes:
    """Train as the program does; return the checkpoint and the curve."""
    objective = subject.objective(fresh=True)
    config = replace(subject.config.trainer, steps=STEPS, batch_size=BATCH, lr=1e-3)
    objective.setup_run(replace(objective.run_context, optimiser=optimiser_of(config)))
    cell = replace(subject.cell, config=replace(subject.config, trainer=config))
    cell.task.setup_run(training_loader(cell, subject.codec))
    record = train(objective, cell.task, config, Execution(world=world))
    curve = torch.tensor([loss for _, loss in record["curve"]], dtype=torch.float64)
    return save({**load(save_checkpoint(objective)), CURVE: curve})
