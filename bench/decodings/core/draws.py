"""Draws: the token at a place in [0, 1) of a distribution, and of its nucleus without a sort of the vocabulary.

Shapes: B rows, V vocabulary, W tokens that are looked at.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

PREFILTER = 1024
"""Most probable tokens among which a nucleus is looked for before the whole vocabulary is sorted."""


def inverse_cdf(scores: Tensor, uniform: Tensor) -> Tensor:
    """Return the column at which each row's cumulative probability passes `uniform`, [B].

    Columns are in the order of token ids, so neither a tie nor the last bit of a score moves a draw to a distant token.

    Args:
        scores: [B, V] log-probabilities, not normalised.
        uniform: [B] in [0, 1).

    >>> inverse_cdf(torch.tensor([[0.5, 0.0, 0.5]]).log().expand(2, -1), torch.tensor([0.49, 0.5]))
    tensor([0, 2])
    """
    mass = (scores - scores.amax(1, keepdim=True)).double().exp().cumsum(1)
    return torch.searchsorted(mass, uniform.double()[:, None] * mass[:, -1:], right=True).squeeze(1)


def uniforms(seed: int, steps: int) -> Tensor:
    """Return the first numbers of a row's generator, [steps] float64: the i-th is the same for any number of steps."""
    return torch.rand(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def nucleus_draw(scores: Tensor, p: float, kept: Callable[[Tensor], Tensor], uniform: Tensor) -> Tensor:
    """Return the token at each row's place in [0, 1) of its nucleus, [B].

    Args:
        scores: [B, V] log-probabilities, not normalised; -inf for tokens that are ruled out.
        p: the mass of the nucleus.
        kept: the same cut over a whole vocabulary, [B, V] -> [B, V] bool: for flat distributions and wide ties.
        uniform: [B] in [0, 1).
    """
    values, ids, inside, settled = nucleus_candidates(scores, p)
    tokens = ids.gather(1, inverse_cdf(values.masked_fill(~inside, -math.inf), uniform)[:, None]).squeeze(1)
    if (rows := (~settled).nonzero().squeeze(1)).numel():
        cut = scores[rows].masked_fill(~kept(scores[rows]), -math.inf)
        tokens[rows] = inverse_cdf(cut, uniform[rows])
    return tokens


def nucleus_candidates(scores: Tensor, p: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find the nucleus among the most probable tokens, in float64.

    Returns:
        Scores [B, W] and ids [B, W] in the order of ids, which of them are in the nucleus [B, W], and which rows are
        settled [B]: the nucleus of the others may have a token that is not among these.
    """
    width = min(PREFILTER, scores.shape[1])
    values, ids = scores.topk(width, dim=1)
    needed = p * (scores - values[:, :1]).exp().sum(1, dtype=torch.float64)[:, None]
    mass = (values - values[:, :1]).double().exp().cumsum(1)
    count = (mass < needed).sum(1, keepdim=True).add_(1).clamp_(max=width)
    floor = values.gather(1, count - 1)
    is_last = values[:, -1:] < floor if width < scores.shape[1] else torch.ones_like(needed, dtype=torch.bool)
    settled = ((mass[:, -1:] >= needed) & is_last).squeeze(1)
    ids, order = ids[:, : int((values >= floor).sum(1).max())].sort(dim=1)
    values = values.gather(1, order)
    return values, ids, lowest_ids(values, floor, count), settled


def lowest_ids(values: Tensor, floor: Tensor, count: Tensor) -> Tensor:
    """Keep `count` tokens of each row, of those that tie at the floor the ones with the lowest ids, [B, W] bool.

    Args:
        values: [B, W] scores in the order of ids.
        floor: [B, 1] score of the last token that is kept.
        count: [B, 1] how many are kept.
    """
    above, level = values > floor, values == floor
    return above | (level & (level.cumsum(1) <= count - above.sum(1, keepdim=True)))
