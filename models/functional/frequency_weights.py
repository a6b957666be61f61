"""Frequency weights: the mathematics of FACE, loss weights from how often tokens have been counted.

Jiang et al. 2019, "Improving Neural Response Diversity with Frequency-Aware Cross-Entropy Loss". Frequencies are counts
since training began; nothing decays.

Shapes: V tokens, B rows, T positions, n positions of a slice.
"""

from collections.abc import Collection

import torch
from torch import Tensor

IGNORED = -100


def frequency_weights(frequency: Tensor) -> Tensor:
    """Weight of each token as a target, chosen before the prediction is seen ("pre"): FACE-OPR and FACE-GPR.

        RF_i = freq_i / sum_j freq_j        w_i = 1 - RF_i / max_j RF_j        then scaled to a mean of 1 over V

    The most frequent token weighs exactly 0; tokens that were never counted weigh most. Where the rule gives 0/0,
    because nothing is counted yet or all tokens are equally frequent, every weight is 1.

    Args:
        frequency: `[V]` counts, any dtype.

    Returns:
        `[V]` float64.

    >>> frequency_weights(torch.tensor([4, 2, 0, 0])).tolist()
    [0.0, 0.8, 1.6, 1.6]
    >>> frequency_weights(torch.tensor([0, 0])).tolist()
    [1.0, 1.0]
    """
    frequency = frequency.double()
    weights = 1.0 - frequency / frequency.max().clamp_min(1)
    mean = weights.mean()
    return torch.where(mean > 0, weights / mean, 1.0)


def overuse_weights(frequency: Tensor, predicted: Tensor, targets: Tensor) -> Tensor:
    """Weight of each position, chosen after the prediction is seen ("post"): FACE-OPO and FACE-GPO.

        w = 1 + max(0, freq(predicted) - freq(target)) / sum_j freq_j

    Only a prediction that is more frequent than the target costs more; 1 everywhere while nothing is counted.

    Args:
        frequency: `[V]` counts, any dtype.
        predicted: `[n]` most probable tokens.
        targets: `[n]`.

    Returns:
        `[n]` float64, at least 1.

    >>> overuse_weights(torch.tensor([6, 2, 0]), torch.tensor([0, 1, 1]), torch.tensor([1, 1, 0])).tolist()
    [1.5, 1.0, 1.0]
    """
    frequency = frequency.double()
    excess = (frequency[predicted] - frequency[targets]).clamp_min(0)
    return 1.0 + excess / frequency.sum().clamp_min(1)


def counted(tokens: Tensor, size: int, leave_out: Collection[int] = ()) -> Tensor:
    """Count how often each token occurs.

    Args:
        tokens: any shape, IGNORED where there is none.
        size: V.
        leave_out: tokens that are not counted.

    Returns:
        `[V]` int64.

    >>> counted(torch.tensor([[3, 1, -100], [3, 2, 3]]), 4, [2]).tolist()
    [0, 1, 0, 3]
    """
    flat = tokens.flatten()
    real = (flat != IGNORED).long()
    counts = flat.new_zeros(size).index_add_(0, flat.clamp_min(0), real)
    for token in leave_out:
        counts[token] = 0
    return counts


def until_end(tokens: Tensor, ends: Collection[int], starts: Collection[int] = ()) -> Tensor:
    """Cut each row before its first end token and behind a leading start token, as the released code counts.

    Args:
        tokens: `[B, T]` in time order, IGNORED where there is none.
        ends: end tokens.
        starts: start tokens.

    Returns:
        `[B, T]`, IGNORED in place of what was cut.

    >>> until_end(torch.tensor([[1, 5, 2, 6], [-100, 1, 1, 7], [5, 1, 6, 7]]), ends=[2], starts=[1]).tolist()
    [[-100, 5, -100, -100], [-100, -100, 1, 7], [5, 1, 6, 7]]
    """
    real = tokens != IGNORED
    ended = _is_in(tokens, ends).cumsum(1) > 0
    leading = real & (real.cumsum(1) == 1) & _is_in(tokens, starts)
    return tokens.masked_fill(ended | leading, IGNORED)


def _is_in(tokens: Tensor, ids: Collection[int]) -> Tensor:
    """Which tokens are one of a few ids; a tensor made of these would have to be copied to the device."""
    found = torch.zeros_like(tokens, dtype=torch.bool)
    for token in ids:
        found |= tokens == token
    return found
