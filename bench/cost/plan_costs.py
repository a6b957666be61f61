"""Plan costs: what the cells of a plan will cost on a device, beside what papers say of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.cells.cell import Cell
from bench.cells.how import How
from bench.cells.plan import Plan
from bench.cost.devices import Device
from bench.cost.estimate import PLAIN, Cost, estimate, sums
from bench.cost.trace import Tracer
from bench.leaderboards.published.papers import published_times
from bench.models.core.objective import Objective

__all__ = ["PlanCosts", "costs_of_plan"]


@dataclass(frozen=True)
class PlanCosts:
    """The costs of a plan.

    Args:
        cells: cost of each cell that is still to be trained.
        device: that they are stated for.
        world: processes that share a cell, each with a device of its own.
        float32_products: every value of `trainer.float32_products` among them.
    """

    cells: Sequence[Cost]
    device: Device
    world: int
    float32_products: Sequence[str]

    def content(self) -> dict[str, Any]:
        """Return plain content."""
        return {
            "device": asdict(self.device),
            "processes": self.world,
            "float32_products": list(self.float32_products),
            "cells": [cost.as_dict() for cost in self.cells],
            "sum": sums(self.cells),
        }


def costs_of_plan(plan: Plan, device: Device, world: int = 1, how: How = PLAIN) -> PlanCosts:
    """Return the costs of the cells that are still to be trained; those without a model cost nothing.

    Args:
        plan: whose.
        device: that they would be trained on.
        world: processes that share a cell, each with a device of its own.
        how: they would be trained: micro-batches of a step, strategy, activation checkpointing.
    """
    tracer, found = Tracer(device.kind), {}
    products: set[str] = set()
    for cell in plan.cells:
        if cell.key in found or not is_trained_anew(cell):
            continue
        cost = estimate(cell, device, tracer, world, how)
        found[cell.key] = replace(cost, published=said_by_papers(cell))
        products.add(cell.config.trainer.float32_products)
    return PlanCosts(list(found.values()), device, world, sorted(products))


def is_trained_anew(cell: Cell) -> bool:
    """Whether a cell has a model, and is not trained yet."""
    return issubclass(cell.method.kind, Objective) and cell.folder.trained() is None


def said_by_papers(cell: Cell) -> list[dict[str, Any]]:
    """Return what papers say of the hours and hardware of a cell's training, where it is of their size."""
    if cell.config.preset != "paper":
        return []
    times = published_times(cell.config.task, cell.method.name, cell.config.backbone)
    return [{**asdict(time), "text": time.text} for time in times]
