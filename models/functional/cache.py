"""Cache language models: eq. 3 of HistAlign.

The head's scores and the similarities to remembered states share one softmax, so that a token of the history can be
copied. HistAlign (Wan et al. 2023) section 3.2, after Grave et al. (2017) and TRIME (Zhong et al. 2022):

    P(w | c_t)  is proportional to  exp(z_w) + sum over entries i labelled w of exp(sim(h_t, h_i))
    sim(a, b) = a . b / sqrt(D)

A position may have no entry to read (the first of a text); it then gets the head's distribution. Everything is at least
fp32, also under autocast: where states share a large common part, bf16 similarities are off by more than the margins
that HistAlign uses.

Shapes: n positions of a slice, P query positions, M memory entries, V tokens, D width.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

__all__ = [
    "cache_log_probs",
    "cache_nll",
    "cache_nll_of",
    "cache_scores",
    "logaddexp",
    "masked_log_sum",
    "scaled_similarity",
]


def scaled_similarity(hidden: Tensor, memory: Tensor) -> Tensor:
    """Dot product over the square root of the width: HistAlign section 3.2, the ``sim`` of eq. 3 and eq. 5.

    On CUDA, ``torch.set_float32_matmul_precision("high")`` lowers this product too (TF32); leave it at "highest" for
    training with a ranking term.

    Args:
        hidden: ``[..., P, D]`` states that ask, any floating dtype.
        memory: ``[..., M, D]`` states that were remembered.

    Returns:
        ``[..., P, M]`` in fp32, or fp64 when an input is fp64.

    >>> scaled_similarity(torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[3.0, 1.0, 0.0, 0.0]]))
    tensor([[3.]])
    """
    dtype = _working_dtype(hidden, memory)
    with torch.autocast(device_type=hidden.device.type, enabled=False):
        queries = hidden.to(dtype) / math.sqrt(hidden.shape[-1])
        return queries @ memory.to(dtype).mT


def cache_scores(similarity: Tensor, memory_tokens: Tensor, readable: Tensor, vocabulary_size: int) -> Tensor:
    """Unnormalised log scores of the cache alone: the second term of HistAlign eq. 3, as a logarithm.

    Each token's own maximum is subtracted before the exponential. So a remembered token never falls to -inf because
    the entry of another token is far more similar.

    Args:
        similarity: ``[n, M]`` scaled similarities.
        memory_tokens: ``[n, M]`` int64 token of each entry.
        readable: ``[n, M]`` bool, the entries that the row may read.
        vocabulary_size: V.

    Returns:
        ``[n, V]`` log-sum-exp of the similarities of each token's entries; -inf for a token the row cannot read.

    >>> tokens, readable = torch.tensor([[2, 0, 2]]), torch.tensor([[True, False, True]])
    >>> cache_scores(torch.tensor([[0.0, 9.0, 0.0]]), tokens, readable, 3)
    tensor([[  -inf,   -inf, 0.6931]])
    """
    similarity = similarity.to(_working_dtype(similarity)).masked_fill(~readable, -math.inf)
    peak = similarity.new_full((similarity.shape[0], vocabulary_size), -math.inf)  # [n, V] each token's maximum
    peak.scatter_reduce_(1, memory_tokens, similarity.detach(), "amax")
    # An unreadable entry keeps -inf here; the peak of a token without a readable entry is -inf and must not meet it.
    shifted = similarity - peak.gather(1, memory_tokens).masked_fill(~readable, 0.0)
    total = torch.zeros_like(peak).scatter_add_(1, memory_tokens, shifted.exp())
    # A total is 0 for unread tokens and at least 1 otherwise; log(0) would send nan back through the zero.
    return total.masked_fill(total == 0, 1.0).log() + peak


def cache_log_probs(logits: Tensor, similarity: Tensor, memory_tokens: Tensor, readable: Tensor) -> Tensor:
    """Log of HistAlign eq. 3 over the whole vocabulary; each row's probabilities sum to one.

    Args:
        logits: ``[n, V]`` scores of the output head, normalised or not as eq. 3 is to weigh them.
        similarity: ``[n, M]`` scaled similarities.
        memory_tokens: ``[n, M]`` int64 token of each entry.
        readable: ``[n, M]`` bool, the entries that the row may read.

    Returns:
        ``[n, V]`` log-probabilities; ``log_softmax(logits)`` for a row that can read nothing.

    >>> tokens = torch.tensor([[2, 0, 2]])
    >>> cache_log_probs(torch.zeros(1, 3), torch.zeros(1, 3), tokens, tokens > 0).exp()
    tensor([[0.2000, 0.2000, 0.6000]])
    """
    dtype = _working_dtype(logits, similarity)
    scores = cache_scores(similarity.to(dtype), memory_tokens, readable, logits.shape[-1])
    return logaddexp(logits.to(dtype), scores).log_softmax(-1)


def cache_nll(
    logits: Tensor,
    targets: Tensor,
    similarity: Tensor,
    memory_tokens: Tensor,
    readable: Tensor,
    comparable: Tensor | None = None,
) -> Tensor:
    """Negative log of HistAlign eq. 3 at the targets, the terms of TRIME's loss, without a scatter to the vocabulary.

    Equals ``-cache_log_probs(...)`` gathered at the targets; the cache part costs ``[n, M]`` and not ``[n, V]``.

    Args:
        logits: ``[n, V]`` scores of the output head.
        targets: ``[n]`` int64, each in [0, V): the caller leaves out positions that carry no loss.
        similarity: ``[n, M]`` scaled similarities.
        memory_tokens: ``[n, M]`` int64 token of each entry.
        readable: ``[n, M]`` bool, the entries that the row may read.
        comparable: ``[n, M]`` bool, the entries that may count for the target; the others only enter the normaliser.
            None is eq. 3. The released TRIME and HistAlign code compares labels after masking them with -100, which
            is ``comparable`` = "the entry's token is a label"; with labels on the last token only nothing is left.

    Returns:
        ``[n]`` negative log-likelihoods in nats.

    >>> zeros, tokens = torch.zeros(1, 3), torch.tensor([[2, 0, 2]])
    >>> cache_nll(zeros, torch.tensor([2]), zeros, tokens, tokens > 0).neg().exp()
    tensor([0.6000])
    """
    logits = logits.to(_working_dtype(logits, similarity))
    at_target = logits.gather(1, targets[:, None]).squeeze(1)
    positive = readable & (memory_tokens == targets[:, None])
    if comparable is not None:
        positive = positive & comparable
    similarity = similarity.to(logits.dtype)
    of_cache = masked_log_sum(similarity, readable), masked_log_sum(similarity, positive)
    return cache_nll_of(logits.logsumexp(1), at_target, *of_cache)


def masked_log_sum(values: Tensor, mask: Tensor, known: Tensor | None = None) -> Tensor:
    """Log-sum-exp of each row's masked-in values, with a gradient of zero for a row that has none.

    Args:
        values: ``[n, M]``.
        mask: ``[n, M]`` bool.
        known: what this function gave for the same arguments, when only gradients are wanted.

    Returns:
        ``[n]``; -inf for a row that has none.

    >>> masked_log_sum(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]]))
    tensor([0.6931,   -inf])
    """
    log_sums: Tensor = _MaskedLogSum.apply(values, mask, known)
    return log_sums


def cache_nll_of(lse: Tensor, at_target: Tensor, of_readable: Tensor, of_positive: Tensor) -> Tensor:
    """`cache_nll` from the two numbers of the head and the two of the cache that it depends on.

    Args:
        lse: ``[n]`` log-sum-exp of the logits.
        at_target: ``[n]`` logit of the target.
        of_readable: ``[n]`` log-sum-exp over the entries that are read; -inf where there is none.
        of_positive: ``[n]`` likewise, over those of them that count for the target.

    Returns:
        ``[n]`` negative log-likelihoods in nats.
    """
    dtype = _working_dtype(lse, of_readable)
    head, target = lse.to(dtype), at_target.to(dtype)
    return logaddexp(head, of_readable.to(dtype)) - logaddexp(target, of_positive.to(dtype))


def logaddexp(head: Tensor, cache: Tensor) -> Tensor:
    """``torch.logaddexp``, but with gradient zero and not nan where both are -inf (a head may rule tokens out)."""
    unread = cache.isneginf()
    return torch.where(unread, head, torch.logaddexp(head, cache.masked_fill(unread, 0.0)))


LEAST = -80.0
"""Exponent below which an exponential counts as 0: beside the largest, which is 1, it changes no sum.

A CPU takes ten times as long for the exponential of -inf, and a hundred times for one that underflows.
"""


class _MaskedLogSum(torch.autograd.Function):
    """`masked_log_sum`, which keeps the exponentials for the backward pass."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Tensor, known: Tensor | None) -> Tensor:
        filled = torch.where(mask, values, -math.inf)
        log_sums = known
        if known is None:
            log_sums = values.new_full(values.shape[:1], -math.inf)
            if values.shape[1]:
                log_sums = filled.amax(1)
        shift = log_sums.masked_fill(log_sums.isneginf(), 0.0)[:, None]
        shares = F.threshold_(filled.sub_(shift).clamp_(min=LEAST).exp_(), 2 * math.exp(LEAST), 0.0)
        total = torch.ones_like(log_sums)
        if known is None:
            total = shares.sum(1)  # at least 1, or 0 for a row that has no value
            log_sums = log_sums + total.log()
        ctx.save_for_backward(shares, total)
        return log_sums.clone() if known is not None else log_sums

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        shares, total = ctx.saved_tensors
        return shares * (gradient / total.clamp(min=1))[:, None], None, None


def _working_dtype(*tensors: Tensor) -> torch.dtype:
    """The widest dtype among the tensors, and at least fp32."""
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
