"""Text: costs for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.base.sizes import amount
from bench.cost.estimate import Cost, sums
from bench.cost.plan_costs import PlanCosts

__all__ = ["cost_text", "duration"]


def cost_text(costs: PlanCosts) -> str:
    """Return the costs of a plan's cells, and their sums."""
    device = costs.device
    devices = f"{costs.world} x {device.name}"
    if costs.world == 1:
        devices = device.name
    lines = [f"cost on {devices}, {amount(device.memory, 'B')} of memory ({device.source})"]
    products = costs.float32_products
    lines.append(f"float32 matrix products: {' and '.join(products)} ({tf32_text(products)})")
    for cost in costs.cells:
        lines.append(f"  {cost.label}")
        lines += [f"    {line}" for line in _lines(cost)]
    return "\n".join([*lines, *_sums(costs.cells, costs.world)])


def tf32_text(products: Sequence[str]) -> str:
    """Say whether a GPU computes float32 products with TF32."""
    if list(products) == ["highest"]:
        return "TF32 off"
    return "TF32 on where the GPU has it"


def _lines(cost: Cost) -> list[str]:
    """Return what is said of one cell."""
    if cost.unknown:
        return [f"unknown: {cost.unknown}"]
    parameters = f"{amount(cost.parameters)} parameters"
    if cost.trained_parameters != cost.parameters:
        parameters += f" ({amount(cost.trained_parameters)} trained)"
    memory = f"{amount(cost.memory_bytes, 'B')} peak memory ({cost.phase})"
    disk = f"{amount(cost.checkpoint_bytes + cost.row_bytes, 'B')} on disk (+{amount(cost.state_bytes, 'B')} of states)"
    lines = [" · ".join([parameters, memory, f"micro-batch {cost.micro_batch} x {cost.accumulate}", disk])]
    if cost.flops is None or cost.hours is None:
        lines.append(f"hours unknown: {cost.rows_from}")
    else:
        spent = f"{amount(cost.flops, 'FLOP')} in {cost.steps:,} steps · {duration(cost.hours)}"
        lines.append(f"{spent} at MFU {cost.mfu:.0%} ({cost.mfu_from}) · {cost.rows_from}")
    lines += [f"{one['paper']} {one['where']}: {one['text']}" for one in cost.published]
    lines += [line for line in (cost.advice, cost.note) if line]
    return lines


def _sums(costs: Sequence[Cost], world: int) -> list[str]:
    """Return the sums of a run."""
    found: dict[str, Any] = sums(costs)
    spent = f"{amount(found['flops'], 'FLOP')} · {duration(found['hours'])}"
    if world > 1:
        spent += f" ({duration(found['device_hours'])} of devices)"
    states = f"+{amount(found['state_bytes'], 'B')} while the largest is trained"
    disk = f"{amount(found['disk_bytes'], 'B')} on disk ({states})"
    lines = [f"sum of {found['cells']} cells: {spent} · {disk} · evaluation is not in it"]
    for name, text in (("unknown", "unknown"), ("without_hours", "without hours"), ("do_not_fit", "do not fit")):
        if found[name]:
            lines.append(f"  of these {found[name]} {text}")
    return lines


def duration(hours: float) -> str:
    """Return a duration in the unit that fits it.

    >>> duration(0.001), duration(0.4), duration(30), duration(400)
    ('4 s', '24 min', '30.0 h', '16.7 days')
    """
    if hours < 1 / 60:
        return f"{hours * 3600:.0f} s"
    if hours < 1:
        return f"{hours * 60:.0f} min"
    if hours < 100:
        return f"{hours:.1f} h"
    return f"{hours / 24:.1f} days"
