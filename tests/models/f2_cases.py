"""F2-Softmax over tiny backbones, for the tests of its training and of its decoding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bench.models.backbones.backbone import Batch
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.f2softmax import F2Softmax
from tests.bench.generation import tiny_decoders as tiny

V = tiny.VOCABULARY


def counts(seed: int = 0) -> Tensor:
    """Zipf counts of shuffled tokens, some of them never seen."""
    falling = (40 / torch.arange(1, V + 1) ** 0.9).long()
    return falling[torch.randperm(V, generator=torch.Generator().manual_seed(seed))]


def made(kind: str, dtype: torch.dtype = torch.float64, **options: Any) -> F2Softmax:
    """The method over a tiny backbone, its weights large enough to have opinions."""
    torch.manual_seed(0)
    objective = F2Softmax(tiny.backbone(kind, dtype=dtype), **options)
    objective.prepare(counts())
    return objective.eval()


def batch_of(kind: str, seed: int = 0, rows: int = 5) -> Batch:
    """Texts of uneven length, part of them without a target."""
    given = tiny.texts(rows, seed)
    longest = max(map(len, given))
    ids = torch.tensor([t + [0] * (longest - len(t)) for t in given])
    mask = torch.tensor([[1] * len(t) + [0] * (longest - len(t)) for t in given])
    labels = torch.randint(5, V, ids.shape, generator=torch.Generator().manual_seed(seed)) if kind == "bart" else ids
    return {"input_ids": ids, "attention_mask": mask, "labels": labels.masked_fill(mask == 0, IGNORED)}


def rows_of(objective: F2Softmax, kind: str) -> TokenSlice:
    with torch.no_grad():
        (rows,) = slices(objective.backbone.states(batch_of(kind)), 512)
    return rows
