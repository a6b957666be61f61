"""Stored cells of made-up models, as a run of `bench tradeoff --run` leaves them."""

from __future__ import annotations

from pathlib import Path

from bench.leaderboards.quality_diversity.curves import Model
from tests.leaderboards.handmade import scored, trained


def store_models(root: Path, *models: Model) -> None:
    """Store the models of `worlds` as cells of one task, a cell for each seed."""
    for model in models:
        rows = model.rows.values()
        for seed in sorted(next(iter(rows)).seeds):
            cell = trained(root, model.method, seed, task="text", backbone="small-causal")
            for row in rows:
                values = {name: value.by_seed[seed] for name, value in row.values.items()}
                scored(cell, values, decoding=row.decoding)
