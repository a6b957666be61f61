"""Top tokens: top-k and nucleus cuts found among the most probable tokens, without a sort of the vocabulary.

Shapes: B rows, V vocabulary, W tokens that are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bench.decodings.core.draws import inverse_cdf

__all__ = ["PREFILTER", "TopTokens"]

PREFILTER = 1024
"""Most probable tokens among which a nucleus is looked for before the whole vocabulary is sorted."""

SPARE = 64
"""Room for ties behind the k-th token."""


@dataclass(frozen=True)
class TopTokens:
    """A cut that keeps the most probable tokens: k of them, or the fewest that reach the mass p.

    A nucleus is exact, found in float64.

    Args:
        kept: the same cut over the whole vocabulary, [B, V] -> [B, V] bool: for flat distributions and wide ties.
        k: size of a top-k cut; 0 for none.
        p: mass of a nucleus; 1 for none.
    """

    kept: Callable[[Tensor], Tensor]
    k: int = 0
    p: float = 1.0

    def draw(self, scores: Tensor, uniform: Tensor) -> Tensor:
        """Return the token at each row's place in [0, 1) of the kept distribution, [B]."""
        values, ids, inside, settled = self.candidates(scores)
        tokens = ids.gather(1, inverse_cdf(values.masked_fill(~inside, -math.inf), uniform)[:, None]).squeeze(1)
        if (rows := (~settled).nonzero().squeeze(1)).numel():
            cut = scores[rows].masked_fill(~self.kept(scores[rows]), -math.inf)
            tokens[rows] = inverse_cdf(cut, uniform[rows])
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
        if self.k:
            return values, ids, values >= floor, settled
        return values, ids, lowest_ids(values, floor, count), settled

    def nucleus_size(self, values: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        """How many of the falling scores reach a share p of the total, [B, 1], and in which rows they do, [B]."""
        mass = (values - values[:, :1]).double().exp().cumsum(1)
        needed = self.p * total[:, None]
        return (mass < needed).sum(1, keepdim=True).add_(1).clamp_(max=values.shape[1]), mass[:, -1] >= needed[:, 0]


def lowest_ids(values: Tensor, floor: Tensor, count: Tensor) -> Tensor:
    """Keep `count` tokens of each row, of those that tie at the floor the ones with the lowest ids, [B, W] bool.

    Args:
        values: [B, W] scores in the order of ids.
        floor: [B, 1] score of the last token that is kept.
        count: [B, 1] how many are kept.
    """
    above = values > floor
    return kept_of_ties(above, values == floor, count - above.sum(1, keepdim=True))


def kept_of_ties(above: Tensor, level: Tensor, count: Tensor) -> Tensor:
    """Keep what is above the floor and the first `count` [B, 1] of what is level with it, [B, W] bool."""
    return above | (level & (level.cumsum(1) <= count))


def _by_id(values: Tensor, ids: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Put the first `width` columns of each row in the order of their ids."""
    ids, order = ids[:, :width].sort(dim=1)
    return values[:, :width].gather(1, order), ids
