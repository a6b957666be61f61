"""Stored cells of made-up models, as a run of `bench tradeoff --run` leaves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.leaderboards.quality_diversity.curves import Model
from tests.leaderboards.handmade import scored, trained


def store_models(root: Path, *models: Model, task: str = "text", batch_size: int = 50, **changes: Any) -> None:
    """Store the models of `worlds` as cells of one task, a cell for each seed.

    Args:
        root: the store.
        models: of `worlds`.
        task: its name.
        batch_size: of the evaluation.
        changes: of the cells, as `handmade.trained` takes them.
    """
    for model in models:
        rows = model.rows.values()
        seeds = set[int]().union(*(row.seeds for row in rows))
        for seed in sorted(seeds):
            cell = trained(root, model.method, seed, task=task, backbone="small-causal", **changes)
            for row in rows:
                values = {name: value.by_seed[seed] for name, value in row.values.items() if seed in value.by_seed}
                if values:
                    scored(cell, values, decoding=row.decoding, batch_size=batch_size)
