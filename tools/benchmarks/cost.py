"""Peak memory as it is planned and as it is: GPT-2 small on a CPU, each training in a process of its own.

    python -m tools.benchmarks.cost            every method, length and precision; about 15 minutes
    python -m tools.benchmarks.cost --few      the corners of the table
    python -m tools.benchmarks.cost --ways     activations computed again, adapters, shares on two ranks

Goal: planned within 15 % of measured. Measured is the peak of resident memory over three optimiser steps of a Lightning
trainer, less what the process holds when the libraries are imported.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
METHODS, LENGTHS, PRECISIONS = ("mle", "histalign", "f2softmax"), (128, 256, 512), ("32-true", "bf16-mixed")
FEW = (("mle", 128, "32-true"), ("histalign", 256, "bf16-mixed"), ("f2softmax", 128, "32-true"))
WAYS = tuple(("mle", 256, "32-true", way) for way in ("plain", "recomputed", "lora", "fsdp"))
RANKS = 2
"""Of the way `fsdp`."""
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
        way: `plain`, `recomputed` (activations), `lora` (rank 8), or `fsdp`.
        planned: bytes.
        measured: bytes.
        seconds: that planning took.
    """

    method: str
    length: int
    precision: str
    way: str
    planned: float
    measured: float
    seconds: float

    @property
    def off(self) -> float:
        """How far the plan is from what was measured, as a share of it."""
        return self.planned / self.measured - 1


def measure(method: str, length: int, precision: str, way: str = "plain") -> Measured:
    """Plan and measure one training, in processes of their own."""
    asked = json.dumps([method, length, precision, ROWS, way])
    (planned,) = _children("plan", asked, 1)
    trained = _children("train", asked, RANKS if way == "fsdp" else 1)
    most = max(rank["bytes"] for rank in trained)
    return Measured(method, length, precision, way, planned["bytes"], most, planned["seconds"])


def _children(what: str, asked: str, world: int) -> list[dict[str, float]]:
    """Return what each of so many processes has answered; several are the ranks of one group."""
    command = [sys.executable, "-m", "tools.benchmarks.cost", what, asked]
    started = []
    for rank in range(world):
        group: dict[str, str] = {}
        if world > 1:
            group = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
            group |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533", "LOCAL_WORLD_SIZE": str(world)}
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | group))
    answers = []
    for child in started:
        out, _ = child.communicate()
        if child.returncode:
            raise subprocess.CalledProcessError(child.returncode, command)
        answers.append(json.loads(out.splitlines()[-1]))
    return answers


def plan(method: str, length: int, precision: str, rows: int, way: str) -> dict[str, float]:
    """Return what is planned for GPT-2 small from random weights."""
    import time

    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import GPT2Config, GPT2LMHeadModel

    from bench.config.resolve import find_method
    from bench.cost.blank import BlankWords, blank_adapters, objective_over
    from bench.cost.flops import products_of, shares_of
    from bench.cost.memory import Lengths, Shares, peak_bytes
    from bench.cost.parameters import count
    from bench.cost.passes import Where, backbone_passes, traced
    from bench.models.backbones.causal import Causal
    from bench.models.backbones.lora import Lora
    from bench.models.backbones.recomputing import recomputed

    started = time.monotonic()
    fake = FakeTensorMode()
    with fake:
        model = GPT2LMHeadModel(GPT2Config())
        if way == "lora":
            blank_adapters(model, Lora(8))
        backbone = Causal(model, BlankWords(50257))
    found = find_method(method)
    objective = objective_over(found, found.values("method"), backbone, fake)
    where = Where(fake, precision, "cpu")
    with recomputed(backbone, way == "recomputed"):
        passes = backbone_passes(backbone, where, Lengths(1, length - 1), rows)
    memory, shares = traced(objective, where, passes), Shares()
    if way == "fsdp":
        shares = shares_of(products_of(backbone), RANKS)
    peak = max(peak_bytes(memory, count(objective), rows, 1, "cpu", shares).values())
    return {"bytes": peak, "seconds": time.monotonic() - started}


def train(method: str, length: int, precision: str, rows: int, way: str) -> dict[str, float]:
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
    from bench.models.backbones.lora import Lora, adapt
    from bench.models.backbones.recomputing import recomputed
    from bench.models.core.run_context import Optimiser, RunContext
    from bench.training.state_keeper import StateIO
    from bench.training.training import placed, quiet, settings_of, strategy_of
    from tests.resident import resident

    torch.manual_seed(0)
    gc.collect()
    before = resident("VmRSS")
    model = GPT2LMHeadModel(GPT2Config())
    if way == "lora":
        adapt(model, Lora(8))
    objective = find_method(method).objective(Causal(model, None))
    objective.setup_run(RunContext(optimiser=Optimiser(steps=STEPS)))
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(50257))
    batch: dict[str, Any] = batch_of(Lengths(1, length - 1), objective.backbone, rows)
    batch["step_tokens"] = rows * (length - 1)
    settings = settings_of(TrainerConfig(precision=precision), 1)
    if way == "fsdp":
        settings |= placed(RANKS, strategy_of("fsdp", RANKS, 0.0), StateIO(1), 0.0)
    with quiet(), recomputed(objective.backbone, way == "recomputed"):
        trainer = Trainer(max_steps=STEPS, **settings)
        trainer.fit(objective, DataLoader([batch] * STEPS, batch_size=None))
    return {"bytes": 2**20 * (resident("VmHWM") - before)}


def main(words: list[str]) -> int:
    """Measure, print the table, return 1 where the goal is missed."""
    if words[:1] in (["plan"], ["train"]):
        action = {"plan": plan, "train": train}[words[0]]
        print(json.dumps(action(*json.loads(words[1]))))
        return 0
    cases: Sequence[tuple[Any, ...]] = tuple(itertools.product(METHODS, LENGTHS, PRECISIONS))
    if words == ["--few"]:
        cases = FEW
    elif words == ["--ways"]:
        cases = WAYS
    print(f"GPT-2 small, {ROWS} rows, CPU; goal: within {GOAL:.0%}")
    heads = ("length", "precision", "way", "planned GB", "measured GB", "off", "plan s")
    print("method     {:>6} {:<10} {:<10} {:>10} {:>11} {:>7} {:>7}".format(*heads))
    missed = 0
    for case in cases:
        found = measure(*case)
        missed += abs(found.off) > GOAL
        print(
            f"{found.method:<10} {found.length:>6} {found.precision:<10} {found.way:<10} {found.planned / 1e9:>10.2f} "
            f"{found.measured / 1e9:>11.2f} {found.off:>+7.1%} {found.seconds:>7.1f}",
            flush=True,
        )
    print(f"{len(cases) - missed} of {len(cases)} within the goal")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
