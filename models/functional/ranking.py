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

Shapes: n positions (rows), M memory entries, V tokens, D width, U distinct tokens, k rows with a pair, p the most
positives of a row.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["cosine_ranks", "ranked_hinge", "released_ranking"]

_ROWS = 512
"""Positions ranked at a time: bounds the table of cosines, and keeps its keys in int32 up to 4 million tokens."""


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
    slices = [slice(start, start + _ROWS) for start in range(0, max(len(target_tokens), 1), _ROWS)]
    with torch.no_grad():
        return torch.cat([_ranks(target_tokens[s], memory_tokens[s], ranked[s], embedding) for s in slices])


def ranked_hinge(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    reduction: Literal["sum", "pair_mean"] = "sum",
) -> Tensor:
    """HistAlign eq. 5 per position, in O(M log p) time and O(M) memory each.

    Rows without a pair cost next to nothing here, but a caller saves their similarities and ranks too by leaving out
    rows without a positive from the start (4 of 10 at 512 tokens of text).

    Args:
        similarity: ``[n, M]`` scaled similarities; only candidates' values are used, others may be infinite.
        ranks: ``[n, M]`` from :func:`cosine_ranks`. Every positive must rank before every negative of its row, which
            those ranks give when the positives are all the candidates that carry the target.
        positive: ``[n, M]`` bool, candidates that carry the target.
        candidates: ``[n, M]`` bool, entries that form pairs; those that are not positive are negatives.
        margin: the lambda of eq. 5, per step of rank.
        reduction: ``sum`` as eq. 5 is written, or ``pair_mean``, which divides by the position's number of pairs.

    Returns:
        ``[n]``; 0 with a zero gradient for a position without a pair.

    >>> similarity = torch.tensor([[1.0, 3.0, 0.0]])
    >>> ranks, everything = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, True]])
    >>> ranked_hinge(similarity, ranks, ranks == 0, everything, margin=0.5)  # (3 - 1 + .5) + max(0, 0 - 1 + 1)
    tensor([2.5000])
    """
    positive, negative = positive & candidates, candidates & ~positive
    rows, scores, positive, negative = _rows_with_pairs(similarity, ranks, positive, negative, margin)
    losses = (_hinge_coefficients(scores.detach(), positive, negative) * scores).sum(1)
    if reduction == "pair_mean":
        losses = losses / (positive.sum(1) * negative.sum(1))
    return losses.new_zeros(similarity.shape[0]).index_copy(0, rows, losses)


def released_ranking(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    over_offsets: Literal["mean", "sum"] = "mean",
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

    Returns:
        Scalar; 0 with a zero gradient when there is no pair.

    >>> similarity = torch.tensor([[1.0, 3.0, 0.0]])
    >>> ranks, everything = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, True]])
    >>> released_ranking(similarity, ranks, ranks == 0, everything, margin=0.5)
    tensor(1.2500)
    """
    positive, negative = positive & candidates, candidates & ~positive
    rows, scores, positive, negative = _rows_with_pairs(similarity, ranks, positive, negative, margin)
    places = ranks.index_select(0, rows)
    by_rank = [torch.empty_like(x).scatter_(1, places, x) for x in (scores.detach(), positive, negative)]
    coefficients = _offset_coefficients(by_rank[0], by_rank[1], by_rank[2], over_offsets)
    return (coefficients.gather(1, places) * scores).sum()


def _ranks(target_tokens: Tensor, memory_tokens: Tensor, ranked: Tensor, embedding: Tensor) -> Tensor:
    """:func:`cosine_ranks` of a few rows, ``[n, M]``."""
    table, target_index, memory_index = _cosine_table(target_tokens, memory_tokens, embedding)
    (n, entries), last = memory_tokens.shape, table.shape[1]
    levels = _levels(table).index_select(0, target_index).gather(1, memory_index)
    # One flat stable sort of whole numbers, rows kept apart by an offset, is faster than sorting cosines row by row.
    row_start = torch.arange(n, dtype=torch.int32, device=levels.device)[:, None] * (last + 1)
    keys = torch.where(ranked, levels, last) + row_start
    order = keys.flatten().sort(stable=True).indices
    places = torch.arange(entries, device=order.device).repeat(n)
    return torch.empty_like(order).scatter_(0, order, places).view(n, entries)


def _levels(table: Tensor) -> Tensor:
    """For each value of a row the number of distinct larger values, int32: the largest values have level 0."""
    values, order = table.sort(dim=1, descending=True)
    steps = torch.zeros_like(order, dtype=torch.int32)
    steps[:, 1:] = values[:, 1:] < values[:, :-1]
    return torch.empty_like(steps).scatter_(1, order, steps.cumsum(1, dtype=torch.int32))


def _cosine_table(target_tokens: Tensor, memory_tokens: Tensor, embedding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Cosines between distinct tokens, with infinity for a token and itself.

    Returns:
        ``[U, U']`` cosines between distinct targets and distinct tokens of the memory; ``[n]`` each target's row of
        it; ``[n, M]`` each entry's column.
    """
    targets, target_index = _distinct(target_tokens, embedding.shape[0])
    shared = memory_tokens.shape[0] > 0 and memory_tokens.stride(0) == 0  # rows of one text are views of one memory
    if shared:
        tokens, memory_index = _distinct(memory_tokens[:1], embedding.shape[0])
    else:
        tokens, memory_index = _distinct(memory_tokens, embedding.shape[0])
    memory_index = memory_index.expand_as(memory_tokens)
    # fp64, then rounded to fp32: the last bits of a product depend on the table's shape, but ties must not.
    wide = torch.float32 if embedding.device.type == "mps" else torch.float64
    with torch.autocast(device_type=embedding.device.type, enabled=False):
        left, right = (F.normalize(embedding.detach()[ids].to(wide), dim=1) for ids in (targets, tokens))
        table = (left @ right.mT).float()
    same = targets[:, None] == tokens
    return table.masked_fill_(same, math.inf), target_index, memory_index


