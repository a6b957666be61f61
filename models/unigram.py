"""Unigram: how often each token is a training target, whatever stands before it; a model must beat it to count.

    p(w) = (c(w) + 1) / (N + V)        c(w) of N training targets, V tokens; one is added so that none is impossible

A trivial control: nothing is trained, and the backbone only says what the tokens are.

Shapes: n positions of a slice, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice

__all__ = ["Unigram", "unigram_log_probs", "without_memory"]


class Unigram(Objective):
    """The distribution of training targets, the same at every position; add-one smoothing (Laplace)."""

    name: ClassVar[str] = "unigram"
    paper: ClassVar[str] = "a trivial control"
    version: ClassVar[int] = 3
    equations: ClassVar[tuple[str, ...]] = (r"p(w) = \frac{c(w) + 1}{N + V}",)
    uses_token_counts: bool = True
    settings: ClassVar[Mapping[str, Any]] = {"trainer.steps": 0, "trainer.epochs": 0}

    counts: Tensor  # [V] of each token as a training target

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)

    def prepare(self, counts: Tensor) -> None:
        """Keep how often each token is a training target, [V]."""
        self.register_buffer("counts", counts.clone())

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """The same log-probabilities for every position, [n, V]."""
        return unigram_log_probs(self.counts).expand(len(tokens), -1)

    def components(self, tokens: TokenSlice) -> dict[str, Tensor]:
        """Its own distribution in place of the head, and no memory."""
        return without_memory(self.log_probs(tokens))


def without_memory(log_probs: Tensor) -> dict[str, Tensor]:
    """Return what `components` says of a method that has no cache: one that holds no token, beside [n, V]."""
    return {"head": log_probs, "cache": torch.full_like(log_probs, -torch.inf), "full": log_probs}


def unigram_log_probs(counts: Tensor) -> Tensor:
    """Return log-probabilities of tokens by their counts plus one, [V] -> [V].

    >>> import torch
    >>> unigram_log_probs(torch.tensor([3, 0, 0])).exp()
    tensor([0.6667, 0.1667, 0.1667])
    """
    smoothed = counts.double() + 1
    return (smoothed / smoothed.sum()).log().float()
