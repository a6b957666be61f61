"""Measurements of every method: its head in each form, its whole training step, and memory in fresh processes."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from bench.config.resolve import find_method
from bench.errors import BenchError
from bench.models import METHODS
from bench.perf.heads import Run, Size, differences, forms, interleaved, objective_of, peak_above_gradients, peers
from bench.perf.steps import step_runs
from bench.processes.process import run_program

__all__ = ["device", "has_head", "measure_head", "measure_step"]

BASE = "mle fused"
"""The run that times are divided by."""


def has_head(name: str) -> bool:
    """Return whether a method has a head of its own to measure: some are another method on another backbone."""
    method = find_method(name)
    if method.base not in METHODS:
        return True
    return not METHODS[method.base].baseline and not method.own_backbone


def device() -> torch.device:
    """Return the device to measure on."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


def measure_head(names: list[str], size: Size, repeats: int, memory: bool) -> list[dict[str, Any]]:
    """Return one line for each form of each method's head."""
    runs: dict[str, Run] = {}
    for name in dict.fromkeys(["mle", *names]):
        for form, run in runs_of(name, size).items():
            runs[f"{name} {form}"] = run
    unlike = {}
    for label, run in runs.items():
        name = label.partition(" ")[0]
        unlike[label] = differences(run(), runs[f"{name} plain"]())
    times = interleaved(runs, repeats)
    lines = []
    for label in runs:
        peak = None
        if memory:
            peak = peak_in_fresh_process(label, size)
        loss, gradient = unlike[label]
        lines.append(
            {
                "what": label,
                "seconds": times[label],
                "of_mle": times[label] / times[BASE],
                "peak_mb": peak,
                "loss_difference": loss,
                "gradient_difference": gradient,
            }
        )
    return lines


def measure_step(names: list[str], size: Size, layers: int, repeats: int) -> list[dict[str, Any]]:
    """Return one line for the whole training step of each method."""
    runs = step_runs(list(dict.fromkeys(["mle", *names])), size, layers, device())
    times = interleaved(runs, repeats)
    return [{"what": name, "seconds": seconds, "of_mle": seconds / times["mle"]} for name, seconds in times.items()]


def runs_of(name: str, size: Size) -> dict[str, Run]:
    """Return every form of a method's head by name; those of `mle` with torch's own beside them."""
    objective = objective_of(name, size, device())
    runs = forms(objective)
    if name == "mle":
        runs |= peers(objective)
    return runs


def peak_in_fresh_process(label: str, size: Size) -> float | None:
    """Return the most memory one form holds beyond its gradients, in MB, measured alone; None where it cannot be."""
    job = json.dumps({"label": label, "size": vars(size)})
    ended = run_program("bench.perf.measure", job, OMP_NUM_THREADS="1", MALLOC_MMAP_THRESHOLD_="65536")
    if ended.returncode:
        raise BenchError(f"measuring the memory of '{label}' failed: {ended.stderr.strip().splitlines()[-1:]}")
    if ended.stdout.strip() == "nan":
        return None
    return float(ended.stdout)


def peak_of(job: str) -> float:
    """Measure in this process, which should do nothing else."""
    content = json.loads(job)
    name, _, form = content["label"].partition(" ")
    run = runs_of(name, Size(**content["size"]))[form]
    try:
        return peak_above_gradients(run)
    except OSError:  # no such file on this system
        return float("nan")


if __name__ == "__main__":
    print(peak_of(sys.argv[1]))
