"""Tiny models without dropout, and training batches of uneven rows for them."""

from typing import Any

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED
from tests.bench.generation import tiny_decoders as tiny

KINDS = ["gpt2", "bart"]
STILL: dict[str, dict[str, Any]] = {
    "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "bart": {"dropout": 0.0, "attention_dropout": 0.0},
    "llama": {},
}


def backbone(kind: str, seed: int = 0, dtype: torch.dtype = torch.float64, **options: Any) -> Backbone:
    """A tiny model whose training mode is deterministic."""
    return tiny.backbone(kind, seed, dtype=dtype, **{**STILL[kind], **options})


def batch(kind: str, rows: slice = slice(None), count: int = 5) -> Batch:
    """Rows with targets of uneven length behind sources, padded at the right."""
    return with_sources(kind, tiny.texts(count, 0)[rows], tiny.texts(count, 1, longest=14)[rows])


def with_sources(kind: str, sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Targets and their sources, in one row unless the model is an encoder-decoder."""
    if kind in ("bart", "bilstm"):
        return rows_of(sources, targets)
    pairs = [*zip(sources, targets, strict=True)]
    return rows_of([s + t for s, t in pairs], [[IGNORED] * len(s) + t for s, t in pairs])


def running(rows: list[list[int]]) -> Batch:
    """Running text: each row begins with a start token, and all that follows is a target."""
    return rows_of(rows, [[IGNORED, *row[1:]] for row in rows])


def stepped(objective: Objective, given: Batch, *, step: int = 3) -> LossSum:
    """The loss of a step that has one micro-batch."""
    tokens = int((given["labels"] != IGNORED).sum())
    return objective.step_loss({**given, "step": step, "step_rows": len(given["labels"]), "step_tokens": tokens})


def rows_of(ids: list[list[int]], labels: list[list[int]]) -> Batch:
    """A batch of rows, padded at the right."""
    return {
        "input_ids": padded(ids, 0),
        "attention_mask": padded([[1] * len(row) for row in ids], 0),
        "labels": padded(labels, IGNORED),
    }


def padded(rows: list[list[int]], fill: int) -> Tensor:
    """Stack rows of unequal length."""
    longest = max(map(len, rows))
    return torch.tensor([row + [fill] * (longest - len(row)) for row in rows])


def gradients(objective: Objective, total: Tensor) -> list[Tensor]:
    """Gradients of all trained parameters; zeros for one that is not reached."""
    parameters = [p for p in objective.parameters() if p.requires_grad]
    return list(torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True))


def assert_same_gradients(objective: Objective, first: Tensor, second: Tensor) -> None:
    """Compare two totals in value and in the gradient of every parameter."""
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-9)
    for found, wanted in zip(gradients(objective, first), gradients(objective, second), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-9)
