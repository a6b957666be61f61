"""Unlikelihood: the mathematics of unlikelihood training, tokens that a model is taught not to say.

Welleck et al. 2020, "Neural Text Generation with Unlikelihood Training". Letters: n positions of a slice, G batch rows,
T positions of a row, U distinct tokens of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["earlier_candidates", "repeated", "unlikelihood", "with_token"]

IGNORED = -100

STEEPEST = 1e-5
"""The value of 1 - p below which the gradient of the log-sum-exp stops to grow: float32 cannot carry a larger one."""


def unlikelihood(at: Tensor, lse: Tensor, floor: float, *, clamped: bool = False) -> Tensor:
    """-log max(1 - p, floor) of tokens with log p = at - lse.

    The gradient of -log(1 - p) is bounded: p at the token's own logit, and -p times the others' shares at the others.
    A clamp that autograd differentiates turns it into zero where it is needed most, at p = 1. Here the token's own
    logit always gets p; only what the others get fades below 1 - p = 1e-5.

    Args:
        at: ``[n]`` or ``[n, k]`` logits of tokens, at least float32.
        lse: ``[n]`` log-sum-exp of all logits.
        floor: smallest 1 - p.
        clamped: no gradient below the floor, as the released code has it.

    Returns:
        Nats, of the shape of ``at``.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    >>> unlikelihood(logits[:, :2], logits.logsumexp(1), 1e-5).exp()
    tensor([[1.3333, 1.3333]])
    """
    lse = lse.expand_as(at) if at.ndim == 1 else lse[:, None].expand_as(at)
    if clamped:
        return -torch.log((-torch.expm1(at - lse)).clamp_min(floor))
    found: Tensor = _Unlikelihood.apply(at, lse, floor)
    return found


class _Unlikelihood(torch.autograd.Function):
    """-log max(1 - p, floor) with the gradient of -log(1 - p) in a form that lives at p = 1.

    With s = p / (1 - p), autograd would give s to the token's logit and -s to the log-sum-exp, from where -s p comes
    back to the token: together p in exact numbers, 0 in rounded ones. Here s is bounded, and the token gets p + s p.
    """

    @staticmethod
    def forward(ctx: Any, at: Tensor, lse: Tensor, floor: float) -> Tensor:
        log_p = at - lse
        rest = -torch.expm1(log_p)
        ctx.save_for_backward(log_p, rest)
        return -rest.clamp_min(floor).log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        log_p, rest = ctx.saved_tensors
        p = log_p.exp()
        steepness = p / rest.clamp_min(STEEPEST)
        return gradient * (p + steepness * p), -gradient * steepness, None


def earlier_candidates(targets: Tensor, group: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
    """Return each position's negative candidates: the distinct earlier targets of its row without its own target.

    C_t = {x_1, ..., x_(t-1)} \\ {x_t}, section 5.1. One column for each distinct token of a row, at most T.

    Args:
        targets: ``[G, T]`` int64, IGNORED where there is none.
        group: ``[n]`` row of each position.
        position: ``[n]`` position within the row, one that carries a target.

    Returns:
        ``[n, U]`` tokens, some valid token where there is no candidate, and ``[n, U]`` bool, which are candidates.

    >>> tokens, real = earlier_candidates(torch.tensor([[7, 5, 7, 6]]), torch.tensor([0, 0]), torch.tensor([2, 3]))
    >>> [row[kept].tolist() for row, kept in zip(tokens, real)]
    [[5], [7, 5]]
    """
    ordered, places = targets.sort(dim=1, stable=True)
    fresh = ordered != IGNORED
    fresh[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    first = torch.zeros_like(fresh).scatter(1, places, fresh)  # where a token is the first of its kind in the row
    width = int(first.sum(1).max()) if first.numel() else 0
    at = torch.argsort((~first).to(torch.int8), dim=1, stable=True)[:, :width]  # first occurrences, in time order
    tokens = targets.gather(1, at).clamp_min(0)[group]
    own = targets[group, position]
    real = first.gather(1, at)[group] & (at[group] < position[:, None]) & (tokens != own[:, None])
    return tokens, real


def with_token(tokens: Tensor, real: Tensor, targets: Tensor, token: int) -> tuple[Tensor, Tensor]:
    """Make one token a candidate everywhere but where it is the target: the padding candidate of the released code.

    Args:
        tokens: ``[n, U]`` with ``real`` as `earlier_candidates` gives them.
        real: ``[n, U]``.
        targets: ``[n]``.
        token: its id.

    Returns:
        ``[n, U + 1]`` tokens and which are candidates; the token counts once.
    """
    more = torch.full_like(targets, token)
    return torch.cat([tokens, more[:, None]], 1), torch.cat([real & (tokens != token), (targets != more)[:, None]], 1)


def repeated(tokens: Sequence[int], n: int, *, last: bool = True) -> list[bool]:
    """Say which tokens belong to an n-gram that was there before, section 5.2.

    Args:
        tokens: a text; n-grams may overlap.
        n: length of an n-gram, at least 1.
        last: whether the last n-gram is looked at; the released code stops one short of it.

    Returns:
        One truth value for each token.

    >>> repeated([1, 2, 9, 1, 2], 2)
    [False, False, False, True, True]
    >>> any(repeated([1, 2, 9, 1, 2], 2, last=False))
    False
    """
    found = [False] * len(tokens)
    seen: set[tuple[int, ...]] = set()
    for start in range(len(tokens) - n + last):
        ngram = tuple(tokens[start : start + n])
        if ngram in seen:
            found[start : start + n] = [True] * n
        seen.add(ngram)
    return found
