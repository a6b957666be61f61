"""HistAlign's ranking term: order-informed contrastive loss (eq. 5).

Each target ranks the memory entries by how near their tokens' embeddings are to its own. Entries that carry the target
itself (positives) should be more similar than every other entry (negatives), by a margin that grows with the distance
in rank (eq. 5):

    l_t = sum over positives i, negatives j ranked after i of relu(s_tj - s_ti + (rank_j - rank_i) * margin)

HistAlign (Wan et al. 2023) sections 4.2 and 4.3.

How it is computed. With a = s + margin * rank a pair costs relu(a_j - a_i). So every reduction here is sum_k c_k a_k
with coefficients c that are constants for autograd: numbers of pairs for the paper's sum, a weight for each rank
distance for the released code's. That takes a few [n, M] tensors, where a loop over the distances would keep M of them
for the backward pass.

Shapes: n positions (rows), M memory entries, V tokens, D width, U distinct tokens, p the most positives of a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Distinct", "cosine_order", "cosine_ranks", "ranked_hinge", "ranks_among", "ranks_of", "released_ranking"]


class Distinct(NamedTuple):
    """Tokens without repeats, and where each of the tokens they were taken from stands among them."""

    tokens: Tensor  # [U] int64
    place: Tensor  # int64, of the shape of the tokens they were taken from

    @classmethod
    def of(cls, tokens: Tensor) -> Distinct:
        """Look for the distinct tokens of a tensor; on a GPU this waits for it."""
        return cls(*torch.unique(tokens, return_inverse=True))


def cosine_ranks(target_tokens: Tensor, memory_tokens: Tensor, ranked: Tensor, embedding: Tensor) -> Tensor:
    """Rank each row's entries by cosine between the target's and the entry's token embedding, nearest first.

    Entries of the target token itself come first; equal cosines keep their order in the memory. Cosines are compared
    after rounding to fp32, so that tokens with the same embedding tie however the product was computed.

    Which entries count is the caller's choice: HistAlign's text ranks the entries that the row can read (``cache``
    scope); the released code ranks every position of the row, masked or not, and drops pairs later (``sequence``
    scope), which makes margins larger (1.4 times on real text at 512 tokens).

    Args:
        target_tokens: ``[n]`` int64, each in [0, V).
        memory_tokens: ``[n, M]`` int64, each in [0, V).
        ranked: ``[n, M]`` bool, the entries that are ranked.
        embedding: ``[V, D]`` token embeddings; no gradient reaches them.

    Returns:
        ``[n, M]`` int64: a permutation of 0..M-1 in each row, in which entries that are not ranked come last.

    >>> embedding = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> tokens = torch.tensor([[1, 2, 0, 2]])
    >>> cosine_ranks(torch.tensor([0]), tokens, torch.tensor([[True, True, True, False]]), embedding)
    tensor([[2, 1, 0, 3]])
    """
    order = cosine_order(Distinct.of(target_tokens), Distinct.of(memory_tokens), embedding)
    return ranks_among(order, ranked)


def cosine_order(targets: Distinct, memory: Distinct, embedding: Tensor) -> Tensor:
    """Entries of each row from the nearest to the target to the farthest, as `cosine_ranks` orders them.

    The order depends on target and memory alone: positions of one text with the same target share a row.

    Args:
        targets: of ``[n]`` target tokens.
        memory: of ``[n, M]`` memory tokens.
        embedding: ``[V, D]``; no gradient reaches it.

    Returns:
        ``[n, M]`` int64, a permutation of 0..M-1 in each row.
    """
    with torch.no_grad():
        table = _levels(_cosines(targets.tokens, memory.tokens, embedding))  # [U, U'] int32
        rows, entries = memory.place.shape
        levels = table.index_select(0, targets.place).gather(1, memory.place)  # [n, M]
        # One flat stable sort of whole numbers, rows kept apart by an offset, is faster than a sort of each row.
        row = torch.arange(rows, device=levels.device)[:, None]
        keys = levels.to(_key_type(rows * table.shape[1])) + row * table.shape[1]
        return keys.flatten().sort(stable=True).indices.view(rows, entries) - row * entries


def ranks_among(order: Tensor, ranked: Tensor) -> Tensor:
    """Rank of each entry among the ranked ones, ``[n, M]``; those that are not ranked come last.

    Args:
        order: ``[n, M]`` entries from the nearest to the farthest.
        ranked: ``[n, M]`` bool.

    >>> ranks_among(torch.tensor([[2, 0, 1]]), torch.tensor([[True, True, False]]))
    tensor([[0, 1, 2]])
    """
    among = ranked.gather(1, order).cumsum(1) - 1  # in the order of nearness
    rank = torch.empty_like(order).scatter_(1, order, among)
    last = (~ranked).cumsum(1) - 1 + ranked.sum(1, keepdim=True)  # in the order of the memory
    return torch.where(ranked, rank, last)


def ranks_of(order: Tensor) -> Tensor:
    """Rank of each entry, ``[n, M]``, from the entries in the order of their ranks.

    >>> ranks_of(torch.tensor([[2, 0, 1]]))
    tensor([[1, 2, 0]])
    """
    places = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)


def ranked_hinge(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    reduction: Literal["sum", "pair_mean"] = "sum",
    most: int | None = None,
) -> Tensor:
    """HistAlign eq. 5 per position, in O(M log p) time and O(M) memory each.

    Rows without a pair have no loss but cost as much as others: a caller leaves them out from the start (4 of 10 at 512
    tokens of text).

    Args:
        similarity: ``[n, M]`` scaled similarities; only candidates' values are used, others may be infinite.
        ranks: ``[n, M]`` from :func:`cosine_ranks`. Every positive must rank before every negative of its row, which
            those ranks give when the positives are all the candidates that carry the target.
        positive: ``[n, M]`` bool, candidates that carry the target.
        candidates: ``[n, M]`` bool, entries that form pairs; those that are not positive are negatives.
        margin: the lambda of eq. 5, per step of rank.
        reduction: ``sum`` as eq. 5 is written, or ``pair_mean``, which divides by the position's number of pairs.
        most: p, such that every positive has a rank below it; without it the ranks are looked at, and on a GPU that
            waits for it.

    Returns:
        ``[n]``; 0 with a zero gradient for a position without a pair.

    >>> similarity = torch.tensor([[1.0, 3.0, 0.0]])
    >>> ranks, everything = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, True]])
    >>> ranked_hinge(similarity, ranks, ranks == 0, everything, margin=0.5)  # (3 - 1 + .5) + max(0, 0 - 1 + 1)
    tensor([2.5000])
    """
    positive, negative = positive & candidates, candidates & ~positive
    if most is None:
        most = max(_stops(ranks, positive), default=0)
    scores = _with_margin(similarity, ranks, positive, negative, margin)
    coefficients = _hinge_coefficients(scores.detach(), ranks, positive, negative, most)
    losses = (coefficients * scores).sum(1)
    if reduction == "pair_mean":
        pairs = positive.sum(1) * negative.sum(1)
        losses = losses / pairs.clamp(min=1)
    return losses


def released_ranking(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    over_offsets: Literal["mean", "sum"] = "mean",
    stops: Sequence[int] | None = None,
) -> Tensor:
    """The ranking term as the HistAlign authors' code reduces it, which is not eq. 5's sum.

    For every rank distance ("offset") the mean over all pairs of the micro-batch at that distance; then over the
    distances that have a pair the mean (their decoder-only model) or the sum (their encoder-decoder model). The value
    depends on what shares the micro-batch. Without any pair their code fails or gives nan; here it is 0, and distances
    without a pair are left out in both forms.

    Args:
        similarity: ``[n, M]`` scaled similarities of all rows of the micro-batch that carry a label.
        ranks: ``[n, M]`` from :func:`cosine_ranks`. The released code is repeated by ``ranked`` true everywhere, with
            the M entries being every labelled state of the text (T-1 for T input ids) or every source position.
        positive: ``[n, M]`` bool, candidates that carry the target.
        candidates: ``[n, M]`` bool, entries that form pairs; those that are not positive are negatives.
        margin: per step of rank.
        over_offsets: ``mean`` or ``sum``.
        stops: ``[n]`` such that every positive of a row has a rank below it, best falling; without it the ranks are
            looked at, and on a GPU that waits for it.

    Returns:
        Scalar; 0 with a zero gradient when there is no pair.

    >>> similarity = torch.tensor([[1.0, 3.0, 0.0]])
    >>> ranks, everything = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, True]])
    >>> released_ranking(similarity, ranks, ranks == 0, everything, margin=0.5)
    tensor(1.2500)
    """
    positive, negative = positive & candidates, candidates & ~positive
    if stops is None:
        stops = _stops(ranks, positive)
    scores = _with_margin(similarity, ranks, positive, negative, margin)
    by_rank = [torch.empty_like(x).scatter_(1, ranks, x) for x in (scores.detach(), positive, negative)]
    falling = sorted(range(len(stops)), key=lambda row: -stops[row])
    if falling != list(range(len(stops))):
        order = torch.tensor(falling, device=ranks.device)
        by_rank, ranks, scores = [x[order] for x in by_rank], ranks[order], scores[order]
    coefficients = _offset_coefficients(
        by_rank[0], by_rank[1], by_rank[2], over_offsets, [stops[row] for row in falling]
    )
    return (coefficients.gather(1, ranks) * scores).sum()


def _levels(table: Tensor) -> Tensor:
    """For each value of a row the number of distinct larger values, int32: the largest values have level 0."""
    values, order = table.sort(dim=1, descending=True)
    steps = torch.zeros_like(order, dtype=torch.int32)
    steps[:, 1:] = values[:, 1:] < values[:, :-1]
    return torch.empty_like(steps).scatter_(1, order, steps.cumsum(1, dtype=torch.int32))


def _cosines(targets: Tensor, tokens: Tensor, embedding: Tensor) -> Tensor:
    """Cosines between two lists of tokens, ``[U, U']``, with infinity for a token and itself."""
    # fp64, then rounded to fp32: the last bits of a product depend on the table's shape, but ties must not.
    wide = torch.float32 if embedding.device.type == "mps" else torch.float64
    with torch.autocast(device_type=embedding.device.type, enabled=False):
        weight = embedding.detach()
        left, right = (F.normalize(weight.index_select(0, ids).to(wide), dim=1) for ids in (targets, tokens))
        table = (left @ right.mT).float()
    return table.masked_fill_(targets[:, None] == tokens, math.inf)


def _key_type(keys: int) -> torch.dtype:
    """The smallest type that holds so many sort keys."""
    if keys < 2**31:
        return torch.int32
    return torch.int64


def _with_margin(similarity: Tensor, ranks: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """``similarity + margin * rank`` in at least fp32, ``[n, M]``; finite everywhere.

    The similarities are shifted by the best positive's before the margin is added: states with a large common part have
    similarities in the hundreds, beside which rounding would lose a margin of 0.001. The shift cancels in every pair.
    """
    similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))
    similarity = torch.where(positive | negative, similarity, 0.0)  # elsewhere infinities would turn 0 * s into nan
    if not similarity.shape[1]:  # amax refuses M = 0
        return similarity
    best = torch.where(positive, similarity.detach(), -math.inf).amax(1, keepdim=True)
    return (similarity - best.masked_fill(best.isneginf(), 0.0)) + margin * ranks.to(similarity.dtype)


