"""Peak memory as it is planned and as it is: GPT-2 small on a CPU, each training in a process of its own.

    python -m tests.benchmarks.cost            every method, length and precision; about 15 minutes
    python -m tests.benchmarks.cost --few      the corners of the table

Goal: planned within 15 % of measured. Measured is the peak of resident memory over three optimiser steps of a Lightning
trainer, less what the process holds when the libraries are imported.
"""

from __future__ import annotations

import gc
import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
METHODS, LENGTHS, PRECISIONS = ("mle", "histalign", "f2softmax"), (128, 256, 512), ("32-true", "bf16-mixed")
FEW = (("mle", 128, "32-true"), ("histalign", 256, "bf16-mixed"), ("f2softmax", 128, "32-true"))
ROWS = 2
STEPS = 3
GOAL = 0.15


@dataclass(frozen=True)
class Measured:
    """One training, planned and measured.

    Args:
        method: name.
        length: tokens of a row.
        precision: of the trainer.
        planned: bytes.
        measured: bytes.
        seconds: that planning took.
    """

    method: str
    length: int
    precision: str
    planned: float
    measured: float
    seconds: float

    @property
    def off(self) -> float:
        """How far the plan is from what was measured, as a share of it."""
        return self.planned / self.measured - 1


def measure(method: str, length: int, precision: str, rows: int = ROWS) -> Measured:
    """Plan and measure one training, in two processes."""
    asked = json.dumps([method, length, precision, rows])
    planned = _child("plan", asked)
    trained = _child("train", asked)
    return Measured(method, length, precision, planned["bytes"], trained["bytes"], planned["seconds"])


def _child(what: str, asked: str) -> dict[str, float]:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.cost", what, asked],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    answer: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return answer


def plan(method: str, length: int, precision: str, rows: int) -> dict[str, float]:
    """Return what is planned for GPT-2 small from random weights."""
    import time

    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import GPT2Config, GPT2LMHeadModel

    from bench.config.resolve import find_method
    from bench.cost.blank import BlankWords, objective_over
    from bench.cost.memory import Lengths, peak_bytes
    from bench.cost.parameters import count
    from bench.cost.passes import Where, backbone_passes, traced
    from bench.models.backbones.causal import Causal

    started = time.monotonic()
    fake = FakeTensorMode()
    with fake:
        backbone = Causal(GPT2LMHeadModel(GPT2Config()), BlankWords(50257))
    found = find_method(method)
    objective = objective_over(found, found.values("method"), backbone, fake)
    where = Where(fake, precision, "cpu")
    memory = traced(objective, where, backbone_passes(backbone, where, Lengths(1, length - 1), rows))
    peak = max(peak_bytes(memory, count(objective), rows, 1, "cpu").values())
    return {"bytes": peak, "seconds": time.monotonic() - started}


def train(method: str, length: int, precision: str, rows: int) -> dict[str, float]:
    """Train GPT-2 small for a few steps and return how far the peak of resident memory rose."""
    import torch
    from lightning.pytorch import Trainer
    from torch.utils.data import DataLoader
    from transformers import GPT2Config, GPT2LMHeadModel

    from bench.config.config import TrainerConfig
    from bench.config.resolve import find_method
    from bench.cost.memory import Lengths
    from bench.cost.passes import batch_of
    from bench.cost.zipf import zipf_counts
    from bench.models.backbones.causal import Causal
    from bench.models.core.run_context import Optimiser, RunContext
    from bench.training.training import quiet, settings_of
    from tests.resident import resident

    torch.manual_seed(0)
    gc.collect()
    before = resident("VmRSS")
    objective = find_method(method).objective(Causal(GPT2LMHeadModel(GPT2Config()), None))
    objective.setup_run(RunContext(optimiser=Optimiser(steps=STEPS)))
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(50257))
    batch: dict[str, Any] = batch_of(Lengths(1, length - 1), objective.backbone, rows)
    batch["step_tokens"] = rows * (length - 1)
    with quiet():
        trainer = Trainer(max_steps=STEPS, **settings_of(TrainerConfig(precision=precision), 1))  # type: ignore[arg-type]
        trainer.fit(objective, DataLoader([batch] * STEPS, batch_size=None))
    return {"bytes": 2**20 * (resident("VmHWM") - before)}


def main(words: list[str]) -> int:
    """Measure, print the table, return 1 where the goal is missed."""
    if words[:1] in (["plan"], ["train"]):
        action = {"plan": plan, "train": train}[words[0]]
        print(json.dumps(action(*json.loads(words[1]))))
        return 0
    cases = FEW if words == ["--few"] else tuple(itertools.product(METHODS, LENGTHS, PRECISIONS))
    print(f"GPT-2 small, {ROWS} rows, CPU; goal: within {GOAL:.0%}")
    heads = ("length", "precision", "planned GB", "measured GB", "off", "plan s")
    print("method     {:>6} {:<10} {:>10} {:>11} {:>7} {:>7}".format(*heads))
    missed = 0
    for case in cases:
        found = measure(*case)
        missed += abs(found.off) > GOAL
        print(
            f"{found.method:<10} {found.length:>6} {found.precision:<10} {found.planned / 1e9:>10.2f} "
            f"{found.measured / 1e9:>11.2f} {found.off:>+7.1%} {found.seconds:>7.1f}",
            flush=True,
        )
    print(f"{len(cases) - missed} of {len(cases)} within the goal")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