def _distinct(tokens: Tensor, vocabulary_size: int) -> tuple[Tensor, Tensor]:
    """The distinct tokens ``[U]`` in ascending order, and each token's place among them (shape of ``tokens``)."""
    occurs = torch.zeros(vocabulary_size, dtype=torch.bool, device=tokens.device)
    occurs.index_fill_(0, tokens.flatten(), True)
    return occurs.nonzero().squeeze(1), (occurs.cumsum(0) - 1)[tokens]


def _rows_with_pairs(
    similarity: Tensor, ranks: Tensor, positive: Tensor, negative: Tensor, margin: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keep the rows that have a pair: their numbers ``[k]``, ``similarity + margin * rank`` and both masks ``[k, M]``.

    The similarities are shifted by the best positive's before the margin is added: states with a large common part have
    similarities in the hundreds, beside which rounding would lose a margin of 0.001. The shift cancels in every pair.
    """
    rows = (positive.any(1) & negative.any(1)).nonzero().squeeze(1)
    similarity, ranks, positive, negative = (x.index_select(0, rows) for x in (similarity, ranks, positive, negative))
    similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))
    similarity = torch.where(positive | negative, similarity, 0.0)  # elsewhere infinities would turn 0 * s into nan
    known = torch.where(positive, similarity.detach(), -math.inf)
    best = F.pad(known, (0, 1), value=-math.inf).amax(1, keepdim=True)  # padded, since amax refuses M = 0
    return rows, (similarity - best) + margin * ranks.to(similarity.dtype), positive, negative


def _hinge_coefficients(scores: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Derivative of sum over pairs of relu(a_j - a_i) by each score, ``[k, M]``: whole numbers.

    For a negative, how many positives lie strictly below; for a positive, minus how many negatives lie strictly above.
    """
    if not positive.shape[0]:
        return torch.zeros_like(scores)
    row, column = positive.nonzero(as_tuple=True)
    per_row = positive.sum(1)
    slot = torch.arange(len(row), device=row.device) - (per_row.cumsum(0) - per_row)[row]
    heads = scores.new_full((len(per_row), int(per_row.max())), math.inf)  # [k, p] the positives' scores, inf-padded
    heads[row, slot] = scores[row, column]
    heads, order = heads.sort(dim=1)
    below = torch.searchsorted(heads, scores) * negative
    above = torch.empty_like(order).scatter_(1, order, _count_above(below, heads.shape[1]))
    coefficients = below.to(scores.dtype)
    coefficients[row, column] = -above[row, slot].to(scores.dtype)
    return coefficients


def _count_above(below: Tensor, width: int) -> Tensor:
    """From each negative's count of lower positives, each sorted positive's count of higher negatives ``[k, width]``.

    The positive at place r is under exactly those negatives that have more than r positives below them.
    """
    k = below.shape[0]
    cells = below + torch.arange(k, device=below.device)[:, None] * (width + 1)
    histogram = torch.bincount(cells.flatten(), minlength=k * (width + 1)).view(k, width + 1)
    return histogram.flip(1).cumsum(1).flip(1)[:, 1:]


def _offset_coefficients(scores: Tensor, positive: Tensor, negative: Tensor, over_offsets: str) -> Tensor:
    """Derivative of the released reduction by each score, all ``[k, M]`` with columns in rank order.

    Only ranks at which a row has a positive are visited, and only those rows. In rank order a pair's distance is a
    difference of columns, so each visit compares whole rows and multiplies them by the weights, shifted by the rank.
    """
    heads = positive.any(0).nonzero().flatten().tolist()
    counts = _pairs_per_offset(heads, positive, negative)
    weights = (counts > 0) / counts.clamp(min=1).to(scores.dtype)
    if over_offsets == "mean":
        weights = weights / (counts > 0).sum().clamp(min=1)
    shifted = F.pad(weights, (len(weights), 0))  # 0 for what ranks before the positive
    rivals = torch.where(negative, scores, -math.inf)
    coefficients = torch.zeros_like(scores)
    for rank in heads:
        rows = positive[:, rank].nonzero().squeeze(1)
        active = rivals.index_select(0, rows) > scores[rows, rank, None]
        pull = active * shifted[len(weights) - rank : 2 * len(weights) - rank]
        coefficients.index_add_(0, rows, pull)
        coefficients[rows, rank] -= pull.sum(1)
    return coefficients


def _pairs_per_offset(heads: list[int], positive: Tensor, negative: Tensor) -> Tensor:
    """How many pairs lie at each rank distance, ``[M]`` int64; ``heads`` are the ranks that hold a positive."""
    with torch.autocast(device_type=positive.device.type, enabled=False):
        # Sums of zeros and ones: exact in fp32 below 2**24 rows.
        pairs = (positive[:, heads].float().mT @ negative.float()).long()  # [heads, M] by rank of the negative
    counts = pairs.new_zeros(pairs.shape[1])
    for rank, row in zip(heads, pairs, strict=True):
        counts[: len(counts) - rank] += row[rank:]
    return counts