def _hinge_coefficients(scores: Tensor, ranks: Tensor, positive: Tensor, negative: Tensor, most: int) -> Tensor:
    """Derivative of sum over pairs of relu(a_j - a_i) by each score, ``[n, M]``: whole numbers.

    For a negative, how many positives lie strictly below; for a positive, minus how many negatives lie strictly above.
    A positive is found by its rank, which is below `most`.
    """
    slot = ranks.clamp(max=most)  # the last slot is for what is no positive
    heads = scores.new_full((len(scores), most + 1), math.inf)  # [n, p+1] the positives' scores by rank, inf elsewhere
    heads = heads.scatter_(1, slot, torch.where(positive, scores, math.inf))[:, :most]
    heads, order = heads.sort(dim=1)
    below = torch.searchsorted(heads, scores) * negative  # [n, M]
    above = torch.zeros_like(heads, dtype=below.dtype).scatter_(1, order, _count_above(below, negative, most))
    of_positive = F.pad(above, (0, 1)).gather(1, slot)
    return torch.where(positive, -of_positive, below).to(scores.dtype)


def _count_above(below: Tensor, negative: Tensor, width: int) -> Tensor:
    """From each negative's count of lower positives, each sorted positive's count of higher negatives ``[n, width]``.

    The positive at place r is under exactly those negatives that have more than r positives below them.
    """
    histogram = below.new_zeros((len(below), width + 1)).scatter_add_(1, below, negative.to(below.dtype))
    return negative.sum(1, keepdim=True) - histogram.cumsum(1)[:, :width]


