"""Interpolation: a model's distribution mixed with one that is read from remembered states, without training.

    linear    P(w) = (1 - lam) p(w) + lam q(w)
    q of a continuous cache:      q(w) ~ sum over entries i of the row's memory that hold w of exp(theta h . h_i)
    q of nearest neighbours:      q(w) ~ sum over the k nearest keys i of the datastore that hold w of exp(-d_i^2 / T)

Grave et al. 2017 (continuous cache, their eq. 3 and 4), Khandelwal et al. 2020 (kNN-LM, their eq. 2 and 3). Everything
is at least fp32; so are distances under autocast, since they are differences of large products. The global form of
Grave et al., one softmax over scores and cache, is eq. 3 of HistAlign: it is in `bench.models.functional.cache`.

Shapes: n positions, M memory entries, N keys, k neighbours, V tokens, D width.
"""

import math

import torch
from torch import Tensor


def shares_of(scores: Tensor, readable: Tensor, sharpness: Tensor | float) -> Tensor:
    """Share that each entry has: a softmax of its score times a sharpness.

    Args:
        scores: `[n, M]`: of a cache the products of the state with each entry's, of neighbours minus the squared
            distance.
        readable: `[n, M]` bool, the entries that the row may read.
        sharpness: theta of a cache, one over the temperature of neighbours.

    Returns:
        `[n, M]`, which sums to one; zeros for a row that can read nothing.

    >>> shares_of(torch.tensor([[0.0, 9.0, 0.0]]), torch.tensor([[True, False, True]]), 1.0)
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    shares = (scores * sharpness).masked_fill(~readable, -math.inf).softmax(1)
    return shares.nan_to_num(0.0)  # a softmax over nothing


def nearest_keys(
    states: Tensor, keys: Tensor, k: int, at_once: int = 65_536, norms: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The k nearest keys of each state by squared Euclidean distance, exactly, a part of the keys at a time.

    Args:
        states: `[n, D]`, any floating dtype; fp32 or wider is computed in.
        keys: `[N, D]`, any floating dtype; a part of them is taken to the dtype of the states at once.
        k: at most N are found.
        at_once: keys of a part.
        norms: `[N]` squared norms of the keys, where the caller keeps them.

    Returns:
        `[n, min(k, N)]` squared distances, the nearest first, and the int64 numbers of their keys.

    >>> distances, found = nearest_keys(torch.tensor([[0.0]]), torch.tensor([[3.0], [1.0], [-2.0]]), 2)
    >>> distances, found
    (tensor([[1., 4.]]), tensor([[1, 2]]))
    """
    states = states.to(torch.promote_types(states.dtype, torch.float32))
    best = states.new_empty(len(states), 0)
    numbers = torch.empty(len(states), 0, dtype=torch.long, device=states.device)
    with torch.autocast(device_type=states.device.type, enabled=False):
        for start in range(0, len(keys), at_once):
            part = keys[start : start + at_once].to(states.dtype)
            if norms is None:
                lengths = part.square().sum(1)
            else:
                lengths = norms[start : start + at_once].to(states.dtype)
            distances = torch.addmm(lengths, states, part.mT, alpha=-2)  # [n, at_once], without the states' own norms
            here, at = distances.topk(min(k, len(part)), dim=1, largest=False)
            best, numbers = torch.cat([best, here], 1), torch.cat([numbers, at + start], 1)
            best, order = best.topk(min(k, best.shape[1]), dim=1, largest=False)
            numbers = numbers.gather(1, order)
    return best.add(states.square().sum(1, keepdim=True)).clamp_min(0), numbers


def spread(shares: Tensor, tokens: Tensor, vocabulary_size: int) -> Tensor:
    """Give tokens the shares of the entries that hold them.

    Args:
        shares: `[n, M]`.
        tokens: `[n, M]` int64, the token of each entry.
        vocabulary_size: V.

    Returns:
        `[n, V]`.

    >>> spread(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[2, 0, 2]]), 3)
    tensor([[0.2500, 0.0000, 0.7500]])
    """
    return shares.new_zeros(len(shares), vocabulary_size).scatter_add_(1, tokens, shares)


def interpolated(log_probs: Tensor, other: Tensor, weight: Tensor | float, has_entries: Tensor) -> Tensor:
    """Log of (1 - weight) p + weight q; the logarithm of p alone for a row that has no entries.

    Args:
        log_probs: `[n, ...]` of the model: the logarithm of p.
        other: `[n, ...]` q of the same tokens.
        weight: of q, at least 0 and below 1.
        has_entries: `[n]` bool, whether a row's q is a distribution at all.

    Returns:
        `[n, ...]` log-probabilities.

    >>> interpolated(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 0.0]]), 0.5, torch.tensor([True])).exp()
    tensor([[0.7500, 0.2500]])
    """
    weights = has_entries.to(log_probs) * weight
    weights = weights.view(-1, *[1] * (log_probs.ndim - 1))
    smallest = torch.finfo(other.dtype).tiny  # in place of 0, whose logarithm has no gradient
    return torch.logaddexp(log_probs + torch.log1p(-weights), other.clamp_min(smallest).log() + weights.log())
