"""Ranks of memory entries by how near their tokens are to a target, for HistAlign's ranking term (eq. 5).

Near is a large cosine between the embeddings of two tokens. HistAlign (Wan et al. 2023) section 4.2.

Shapes: n positions (rows), M memory entries, V tokens, D width, U distinct tokens.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Distinct", "cosine_order", "ranks_among", "ranks_of", "unranked_last"]


class Distinct(NamedTuple):
    """Tokens without repeats, and where each of the tokens they were taken from stands among them."""

    tokens: Tensor  # [U] int64
    place: Tensor  # int64, of the shape of the tokens they were taken from


def cosine_order(targets: Distinct, memory: Distinct, embedding: Tensor) -> Tensor:
    """Entries of each row from the nearest to the target to the farthest, by the cosine of their token embeddings.

    Entries of the target token itself come first; equal cosines keep their order in the memory. Cosines are compared
    after rounding to fp32, so that tokens with the same embedding tie however the product was computed. The order
    depends on target and memory alone: positions of one text with the same target share a row.

    HistAlign's text ranks the entries that the row can read (`ranks_among`). The released code ranks every position of
    the row, masked or not, and drops pairs later (`ranks_of`), which makes margins larger (1.4 times on real text at
    512 tokens).

    Args:
        targets: of `[n]` target tokens.
        memory: of `[n, M]` memory tokens.
        embedding: `[V, D]`; no gradient reaches it.

    Returns:
        `[n, M]` int64, a permutation of 0..M-1 in each row.
    """
    with torch.no_grad():
        table = _cosines(targets.tokens, memory.tokens, embedding)  # [U, U']
        cosines = table.index_select(0, targets.place).gather(1, memory.place)  # [n, M]
        return cosines.sort(dim=1, descending=True, stable=True).indices


def ranks_among(order: Tensor, ranked: Tensor) -> Tensor:
    """Rank of each entry among the ranked ones, `[n, M]` int32; for one that is not ranked it means nothing.

    Args:
        order: `[n, M]` entries from the nearest to the farthest.
        ranked: `[n, M]` bool.

    >>> ranks_among(torch.tensor([[2, 0, 1]]), torch.tensor([[True, True, True]]))
    tensor([[1, 2, 0]], dtype=torch.int32)
    """
    among = ranked.gather(1, order).cumsum(1, dtype=torch.int32).sub_(1)  # in the order of nearness
    return torch.empty_like(among).scatter_(1, order, among)


def unranked_last(ranks: Tensor, ranked: Tensor) -> Tensor:
    """Ranks with the entries that are not ranked behind the others, in the order of the memory, `[n, M]` int64.

    Args:
        ranks: `[n, M]` of the ranked entries.
        ranked: `[n, M]` bool.

    >>> unranked_last(torch.tensor([[0, 1, 7]]), torch.tensor([[True, True, False]]))
    tensor([[0, 1, 2]])
    """
    last = (~ranked).cumsum(1) - 1 + ranked.sum(1, keepdim=True)
    return torch.where(ranked, ranks, last)


def ranks_of(order: Tensor) -> Tensor:
    """Rank of each entry, `[n, M]`, from the entries in the order of their ranks.

    >>> ranks_of(torch.tensor([[2, 0, 1]]))
    tensor([[1, 2, 0]])
    """
    places = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)


def _cosines(targets: Tensor, tokens: Tensor, embedding: Tensor) -> Tensor:
    """Cosines between two lists of tokens, `[U, U']`, with infinity for a token and itself."""
    # fp64, then rounded to fp32: the last bits of a product depend on the table's shape, but ties must not.
    wide = torch.float32 if embedding.device.type == "mps" else torch.float64
    with torch.autocast(device_type=embedding.device.type, enabled=False):
        weight = embedding.detach()
        left, right = (F.normalize(weight.index_select(0, ids).to(wide), dim=1) for ids in (targets, tokens))
        table = (left @ right.mT).float()
    return table.masked_fill_(targets[:, None] == tokens, math.inf)
