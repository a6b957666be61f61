"""Trainings that are stopped after a step and taken up again, for any method."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.cells.build import build, start, training_loader
from bench.cells.cell import Cell
from bench.cells.make import cell_of
from bench.cells.plan import make_plan
from bench.cells.progress import Progress
from bench.cells.run import execute
from bench.config.arguments import RunArguments, set_texts_of
from bench.store import state_files
from bench.store.checkpoints import save_checkpoint
from bench.store.state_files import StateFiles
from bench.training.execution import Execution
from bench.training.training import train
from tests.waiting import free_port

TINY: dict[str, Any] = {
    "backbone.width": 16,
    "backbone.vocabulary": 300,
    "trainer.batch_size": 6,
    "trainer.max_source": 24,
    "trainer.max_target": 8,
}
ON_BILSTM = ("seq2seq", "attexp", "adadec", "adadec_attexp")


@dataclass(frozen=True)
class Case:
    """A training that may be stopped.

    Args:
        method: what is trained.
        steps: of the training.
        accumulate: micro-batches of a step.
        precision: in the words of Lightning.
        dropout: of the backbone.
        validate: epochs from one validation to the next.
        processes: that share the training.
        batch: rows of an evaluation batch.
    """

    method: str
    steps: int = 8
    accumulate: int = 1
    precision: str = "32-true"
    dropout: float = 0.1
    validate: float = 0.0
    processes: int = 1
    batch: int = 32

    def cell(self, results: Path) -> Cell:
        """Return its cell; the methods it is fine-tuned from are trained first."""
        sets = {**TINY, "trainer.steps": self.steps, "trainer.precision": self.precision}
        sets |= {"evaluation.batch_size": self.batch}
        if self.method.partition(".")[0] not in ON_BILSTM:
            sets |= {"backbone.dropout": self.dropout, "backbone.layers": 1, "backbone.heads": 2}
        if self.validate:
            sets |= {"trainer.validate": self.validate, "trainer.select": "loss"}
        texts = set_texts_of(sets)
        arguments = RunArguments(("logicnlg",), (self.method,), sets=texts, limit=30, results=str(results))
        plan = make_plan(arguments)
        plan.cells = plan.cells[:-1]
        with Progress(True) as progress:
            assert execute(plan, arguments, progress).exit_code == 0
        return cell_of(arguments)

    def train(self, cell: Cell, states: StateFiles | None = None) -> tuple[bytes, dict[str, Any]]:
        """Train it, from its state if there is one; return weights and what is said of the training."""
        if self.processes > 1 and "RANK" not in os.environ:
            return self.train_shared(cell, states)
        torch.manual_seed(torch.seed() % 2**31)  # what was drawn before must not matter
        objective, codec = build(cell)
        start(objective, cell, codec)
        cell.task.setup_run(training_loader(cell, codec))
        result = train(
            objective,
            cell.task,
            cell.config.trainer,
            Execution(world=self.processes, accumulate=self.accumulate),
            states=states,
        )
        return save_checkpoint(objective), result

    def train_shared(self, cell: Cell, states: StateFiles | None) -> tuple[bytes, dict[str, Any]]:
        """Train it on several processes; all of them end with the same weights."""
        results = cell.folder.path.parents[2]
        with tempfile.TemporaryDirectory() as folder:
            job = {"case": asdict(self), "results": str(results), "every": states.steps if states else 0, "out": folder}
            job["states"] = None if states is None else str(states.folder)
            place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "NODE_RANK": "0"}
            ranks = []
            for rank in range(self.processes):
                environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.processes)}
                command = [sys.executable, "-W", "ignore", "-m", "tests.e2e.resume", json.dumps(job)]
                ranks.append(subprocess.Popen(command, env={**os.environ, **place, **environment}))
            assert [rank.wait() for rank in ranks] == [0] * self.processes
            parts = [Path(folder, f"weights.{rank}").read_bytes() for rank in range(self.processes)]
            assert len(set(parts)) == 1
            return parts[0], json.loads(Path(folder, "result.0").read_text())


def be_rank(job: dict[str, Any]) -> None:
    """Train as one of several processes; leave weights and result."""
    rank, out = os.environ["RANK"], Path(job["out"])
    torch.set_num_threads(1)
    case = Case(**job["case"])
    states = None if job["states"] is None else StateFiles(Path(job["states"]), job["every"])
    if job["every"]:
        state_files.KEPT = 10**9
    weights, result = case.train(case.cell(Path(job["results"])), states)
    (out / f"weights.{rank}").write_bytes(weights)
    (out / f"result.{rank}").write_text(json.dumps(result))


def differing(case: Case, folder: Path, wanted: Iterable[int] | None = None) -> list[int]:
    """Return the steps after which a training that is taken up again does not end as one that was never stopped.

    Args:
        case: the training.
        folder: for its files.
        wanted: steps to stop after; None for every one.
    """
    cell = case.cell(folder / "results")
    all_states = StateFiles(folder / "all", steps=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.store.state_files.KEPT", 10**9)
        undisturbed = case.train(cell, all_states)
    wrong = []
    for step in wanted or range(1, case.steps + 1):
        one = StateFiles(folder / f"from-{step}")
        one.folder.mkdir(parents=True)
        shutil.copy(all_states.path(step), one.path(step))
        if case.train(cell, one) != undisturbed:
            wrong.append(step)
        one.remove()
    assert undisturbed == case.train(cell), "keeping states changes nothing"
    all_states.remove()
    return wrong


if __name__ == "__main__":
    be_rank(json.loads(sys.argv[1]))
