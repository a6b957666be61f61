"""Copying: a softmax over the vocabulary mixed with a distribution over the tokens of the source.

See et al. 2017 section 2.2, eq. 9, over a fixed vocabulary: p(w) = p_gen softmax(z)_w + sum over s with token w of
(1 - p_gen) attention_s. So the distribution of a model that copies sums to one, and its perplexity is defined.

Shapes: n positions, S source tokens, V tokens.
"""

from __future__ import annotations

from torch import Tensor

from bench.models.functional.cache import cache_scores, logaddexp

__all__ = ["copy_log_probs"]


def copy_log_probs(logits: Tensor, copying: Tensor, copy_tokens: Tensor) -> Tensor:
    """Log of the mixture over the whole vocabulary.

    Args:
        logits: `[n, V]` scores of the output head.
        copying: `[n, S+1]` log-weights of copying each source token and, last, of generating; they sum to one.
        copy_tokens: `[n, S]` int64 the source tokens.

    Returns:
        `[n, V]` log-probabilities, in the dtype of the logits.

    >>> import torch
    >>> weights = torch.tensor([[0.25, 0.25, 0.5]]).log()  # copies half of the time, from two places
    >>> copy_log_probs(torch.zeros(1, 2), weights, torch.tensor([[1, 1]])).exp()
    tensor([[0.2500, 0.7500]])
    """
    weights = copying.to(logits.dtype)
    generated = logits.log_softmax(-1) + weights[:, -1:]
    readable = weights[:, :-1] > weights.new_tensor(-1e30)
    copied = cache_scores(weights[:, :-1], copy_tokens, readable, logits.shape[-1])
    return logaddexp(generated, copied.to(generated.dtype))
