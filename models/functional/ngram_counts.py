"""Counts of tokens and of pairs of tokens as smoothed distributions: the unigram and the bigram.

Add-one smoothing (Laplace); Witten and Bell 1991, method C, interpolated with the unigram.

Shapes: n positions, V tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

IGNORED = -100

BUCKETS = 2**21
"""Places for pairs: 8 MB. A run of 300 steps of 2,048 tokens fills less than a third of them."""
FIRST, SECOND = 2_654_435_761, 40_503
"""Odd multipliers: in a vocabulary of at most `BUCKETS` the pairs that begin with one token have different buckets."""


def unigram_log_probs(counts: Tensor) -> Tensor:
    """Return log-probabilities of tokens by their counts plus one, log (c(w) + 1) / (N + V), [V] -> [V].

    One is added so that no token is impossible; N is the sum of the counts.

    >>> unigram_log_probs(torch.tensor([3, 0, 0])).exp()
    tensor([0.6667, 0.1667, 0.1667])
    """
    smoothed = counts.double() + 1
    return (smoothed / smoothed.sum()).log().float()


def bigram_log_probs(pairs: Tensor, unigram: Tensor, before: Tensor) -> Tensor:
    """Return log-probabilities of the next token; the unigram if there is no token before, or none ever followed it.

        p(w | v) = (c(v, w) + T(v) p(w)) / sum over w of the same         T(v) kinds of tokens that followed v

    Args:
        pairs: [BUCKETS] counts.
        unigram: [V] log-probabilities.
        before: [n] the token before each position, IGNORED where there is none.

    Returns:
        [n, V], each row sums to one.
    """
    tokens = torch.arange(len(unigram), device=before.device)
    counts = pairs[bucket_of(before.clamp(min=0)[:, None], tokens[None, :])]  # [n, V]
    counts = counts.masked_fill(before[:, None] == IGNORED, 0)
    kinds = (counts > 0).sum(1, keepdim=True).clamp(min=1)  # [n, 1]
    smoothed = counts + kinds * unigram.exp()
    return smoothed.log() - smoothed.sum(1, keepdim=True).log()


def bucket_of(before: Tensor, token: Tensor) -> Tensor:
    """Return the place of pairs of tokens in the table of counts; the two shapes are broadcast."""
    return (before * FIRST + token * SECOND) % BUCKETS
