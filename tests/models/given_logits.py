"""A backbone that answers with given logits: golden arrays go in as states, golden losses come out of a class."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from torch import Tensor, nn

from bench.models.backbones.backbone import Backbone, Batch, LinearHead, Step
from bench.models.backbones.causal import strictly_past
from bench.models.core.states import IGNORED, States, TokenSlice


class GivenLogits(Backbone):
    """Decoder-only; its head is the identity.

    Args:
        logits: [N, V] of the positions that carry a target, row after row.
        special: ids of `bos`, `eos` and `pad`.
    """

    architecture = "decoder-only"

    def __init__(self, logits: Tensor, **special: int) -> None:
        config = SimpleNamespace(**{f"{name}_token_id": token for name, token in special.items()})
        super().__init__(SimpleNamespace(config=config), None)
        self.logits = nn.Parameter(logits.detach().clone())
        self.weight = nn.Parameter(torch.eye(logits.shape[1], dtype=logits.dtype))

    def states(self, batch: Batch) -> States:
        targets, mask = batch["labels"][:, 1:], batch["attention_mask"]
        places = (targets != IGNORED).nonzero(as_tuple=True)
        hidden = self.logits.new_zeros((*targets.shape, self.width)).index_put(places, self.logits)
        tokens = batch["input_ids"][:, 1:]
        return States(hidden, targets, hidden, tokens, strictly_past(mask), targets != IGNORED)

    def extend(self, step: Step) -> TokenSlice:
        raise NotImplementedError

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.weight.t()

    def linear_head(self) -> LinearHead:
        return LinearHead(self.weight)

    def embedding(self) -> Tensor:
        return self.weight

    def head_parameters(self) -> list[nn.Parameter]:
        return [self.weight]

    @property
    def vocabulary_size(self) -> int:
        return self.weight.shape[0]

    @property
    def width(self) -> int:
        return self.weight.shape[0]


def batch_of(targets: Tensor) -> Batch:
    """Rows with these targets [B, T], IGNORED where there is none, behind a start token."""
    start = targets.new_full((len(targets), 1), IGNORED)
    labels = torch.cat([start, targets], dim=1)
    return {"input_ids": labels.clamp_min(0), "attention_mask": torch.ones_like(labels), "labels": labels}
