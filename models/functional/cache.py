"""Cache language models: eq. 3 of HistAlign.

The head's scores and the similarities to remembered states share one softmax, so that a token of the history can be
copied. HistAlign (Wan et al. 2023) section 3.2, after Grave et al. (2017) and TRIME (Zhong et al. 2022):

    P(w | c_t)  is proportional to  exp(z_w) + sum over entries i labelled w of exp(sim(h_t, h_i))
    sim(a, b) = a . b / sqrt(D)

A position may have no entry to read (the first of a text); it then gets the head's distribution. Everything is at least
fp32, also under autocast: where states share a large common part, bf16 similarities are off by more than the margins
that HistAlign uses.

Shapes: n positions of a slice, P query positions, M memory entries, S source tokens, V tokens, D width.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def scaled_similarity(hidden: Tensor, memory: Tensor) -> Tensor:
    """Dot product over the square root of the width: HistAlign section 3.2, the `sim` of eq. 3 and eq. 5.

    On CUDA, `torch.set_float32_matmul_precision("high")` lowers this product too (TF32); leave it at "highest" for
    training with a ranking term.

    Args:
        hidden: `[..., P, D]` states that ask, any floating dtype.
        memory: `[..., M, D]` states that were remembered.

    Returns:
        `[..., P, M]` in fp32, or fp64 when an input is fp64.

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
        similarity: `[n, M]` scaled similarities.
        memory_tokens: `[n, M]` int64 token of each entry.
        readable: `[n, M]` bool, the entries that the row may read.
        vocabulary_size: V.

    Returns:
        `[n, V]` log-sum-exp of the similarities of each token's entries; -inf for a token the row cannot read.

    >>> tokens, readable = torch.tensor([[2, 0, 2]]), torch.tensor([[True, False, True]])
    >>> cache_scores(torch.tensor([[0.0, 9.0, 0.0]]), tokens, readable, 3)
    tensor([[  -inf,   -inf, 0.6931]])
    """
    similarity = similarity.to(_working_dtype(similarity)).masked_fill(~readable, -math.inf)
    peak, total = _of_tokens(similarity, memory_tokens, readable, vocabulary_size)
    # A total is 0 for unread tokens and at least 1 otherwise; log(0) would send nan back through the zero.
    return total.masked_fill(total == 0, 1.0).log() + peak


def _of_tokens(
    similarity: Tensor, memory_tokens: Tensor, readable: Tensor, vocabulary_size: int
) -> tuple[Tensor, Tensor]:
    """Largest similarity of each token's entries, and the sum of their exponentials relative to it, `[n, V]` each.

    Arguments as for `cache_scores`; similarities that cannot be read are -inf.
    """
    peak = similarity.new_full((similarity.shape[0], vocabulary_size), -math.inf)
    peak.scatter_reduce_(1, memory_tokens, similarity.detach(), "amax")
    # An unreadable entry keeps -inf here; the peak of a token without a readable entry is -inf and must not meet it.
    shifted = similarity - peak.gather(1, memory_tokens).masked_fill(~readable, 0.0)
    return peak, torch.zeros_like(peak).scatter_add_(1, memory_tokens, shifted.exp())


def cache_log_probs(logits: Tensor, similarity: Tensor, memory_tokens: Tensor, readable: Tensor) -> Tensor:
    """Log of HistAlign eq. 3 over the whole vocabulary; each row's probabilities sum to one.

    Args:
        logits: `[n, V]` scores of the output head, normalised or not as eq. 3 is to weigh them.
        similarity: `[n, M]` scaled similarities.
        memory_tokens: `[n, M]` int64 token of each entry.
        readable: `[n, M]` bool, the entries that the row may read.

    Returns:
        `[n, V]` log-probabilities; `log_softmax(logits)` for a row that can read nothing.

    >>> tokens = torch.tensor([[2, 0, 2]])
    >>> cache_log_probs(torch.zeros(1, 3), torch.zeros(1, 3), tokens, tokens > 0).exp()
    tensor([[0.2000, 0.2000, 0.6000]])
    """
    dtype = _working_dtype(logits, similarity)
    logits, similarity = logits.to(dtype), similarity.to(dtype)
    if torch.is_grad_enabled():
        scores = cache_scores(similarity, memory_tokens, readable, logits.shape[-1])
        return logaddexp(logits, scores).log_softmax(-1)
    # The same value, looked at where the memory holds a token: of the vocabulary little changes.
    peak, total = _of_tokens(similarity.masked_fill(~readable, -math.inf), memory_tokens, readable, logits.shape[-1])
    peak, total = peak.gather(1, memory_tokens), total.gather(1, memory_tokens)  # [n, M], equal for equal tokens
    scores = total.masked_fill(total == 0, 1.0).log_().add_(peak)
    joined = torch.logaddexp(logits.gather(1, memory_tokens), scores)
    return logits.scatter(1, memory_tokens, joined).log_softmax(-1)


def copy_log_probs(logits: Tensor, copying: Tensor, copy_tokens: Tensor) -> Tensor:
    """Log of a softmax mixed with a distribution over the tokens of the source, over the whole vocabulary.

    See et al. 2017 section 2.2, eq. 9, over a fixed vocabulary: p(w) = p_gen softmax(z)_w + sum over s with token w of
    (1 - p_gen) attention_s. So the distribution of a model that copies sums to one, and its perplexity is defined.

    Args:
        logits: `[n, V]` scores of the output head.
        copying: `[n, S+1]` log-weights of copying each source token and, last, of generating; they sum to one.
        copy_tokens: `[n, S]` int64 the source tokens.

    Returns:
        `[n, V]` log-probabilities, in the dtype of the logits.

    >>> weights = torch.tensor([[0.25, 0.25, 0.5]]).log()  # copies half of the time, from two places
    >>> copy_log_probs(torch.zeros(1, 2), weights, torch.tensor([[1, 1]])).exp()
    tensor([[0.2500, 0.7500]])
    """
    weights = copying.to(logits.dtype)
    generated = logits.log_softmax(-1) + weights[:, -1:]
    readable = weights[:, :-1] > weights.new_tensor(-1e30)
    copied = cache_scores(weights[:, :-1], copy_tokens, readable, logits.shape[-1])
    return logaddexp(generated, copied.to(generated.dtype))


def cache_log_sums_(similarity: Tensor, readable: Tensor, entries: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """What `cache_nll_of` needs of the cache: log-sum-exp over the entries that are read, and over the positive ones.

    Written by hand, so that the exponentials take the place of the similarities and stay for the backward pass.

    Args:
        similarity: `[n, M]` scaled similarities; they are overwritten.
        readable: `[n, M]` bool, the entries that the row may read.
        entries: `[n, C]` int64 entries that may count for the target, each once.
        positive: `[n, C]` bool, which of `entries` count.

    Returns:
        `[n]` over the readable entries and `[n]` over the positive ones; -inf, with a gradient of zero, where there
        is none.

    >>> entries, readable = torch.tensor([[1, 2]]), torch.tensor([[True, True, False]])
    >>> cache_log_sums_(torch.zeros(1, 3), readable, entries, torch.tensor([[True, False]]))
    (tensor([0.6931]), tensor([0.]))
    """
    log_sums: tuple[Tensor, Tensor] = _CacheLogSums.apply(similarity, readable, entries, positive)
    return log_sums


def cache_nll_of(lse: Tensor, at_target: Tensor, of_readable: Tensor, of_positive: Tensor) -> Tensor:
    """Negative log of HistAlign eq. 3 at the targets, the terms of TRIME's loss, without a scatter to the vocabulary.

    Equals `-cache_log_probs(...)` gathered at the targets; the cache part costs `[n, M]` and not `[n, V]`.

    Args:
        lse: `[n]` log-sum-exp of the logits.
        at_target: `[n]` logit of the target.
        of_readable: `[n]` log-sum-exp over the entries that are read; -inf where there is none.
        of_positive: `[n]` likewise, over those of them that count for the target: all that hold it in eq. 3. The
            released TRIME and HistAlign code compares labels after masking them with -100, so that only entries count
            whose token is a label; with labels on the last token only nothing is left.

    Returns:
        `[n]` negative log-likelihoods in nats.
    """
    dtype = _working_dtype(lse, of_readable)
    head, target = lse.to(dtype), at_target.to(dtype)
    return logaddexp(head, of_readable.to(dtype)) - logaddexp(target, of_positive.to(dtype))


def logaddexp(head: Tensor, cache: Tensor) -> Tensor:
    """`torch.logaddexp`, but with gradient zero and not nan where both are -inf (a head may rule tokens out)."""
    total: Tensor = _LogAddExp.apply(head, cache)
    return total


class _LogAddExp(torch.autograd.Function):
    """`logaddexp`: each term's gradient is its share of the sum."""

    @staticmethod
    def forward(ctx: Any, head: Tensor, cache: Tensor) -> Tensor:
        total = torch.logaddexp(head, cache)
        ctx.save_for_backward(head, cache, total)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        head, cache, total = ctx.saved_tensors
        total = total.masked_fill(total.isneginf(), 0.0)
        return gradient * (head - total).exp_(), gradient * (cache - total).exp_()


