"""Sampling that depends on each row's own seed alone: not on batch order, batch size, rank or world size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

from bench.decodings.core.draws import inverse_cdf, uniforms
from bench.decodings.core.released_classes import draw_as_released
from bench.decodings.core.sampler import Sampler

__all__ = ["SeededSampler"]


class SeededSampler(LogitsProcessor):
    """Draw one token per row; return scores of 0 for it and -inf for all others, so that argmax picks it.

    The decoding draws from the tokens it keeps, after its temperature. Each step takes one uniform number from each
    row's own generator, also for rows that are finished.

    Args:
        decoding: with its temperature; a decoupled distribution is already cut.
        seeds: one per row of the batch.
        steps: most tokens that will be drawn.
        classes: [V] class of each token, where the decoding draws classes itself.
    """

    def __init__(self, decoding: Sampler, seeds: Sequence[int], steps: int, classes: Tensor | None = None) -> None:
        self.decoding, self.classes = decoding, classes
        self.uniforms = torch.stack([uniforms(seed, steps) for seed in seeds])  # [B, steps]
        self.state: dict[str, Tensor] = {}  # what the decoding keeps of each row
        self.step = 0

    def __call__(self, input_ids: Any, scores: Tensor) -> Tensor:
        """Draw from log-probabilities or logits, [B, V]."""
        self.uniforms = self.uniforms.to(scores.device)
        uniform = self.uniforms[:, self.step]
        self.step += 1
        warmed = scores
        if self.decoding.temperature != 1:
            warmed = scores / self.decoding.temperature
        if self.decoding.distribution == "decoupled":  # cut already, within a class
            tokens = inverse_cdf(warmed, uniform)
        elif self.classes is not None:
            k = (self.decoding.class_cut() or {})["k"]
            tokens = draw_as_released(warmed, self.classes.to(scores.device), k, uniform)
        else:
            tokens = self.decoding.draw(warmed, uniform, self.state)
        return torch.full_like(scores, -math.inf).scatter_(1, tokens[:, None], 0.0)
