"""Sampling that depends on each row's own seed alone: not on batch order, batch size, rank or world size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from bench.config.decoding import Decoding

__all__ = ["SeededSampler"]

PREFILTER = 1024
"""Most probable tokens among which a nucleus is looked for before the whole vocabulary is sorted."""

SPARE = 64
"""Room for ties behind the k-th token."""


class SeededSampler(LogitsProcessor):
    """Draw one token per row; return scores of 0 for it and -inf for all others, so that argmax picks it.

    The tokens kept are those the library's warpers keep, after its temperature; a nucleus is exact, found in float64.
    The draw is the inverse of the kept tokens' cumulative distribution in the order of token ids, so neither a tie nor
    the last bit of a score moves it to a distant token. Each step takes one uniform number from each row's own
    generator, also for rows that are finished.

    Args:
        decoding: `topk`, `nucleus` or `sample` with its temperature; a decoupled distribution is already cut.
        seeds: one per row of the batch.
        steps: most tokens that will be drawn.
    """

    def __init__(self, decoding: Decoding, seeds: Sequence[int], steps: int) -> None:
        self.k, self.p = decoding.k, decoding.p
        if decoding.distribution == "decoupled":  # cut already, within a class
            self.k, self.p = 0, 1.0
        self.temperature = decoding.temperature
        self.uniforms = torch.stack([_uniforms(seed, steps) for seed in seeds])  # [B, steps]
        self.step = 0

    def __call__(self, input_ids: Any, scores: Tensor) -> Tensor:
        """Draw from log-probabilities or logits, [B, V]."""
        self.uniforms = self.uniforms.to(scores.device)
        uniform = self.uniforms[:, self.step]
        self.step += 1
        warmed = scores
        if self.temperature != 1:
            warmed = scores / self.temperature
        tokens = self.draw(warmed, uniform)
        return torch.full_like(scores, -math.inf).scatter_(1, tokens[:, None], 0.0)

    def draw(self, scores: Tensor, uniform: Tensor) -> Tensor:
        """Return the token at each row's place in [0, 1) of the kept distribution, [B]."""
        if not self.k and self.p == 1:
            return inverse_cdf(scores, uniform)
        values, ids, kept, settled = self.candidates(scores)
        tokens = ids.gather(1, inverse_cdf(values.masked_fill(~kept, -math.inf), uniform)[:, None]).squeeze(1)
        if (rows := (~settled).nonzero().squeeze(1)).numel():
            tokens[rows] = inverse_cdf(self.cut(scores[rows]), uniform[rows])
        return tokens

    def candidates(self, scores: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Find the kept tokens among the most probable ones.

        Returns:
            Scores [B, W] and ids [B, W] in the order of ids, which of them are kept, and which rows are settled, [B]:
            the others may keep a token that is not among these.
        """
        width = min(2 * self.k + SPARE if self.k else PREFILTER, scores.shape[1])
        values, ids = scores.topk(width, dim=1)
        if self.k:
            count = torch.full_like(ids[:, :1], min(self.k, width))
            complete = torch.ones_like(count[:, 0], dtype=torch.bool)
        else:
            count, complete = self.nucleus_size(values, (scores - values[:, :1]).exp().sum(1, dtype=torch.float64))
        floor = values.gather(1, count - 1)
        settled = complete & ((values[:, -1:] < floor).squeeze(1) | (width == scores.shape[1]))
        values, ids = _by_id(values, ids, int((values >= floor).sum(1).max()))
        return values, ids, self.kept(values, floor, count), settled

    def nucleus_size(self, values: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        """How many of the falling scores reach a share p of the total, [B, 1], and in which rows they do, [B]."""
        mass = (values - values[:, :1]).double().exp().cumsum(1)
        needed = self.p * total[:, None]
        return (mass < needed).sum(1, keepdim=True).add_(1).clamp_(max=values.shape[1]), mass[:, -1] >= needed[:, 0]

    def kept(self, values: Tensor, floor: Tensor, count: Tensor) -> Tensor:
        """Which of some tokens, in the order of ids, are kept.

        Top-k keeps all that tie with the last one, as the library does. A nucleus keeps as many as it needs, those
        with the lowest ids; the library keeps as many, but which ones its sort decides.
        """
        if self.k:
            return values >= floor
        above, level = values > floor, values == floor
        return above | (level & (level.cumsum(1) <= count - above.sum(1, keepdim=True)))

    def cut(self, scores: Tensor) -> Tensor:
        """The library's own routine over the whole vocabulary, [B, V]: for flat distributions and wide ties."""
        warper = TopKLogitsWarper(self.k) if self.k else TopPLogitsWarper(self.p)
        kept = warper(None, scores) > -math.inf
        floor = scores.masked_fill(~kept, math.inf).amin(1, keepdim=True)
        return scores.masked_fill(~self.kept(scores, floor, kept.sum(1, keepdim=True)), -math.inf)


def inverse_cdf(scores: Tensor, uniform: Tensor) -> Tensor:
    """Return the column at which each row's cumulative probability passes `uniform`, [B].

    >>> inverse_cdf(torch.tensor([[0.5, 0.0, 0.5]]).log().expand(2, -1), torch.tensor([0.49, 0.5]))
    tensor([0, 2])
    """
    mass = (scores - scores.amax(1, keepdim=True)).double().exp().cumsum(1)
    return torch.searchsorted(mass, uniform.double()[:, None] * mass[:, -1:], right=True).squeeze(1)


def _uniforms(seed: int, steps: int) -> Tensor:
    """The first numbers of a row's generator, [steps] float64: the i-th is the same however many are asked for."""
    return torch.rand(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _by_id(values: Tensor, ids: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Put the first `width` columns of each row in the order of their ids."""
    ids, order = ids[:, :width].sort(dim=1)
    return values[:, :width].gather(1, order), ids
