"""Build: from a cell to an objective with its initial weights and the codec of its backbone."""

from __future__ import annotations

import torch

from bench.models.objective import Objective
from bench.plan import Cell
from bench.resolve import backbone_factory
from bench.seeds import seed_of
from bench.tasks.codec import Codec


def build(cell: Cell) -> tuple[Objective, Codec]:
    """Return the objective with its initial weights, and the codec.

    Weights are a pure function of the seed: every rank and every restart builds the same ones.
    """
    config = cell.config
    factory = backbone_factory(config.backbone)
    backbone = factory(config.backbone, cell.task, config.seed, **config.backbone_options)
    torch.manual_seed(seed_of(config.seed, "method"))
    objective = cell.method.kind(backbone, **config.method_options)
    codec = Codec(backbone.tokenizer, backbone.architecture, config.trainer.max_source, config.trainer.max_target)
    if config.trainer.precision.endswith("-true"):
        types = {"32": torch.float32, "bf16": torch.bfloat16, "64": torch.float64}
        objective = objective.to(types[config.trainer.precision.split("-")[0]])
    return objective, codec


def target_counts(cell: Cell, codec: Codec, vocabulary_size: int) -> torch.Tensor:
    """Count how often each token is a training target, [V]; decoding over frequency classes needs it."""
    counts = torch.zeros(vocabulary_size, dtype=torch.long)
    for row in cell.task.encode(cell.task.split("train").examples, codec):
        counts.index_add_(0, torch.tensor(row.target), torch.ones(len(row.target), dtype=torch.long))
    return counts
