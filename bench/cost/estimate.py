"""Estimate: what one cell will cost on one device, from its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import torch

from bench.base.sizes import amount
from bench.cells.cell import Cell
from bench.cells.how import How
from bench.cost.devices import Device, this_machine
from bench.cost.disk import disk_of, takes_steps
from bench.cost.flops import flops_of_row, shares_of, trained_share
from bench.cost.hours import assumed, hours_of, measured
from bench.cost.memory import MARGIN, Shares, forward_bytes, largest_micro_batch, peak_bytes
from bench.cost.trace import Trace, Tracer
from bench.cost.training_rows import longest, training_rows
from bench.errors import BenchError
from bench.models.core.objective import Objective

__all__ = ["Cost", "estimate", "micro_batches", "sums"]


PLAIN = How()
NOT_COUNTED = "what it reads of training and validation text after the last step is not counted"


@dataclass(frozen=True)
class Cost:
    """What a cell will cost.

    Args:
        key, label: of the cell.
        parameters: of the objective, and of them those that are trained.
        trained_parameters: likewise.
        memory_bytes: peak of a process; of one row a micro-batch where not even that fits.
        phase: of the step in which the peak is.
        micro_batch: rows.
        accumulate: micro-batches of a step on each process.
        fits: whether it fits the device, with a margin.
        advice: what to try where it does not; else empty.
        steps: of the optimiser; None where nobody knows.
        flops: of the whole training; None where nobody knows.
        mfu: share of the device's peak that hours count with.
        mfu_from: whether that is assumed, or what it was measured on.
        hours: of training, on all devices of the run at once; None where nobody knows.
        device_hours: hours times devices.
        checkpoint_bytes, state_bytes, row_bytes: on disk; states only while it is trained.
        rows_from: where the number of training rows and their length are from.
        unknown: why nothing is known of the cell; else empty.
        note: what a reader must know; may be empty.
        published: what papers say of the hours and hardware of this training.
    """

    key: str
    label: str
    parameters: int = 0
    trained_parameters: int = 0
    memory_bytes: int = 0
    phase: str = ""
    micro_batch: int = 0
    accumulate: int = 0
    fits: bool = True
    advice: str = ""
    steps: int | None = None
    flops: float | None = None
    mfu: float = 0.0
    mfu_from: str = ""
    hours: float | None = None
    device_hours: float | None = None
    checkpoint_bytes: int = 0
    state_bytes: int = 0
    row_bytes: int = 0
    rows_from: str = ""
    unknown: str = ""
    note: str = ""
    published: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return asdict(self)


def estimate(cell: Cell, device: Device, tracer: Tracer, world: int = 1, how: How = PLAIN) -> Cost:
    """Return the cost of one cell.

    Args:
        cell: a planned one.
        device: that it would be trained on.
        tracer: of this kind of device.
        world: processes that share it.
        how: it would be trained: micro-batches of a step, strategy, activation checkpointing.
    """
    trainer = cell.config.trainer
    try:
        trace = tracer.trace(cell, longest(cell), trainer.batch_size, how.activation_checkpointing)
    except (BenchError, RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return Cost(cell.key, cell.label, unknown=" ".join(str(error).split())[:300])
    parameters = trace.parameters
    if cell.second is not None:
        second = tracer.trace(cell.second, longest(cell.second), cell.second.config.trainer.batch_size)
        parameters = parameters.with_frozen(second.parameters.total)
    rows = training_rows(cell)
    fitted = _fitted(trace, cell, device, world, how)
    utilisation = measured(cell, trace.products, rows, device, how) or assumed(device, cell, how)
    n_targets = round(rows.rows * rows.average.target)
    kept = 0
    if issubclass(cell.method.kind, Objective):
        kept = cell.method.kind.kept_bytes(cell.config.method_options, trace.products.width, n_targets)
    disk = disk_of(cell, parameters, kept)
    note = trace.note
    if cell.method.chooses_after_training:
        note = NOT_COUNTED
    steps = flops = hours = None
    if rows.rows or trainer.steps:
        steps = trainer.n_steps(rows.rows)
        flops = steps * trainer.batch_size * flops_of_row(trace.products, rows.average)
        flops *= trained_share(cell)
        hours = hours_of(flops, utilisation, device, cell, world)
    return Cost(
        key=cell.key,
        label=cell.label,
        parameters=parameters.total,
        trained_parameters=parameters.trained,
        **fitted,
        steps=steps,
        flops=flops,
        mfu=utilisation.share,
        mfu_from=utilisation.why,
        hours=hours,
        device_hours=None if hours is None else hours * world,
        checkpoint_bytes=disk.checkpoint,
        state_bytes=disk.states,
        row_bytes=disk.rows,
        rows_from=rows.why,
        note=note,
    )


def micro_batches(cell: Cell, world: int, device: Device | None = None, how: How = PLAIN) -> int | None:
    """Return how many micro-batches of a step fit this machine, for `--micro-batch auto`.

    Where not even one row a micro-batch fits, by the estimate, it is one row: the estimate has a margin.

    Args:
        cell: to be trained.
        world: processes that share it.
        device: in place of this machine's.
        how: it would be trained: strategy, activation checkpointing.

    Returns:
        The number on each process; None where nothing is known of the cell.
    """
    device = device or this_machine(torch.get_num_threads())
    cost = estimate(cell, device, tracer_of(device.kind), world, how)
    if cost.unknown:
        return None
    return cost.accumulate


@cache
def tracer_of(kind: str) -> Tracer:
    """Return the tracer that all cells of this process share, so that a backbone is run once for its methods."""
    return Tracer(kind)


def _fitted(trace: Trace, cell: Cell, device: Device, world: int, how: How) -> dict[str, Any]:
    """Return peak memory with the largest micro-batch that fits, or with one row where none does."""
    shares = Shares()
    if how.strategy == "fsdp":
        shares = shares_of(trace.products, world)

    def phases(rows: int, accumulate: int) -> dict[str, float]:
        if not takes_steps(cell):
            return forward_bytes(trace.memory, trace.parameters, rows, device.kind)
        return peak_bytes(trace.memory, trace.parameters, rows, accumulate, device.kind, shares)

    def peak(rows: int, accumulate: int) -> float:
        return max(phases(rows, accumulate).values())

    size, available = cell.config.trainer.batch_size, float(device.memory)
    if device.kind == "cpu":
        available /= world  # processes of one machine share its memory
    accumulate = largest_micro_batch(size, world, peak, available, how.accumulate)
    fits = accumulate is not None
    if accumulate is None:
        accumulate = max(1, size // world)
    rows = -(-size // (world * accumulate))
    found = phases(rows, accumulate)
    phase = max(found, key=lambda name: found[name])
    return {
        "memory_bytes": int(found[phase]),
        "phase": phase,
        "micro_batch": rows,
        "accumulate": accumulate,
        "fits": fits,
        "advice": "" if fits else _advice(found, cell, available),
    }


def _advice(phases: Mapping[str, float], cell: Cell, available: float) -> str:
    """Return what to try where not even one row fits."""
    most = longest(cell)
    needed = amount(MARGIN * max(phases.values()), "B")
    tries = ["a device with more memory"]
    if MARGIN * phases.get("optimiser", 0.0) < available:
        tries.append(f"a smaller trainer.max_source or trainer.max_target than {most.source:.0f} and {most.target:.0f}")
    else:
        tries.append("a smaller backbone; weights, moments and gradients alone are too large")
    if cell.config.trainer.precision == "32-true":
        tries.append("--precision bf16-mixed")
    return f"does not fit: one row takes {needed} with the margin, of {amount(available, 'B')}; try {', '.join(tries)}"


def sums(costs: Sequence[Cost]) -> dict[str, Any]:
    """Return the sums of a run; states are those of the largest cell, since they go when it is done."""
    known = [cost for cost in costs if not cost.unknown]
    return {
        "cells": len(costs),
        "unknown": len(costs) - len(known),
        "do_not_fit": sum(not cost.fits for cost in known),
        "flops": sum(cost.flops or 0.0 for cost in known),
        "hours": sum(cost.hours or 0.0 for cost in known),
        "device_hours": sum(cost.device_hours or 0.0 for cost in known),
        "without_hours": sum(cost.hours is None for cost in known),
        "disk_bytes": sum(cost.checkpoint_bytes + cost.row_bytes for cost in known),
        "state_bytes": max((cost.state_bytes for cost in known), default=0),
        "peak_memory_bytes": max((cost.memory_bytes for cost in known), default=0),
    }
