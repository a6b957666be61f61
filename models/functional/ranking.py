"""HistAlign's ranking term: order-informed contrastive loss (eq. 5).

Each target ranks the memory entries by how near their tokens' embeddings are to its own. Entries that carry the target
itself (positives) should be more similar than every other entry (negatives), by a margin that grows with the distance
in rank (eq. 5):

    l_t = sum over positives i, negatives j ranked after i of relu(s_tj - s_ti + (rank_j - rank_i) * margin)

HistAlign (Wan et al. 2023) sections 4.2 and 4.3. Near is a large cosine between the embeddings of two tokens.

How it is computed, 45 to 79 times faster than by the authors' loop at 512 tokens. With a = s + margin * rank a pair
costs relu(a_j - a_i). So every reduction here is sum_k c_k a_k with coefficients c that are constants for autograd:
numbers of pairs for the paper's sum, a weight for each rank distance for the released code's. That takes a few [n, M]
tensors, where a loop over the distances would keep M of them for the backward pass. Most tokens stand in a memory a few
times, so the few positives of a row are compared with all of its entries, and only the rows that have so many positives
with each further one.

Shapes: n positions (rows), M memory entries, C most entries that hold a target, V tokens, D width, U distinct tokens.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


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


def ranked_hinge(
    similarity: Tensor,
    ranks: Tensor,
    entries: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    reduction: Literal["sum", "pair_mean"] = "sum",
    stops: Sequence[int] | None = None,
) -> Tensor:
    """HistAlign eq. 5 per position, in O(M) memory and O(M) time for each of its positives.

    Rows without a pair have no loss but cost as much as others: a caller leaves them out from the start (6 of 10 at 512
    tokens of text).

    Args:
        similarity: `[n, M]` scaled similarities; only candidates' values are used, others may be infinite.
        ranks: `[n, M]` whole numbers, from `ranks_of` or `ranks_among`. Every positive must rank before every negative
            of its row, which those ranks give when the positives are all the candidates that carry the target.
        entries: `[n, C]` int64 entries that may carry the target.
        positive: `[n, C]` bool, which of `entries` do, each once; only candidates count.
        candidates: `[n, M]` bool, entries that form pairs; those that are not positive are negatives.
        margin: the lambda of eq. 5, per step of rank.
        reduction: `sum` as eq. 5 is written, or `pair_mean`, which divides by the position's number of pairs and is
            not published.
        stops: `[n]`, falling, such that every positive of a row is among so many first columns of `entries`;
            without it all columns are looked at in all rows.

    Returns:
        `[n]`; 0 with a zero gradient for a position without a pair.

    >>> similarity, ranks = torch.tensor([[1.0, 3.0, 0.0]]), torch.tensor([[0, 1, 2]])
    >>> everything, first, one = torch.ones(1, 3).bool(), torch.tensor([[0]]), torch.tensor([[True]])
    >>> ranked_hinge(similarity, ranks, first, one, everything, margin=0.5)  # (3 - 1 + .5) + max(0, 0 - 1 + 1)
    tensor([2.5000])
    """
    similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))
    positive = positive & candidates.gather(1, entries)
    if stops is None:
        stops = [entries.shape[1]] * len(entries)
    losses: Tensor = _PairSum.apply(similarity, ranks, entries, positive, candidates, margin, stops)
    if reduction == "pair_mean":
        n_positive = positive.sum(1)
        losses = losses / (n_positive * (candidates.sum(1) - n_positive)).clamp_(min=1)
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
        similarity: `[n, M]` scaled similarities of all rows of the micro-batch that carry a label.
        ranks: `[n, M]`, a permutation in each row. The released code's are those of `ranks_of`, with the M entries
            being every labelled state of the text (T-1 for T input ids) or every source position.
        positive: `[n, M]` bool, candidates that carry the target.
        candidates, margin: as of `ranked_hinge`.
        over_offsets: `mean` or `sum`.
        stops: `[n]`, falling, such that every positive of a row has a rank below it; without it all are looked at.

    Returns:
        Scalar; 0 with a zero gradient when there is no pair.

    >>> similarity = torch.tensor([[1.0, 3.0, 0.0]])
    >>> ranks, everything = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, True]])
    >>> released_ranking(similarity, ranks, ranks == 0, everything, margin=0.5)
    tensor(1.2500)
    """
    positive, negative = positive & candidates, candidates & ~positive
    if stops is None:
        stops = [ranks.shape[1]] * len(ranks)
    scores = _with_margin(similarity, ranks, positive, negative, margin)
    by_rank = [torch.empty_like(x).scatter_(1, ranks, x) for x in (scores.detach(), positive, negative)]
    coefficients = _offset_coefficients(by_rank[0], by_rank[1], by_rank[2], over_offsets, stops)
    return (coefficients.gather(1, ranks) * scores).sum()


