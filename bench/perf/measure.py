"""Measurements of every method: its head in each form, its whole training step, and memory in fresh processes."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from bench.config.resolve import find_method
from bench.errors import BenchError, UsageError
from bench.models import METHODS
from bench.perf.heads import Run, Size, differences, forms, interleaved, objective_of, peak_above_gradients, peers
from bench.perf.operations import on_device
from bench.perf.steps import PEERS, Place, peer_step, step_flops, step_of
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


def device(asked: str | None = None) -> torch.device:
    """Return the device to measure on: the one asked for, else a GPU where there is one.

    Raises:
        UsageError: there is no GPU.
    """
    if asked == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: torch sees no GPU here; leave it out, or see `bench doctor`")
    if asked == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda")


def measure_head(names: list[str], size: Size, repeats: int, memory: bool, place: torch.device) -> list[dict[str, Any]]:
    """Return one line for each form of each method's head."""
    runs: dict[str, Run] = {}
    for name in dict.fromkeys(["mle", *names]):
        for form, run in runs_of(name, size, place).items():
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
            peak = peak_in_fresh_process(label, size, place)
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


def measure_step(names: list[str], size: Size, layers: int, repeats: int, place: Place) -> list[dict[str, Any]]:
    """Return one line for the whole training step of each method, and of plain torch where there is a GPU.

    Each takes turns with `mle`, which it is divided by; no more than two models are in memory.
    """
    base, flops = step_of("mle", size, layers, place), step_flops(size, layers)
    lines: list[dict[str, Any]] = []
    others = [name for name in dict.fromkeys(names) if name != "mle"]
    if place.device.type == "cuda":
        others += PEERS
    for name in others:
        make = peer_step if name in PEERS else step_of
        run = make(name, size, layers, place)
        times = interleaved({"mle": base, name: run}, repeats)
        if not lines:
            lines.append(step_line("mle", base, times["mle"], 1.0, size, place, flops))
        lines.append(step_line(name, run, times[name], times[name] / times["mle"], size, place, flops))
        del run
        if place.device.type == "cuda":
            torch.cuda.empty_cache()
    if not lines:
        lines.append(step_line("mle", base, interleaved({"mle": base}, repeats)["mle"], 1.0, size, place, flops))
    return lines


def step_line(
    name: str, run: Run, seconds: float, of_mle: float, size: Size, place: Place, flops: float
) -> dict[str, Any]:
    """Return what was measured of a step.

    Its `flops` are those of the plain step of MLE, so that a method that computes more does not look better for it.
    """
    return {
        "what": name,
        "seconds": seconds,
        "of_mle": of_mle,
        "tokens_per_second": size.batch * size.positions / seconds,
        "flops_per_second": flops / seconds,
        **on_device(run, place.device),
    }


def runs_of(name: str, size: Size, place: torch.device) -> dict[str, Run]:
    """Return every form of a method's head by name; those of `mle` with torch's own beside them."""
    objective = objective_of(name, size, place)
    runs = forms(objective)
    if name == "mle":
        runs |= peers(objective)
    return runs


def peak_in_fresh_process(label: str, size: Size, place: torch.device) -> float | None:
    """Return the most memory one form holds beyond its gradients, in MB, measured alone; None where it cannot be."""
    job = json.dumps({"label": label, "size": vars(size), "device": place.type})
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
    run = runs_of(name, Size(**content["size"]), torch.device(content["device"]))[form]
    try:
        return peak_above_gradients(run)
    except OSError:  # no such file on this system
        return float("nan")


if __name__ == "__main__":
    print(peak_of(sys.argv[1]))