LEAST = -80.0
"""Exponent below which an exponential counts as 0: added to the largest, which is 1, it changes no sum.

A CPU takes ten times as long for the exponential of -inf, and a hundred times for one that underflows.
"""


class _CacheLogSums(torch.autograd.Function):
    """`cache_log_sums_`."""

    @staticmethod
    def forward(
        ctx: Any, similarity: Tensor, readable: Tensor, entries: Tensor, positive: Tensor
    ) -> tuple[Tensor, Tensor]:
        at_entries = similarity.gather(1, entries)  # [n, C]
        of_readable, total = _exponentiate(similarity.detach().masked_fill_(~readable, -math.inf))
        of_positive, total_positive = _exponentiate(at_entries.masked_fill_(~positive, -math.inf))
        ctx.save_for_backward(entries, similarity.detach(), total, at_entries, total_positive)
        return of_readable, of_positive

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_readable: Tensor, of_positive: Tensor) -> tuple[Tensor | None, ...]:
        entries, terms, total, positive_terms, total_positive = ctx.saved_tensors
        gradient = terms * (of_readable / total)[:, None]
        gradient.scatter_add_(1, entries, positive_terms * (of_positive / total_positive)[:, None])
        return gradient, None, None, None


def _exponentiate(values: Tensor) -> tuple[Tensor, Tensor]:
    """Turn values into terms of a softmax in place.

    Args:
        values: `[n, M]`, -inf for what does not count.

    Returns:
        `[n]` log-sum-exp, -inf for a row in which nothing counts, and `[n]` what the terms are to be divided by.
    """
    peak = values.new_full(values.shape[:1], -math.inf)
    if values.shape[1]:  # amax refuses M = 0
        peak = values.amax(1)
    values.sub_(peak.masked_fill(peak.isneginf(), 0.0)[:, None])
    torch.threshold_(values.clamp_(min=LEAST).exp_(), 2 * math.exp(LEAST), 0.0)
    total = values.sum(1)  # at least 1, or 0 where nothing counts
    return total.log().add_(peak), total.clamp_(min=1)


def _working_dtype(*tensors: Tensor) -> torch.dtype:
    """The widest dtype among the tensors, and at least fp32."""
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