def _with_margin(similarity: Tensor, ranks: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """`similarity + margin * rank` in at least fp32, `[n, M]`; finite everywhere.

    The similarities are shifted by the best positive's before the margin is added: states with a large common part have
    similarities in the hundreds, where rounding would lose a margin of 0.001. The shift cancels in every pair.
    """
    similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))
    similarity = torch.where(positive | negative, similarity, 0.0)  # elsewhere infinities would turn 0 * s into nan
    return (similarity - _best(similarity.detach(), positive)) + margin * ranks.to(similarity.dtype)


class _PairSum(torch.autograd.Function):
    """Sum over the pairs of each row of relu(a_j - a_i), `[n]`; arguments as for `ranked_hinge`.

    The derivative by a negative's score is the number of positives below it, that by a positive's is minus the number
    of negatives above it. These coefficients are all that is kept for the backward pass.
    """

    @staticmethod
    def forward(
        ctx: Any,
        similarity: Tensor,
        ranks: Tensor,
        entries: Tensor,
        positive: Tensor,
        candidates: Tensor,
        margin: float,
        stops: Sequence[int],
    ) -> Tensor:
        least, largest = torch.finfo(similarity.dtype).min, torch.finfo(similarity.dtype).max  # 0 times them is 0
        scores = (similarity - _best(similarity.gather(1, entries), positive)).add_(ranks, alpha=margin)
        heads = scores.gather(1, entries).masked_fill_(~positive, largest)  # [n, C] scores of positives
        rivals = scores.masked_fill_(~candidates, least)  # [n, M] scores of negatives
        rivals.scatter_add_(1, entries, torch.zeros_like(heads).masked_fill_(positive, least))
        below, above = torch.zeros_like(rivals), torch.zeros_like(heads)  # numbers of pairs
        for start, stop, rows in _stretches(stops):
            pairs = rivals.new_empty((rows, stop - start, rivals.shape[1]))  # 1 or 0: summed faster than bool
            torch.gt(rivals[:rows, None], heads[:rows, start:stop, None], out=pairs)
            below[:rows] += pairs.sum(1)
            above[:rows, start:stop] = pairs.sum(2)
        losses = (below * rivals).sum(1) - (above * heads).sum(1)
        ctx.save_for_backward(below.scatter_add_(1, entries, above.neg_()))
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (coefficients,) = ctx.saved_tensors
        return coefficients * gradient[:, None], None, None, None, None, None, None


def _best(similarity: Tensor, positive: Tensor) -> Tensor:
    """The largest similarity of a positive in each row, `[n, 1]`; 0 where there is none."""
    best = F.pad(similarity.masked_fill(~positive, -math.inf), (0, 1), value=-math.inf).amax(1, keepdim=True)
    return best.masked_fill_(best.isneginf(), 0.0)


def _stretches(stops: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield stretches of columns, 0, 1, 2-3, 4-7, ..., as start and stop, and how many rows reach into each.

    So rows that end early cost little. Where many rows reach far, stretches are narrower: what is made of a stretch for
    each of its rows and columns is never more than twice of what is made for each row.

    Args:
        stops: of each row how many columns it has; falling.
    """
    columns = np.asarray(stops)
    start, most = 0, int(columns.max(initial=0))
    while start < most:
        rows = int(np.count_nonzero(columns > start))
        width = min(max(start, 1), max(2 * len(stops) // rows, 1))
        yield start, min(start + width, most), rows
        start = min(start + width, most)


def _offset_coefficients(
    scores: Tensor, positive: Tensor, negative: Tensor, over_offsets: str, stops: Sequence[int]
) -> Tensor:
    """Derivative of the released reduction by each score, all `[n, M]` with columns in rank order.

    In rank order a pair's distance is a difference of columns, so whole rows are compared and multiplied by the
    weights, shifted by the rank of the positive.

    Args:
        scores: with their margin.
        positive: entries that carry the target.
        negative: the other candidates.
        over_offsets: `mean` or `sum`.
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
    for start, stop, rows in _stretches(stops):
        active = rivals[:rows, None] > heads[:rows, start:stop, None]  # [rows, ranks, M]
        pull = active * shifted[start:stop]
        coefficients[:rows] += pull.sum(1)
        coefficients[:rows, start:stop] -= pull.sum(2)
    return coefficients


def _pairs_per_offset(positive: Tensor, negative: Tensor) -> Tensor:
    """How many pairs lie at each rank distance, `[M]` int64, from the first ranks `[n, p]` and all, `[n, M]`."""
    p, entries = positive.shape[1], negative.shape[1]
    with torch.autocast(device_type=positive.device.type, enabled=False):
        # Sums of zeros and ones: exact in fp32 below 2**24 rows.
        pairs = (positive.float().mT @ negative.float()).long()  # [p, M] by rank of the negative
    diagonals = F.pad(pairs, (0, p)).as_strided((p, entries), (entries + p + 1, 1))  # row r begins at column r
    return diagonals.sum(0)