def _offset_coefficients(
    scores: Tensor, positive: Tensor, negative: Tensor, over_offsets: str, stops: Sequence[int]
) -> Tensor:
    """Derivative of the released reduction by each score, all ``[n, M]`` with columns in rank order.

    Ranks are visited in stretches 0, 1, 2-3, 4-7, ... and each stretch looks only at the rows that reach into it. In
    rank order a pair's distance is a difference of columns, so whole rows are compared and multiplied by the weights,
    shifted by the rank of the positive.

    Args:
        scores: with their margin.
        positive: entries that carry the target.
        negative: the other candidates.
        over_offsets: ``mean`` or ``sum``.
        stops: of each row the rank behind its last positive; falling.
    """
    most = max(stops, default=0)
    counts = _pairs_per_offset(positive[:, :most], negative)
    weights = (counts > 0) / counts.clamp(min=1).to(scores.dtype)  # [M]
    if over_offsets == "mean":
        weights = weights / (counts > 0).sum().clamp(min=1)
    shifted = F.pad(weights, (most, 0)).unfold(0, len(weights), 1).flip(0)  # row r: the weights, r places to the right
    rivals = torch.where(negative, scores, -math.inf)
    heads = torch.where(positive, scores, math.inf)
    coefficients = torch.zeros_like(scores)
    start = 0
    while start < most:
        stop, rows = min(max(2 * start, 1), most), sum(last > start for last in stops)
        active = rivals[:rows, None] > heads[:rows, start:stop, None]  # [rows, ranks, M]
        pull = active * shifted[start:stop]
        coefficients[:rows] += pull.sum(1)
        coefficients[:rows, start:stop] -= pull.sum(2)
        start = stop
    return coefficients


def _pairs_per_offset(positive: Tensor, negative: Tensor) -> Tensor:
    """How many pairs lie at each rank distance, ``[M]`` int64, from the first ranks ``[n, p]`` and all, ``[n, M]``."""
    p, entries = positive.shape[1], negative.shape[1]
    with torch.autocast(device_type=positive.device.type, enabled=False):
        # Sums of zeros and ones: exact in fp32 below 2**24 rows.
        pairs = (positive.float().mT @ negative.float()).long()  # [p, M] by rank of the negative
    diagonals = F.pad(pairs, (0, p)).as_strided((p, entries), (entries + p + 1, 1))  # row r begins at column r
    return diagonals.sum(0)


def _stops(ranks: Tensor, positive: Tensor) -> list[int]:
    """Of each row the rank behind its last positive; looked up, and on a GPU that waits for it."""
    stops: list[int] = F.pad((ranks + 1) * positive, (0, 1)).amax(1).tolist()
    return stops
