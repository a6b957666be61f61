"""Costs: how many times as long as its baseline a method trains, as papers say and as our cells took."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.leaderboards.published.training_times import TrainingTime
from bench.store.reading import read_cells
from bench.store.store import Store

__all__ = ["CostClaim", "MeasuredCost", "cost_claims", "cost_notes", "measured_costs"]

BASELINE = "mle"
SAME_MACHINE = ("platform", "gpu", "cuda", "threads", "torch", "tf32", "deterministic")
"""Of the environment, what two trainings have to share for their seconds to be compared."""


@dataclass(frozen=True)
class CostClaim:
    """How many times as long as its baseline a method trains, by the hours of a paper.

    Args:
        paper: its name.
        task, method, backbone: ours.
        ratio: hours of the method over those of the baseline, on the same hardware.
        where: section of the paper.
        hours, baseline_hours: as stated.
    """

    paper: str
    task: str
    method: str
    backbone: str
    ratio: float
    where: str
    hours: float
    baseline_hours: float


@dataclass(frozen=True)
class MeasuredCost:
    """How many times as long as its baseline a method trained here.

    Args:
        task, method, backbone: names.
        ratio: geometric mean over pairs of cells that share seed, recipe and machine.
        pairs: how many.
        lowest, highest: ratio of a pair; far apart where other programs had the machine too.
    """

    task: str
    method: str
    backbone: str
    ratio: float
    pairs: int
    lowest: float
    highest: float

    def __str__(self) -> str:
        ends = f", {self.lowest:.2f} to {self.highest:.2f}" if self.pairs > 1 else ""
        return f"{self.ratio:.2f} times on {self.backbone} (n={self.pairs}{ends})"


def cost_claims(times: Iterable[TrainingTime], baseline: str = BASELINE) -> list[CostClaim]:
    """Return the ratios that the hours of a paper come to, where it states those of both on one hardware."""
    every = list(times)
    of_baseline = {}
    for time in every:
        if time.method == baseline and time.hours:
            of_baseline[time.task, time.backbone, time.device, time.count] = time.hours
    claims = []
    for time in every:
        hours = of_baseline.get((time.task, time.backbone, time.device, time.count))
        if hours is None or not time.hours or time.method == baseline:
            continue
        ratio = time.hours / hours
        claims.append(
            CostClaim(time.paper, time.task, time.method, time.backbone, ratio, time.where, time.hours, hours)
        )
    return claims


def measured_costs(store: Store, tasks: Iterable[str] | None = None, baseline: str = BASELINE) -> list[MeasuredCost]:
    """Return the ratios of training seconds of stored cells to those of the baseline's.

    Two cells are compared where backbone, preset, seed, steps, batch, data and machine are the same; the learning rate
    and a method's own settings may differ.

    Args:
        store: read only.
        tasks: names; None for all.
        baseline: the method whose seconds are 1.
    """
    seconds: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in read_cells(store, None if tasks is None else set(tasks)):
        if cell.trained is None or cell.trained["status"] != "ok" or not cell.trained.get("train", {}).get("steps"):
            continue
        provenance = cell.folder.provenance()
        if "wall_s" in provenance:
            alike = tuple(shared(cell.trained, provenance))
            seconds[alike][cell.trained["config"]["method"]].append(float(provenance["wall_s"]))
    logs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for (task, backbone, *_), of_method in seconds.items():
        base = of_method.get(baseline)
        for method, taken in of_method.items():
            if base and method != baseline and min(*base, *taken, 1.0) > 0:
                logs[task, method, backbone].append(math.log(statistics.median(taken) / statistics.median(base)))
    costs = []
    for names, found in sorted(logs.items()):
        mean, lowest, highest = map(math.exp, (statistics.fmean(found), min(found), max(found)))
        costs.append(MeasuredCost(*names, mean, len(found), lowest, highest))
    return costs


def shared(record: Mapping[str, Any], provenance: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what two trainings have to share for their seconds to be compared; task and backbone first."""
    config, environment = record["config"], provenance.get("environment", {})
    trainer = config["trainer"]
    yield config["task"]
    yield config["backbone"]
    yield config["preset"]
    yield config["seed"]
    yield record["data"]["train"]["sha256"]
    for name in ("batch_size", "precision", "max_source", "max_target", "limit"):
        yield trainer[name]
    yield record["train"]["steps"]
    yield provenance.get("host")
    for name in ("world", "accumulate"):
        yield provenance.get(name)
    for name in SAME_MACHINE:
        yield environment.get(name)


def cost_notes(claims: Iterable[CostClaim], measured: Iterable[MeasuredCost]) -> list[str]:
    """Return a line for each method whose hours a paper states: its ratio to the baseline's, and ours."""
    every = list(measured)
    lines = []
    for claim in claims:
        said = "; ".join(f"here {cost}" for cost in ours_of(claim, every)) or "not measured here"
        lines.append(
            f"training time, {claim.paper} {claim.where}: {claim.method} {claim.ratio:.2f} times mle on "
            f"{claim.backbone} ({claim.hours:g} h for {claim.baseline_hours:g} h); {said}"
        )
    return lines


def ours_of(claim: CostClaim, measured: Iterable[MeasuredCost]) -> list[MeasuredCost]:
    """Return our costs of a claim's task and method: of its backbone where there are some, else those there are."""
    ours = {cost.backbone: cost for cost in measured if (cost.task, cost.method) == (claim.task, claim.method)}
    if claim.backbone in ours:
        return [ours[claim.backbone]]
    return list(ours.values())
