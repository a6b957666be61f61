"""Unlikelihood: tokens that a model is taught not to say cost -log(1 - p).

Welleck et al. 2020, "Neural Text Generation with Unlikelihood Training".

Shapes: n positions of a slice, G batch rows, T positions of a row, U distinct tokens of a row, k any number of tokens.
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
"""The value of 1 - p below which the gradient of the log-sum-exp stops growing: float32 cannot hold a larger one."""


def unlikelihood(at: Tensor, lse: Tensor, floor: float, *, clamped: bool = False) -> Tensor:
    """-log max(1 - p, floor) of tokens with log p = at - lse.

    The gradient of -log(1 - p) is p at the token's own logit, and -p p_w / (1 - p) at that of another token w: it is
    bounded. A clamp that autograd differentiates turns it into zero where it is needed most, at p = 1. Here the token's
    own logit always gets p; only what the other tokens get fades below 1 - p = 1e-5.

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
    if at.ndim == 2:
        lse = lse[:, None]
    lse = lse.expand_as(at)
    if clamped:
        return -torch.log((-torch.expm1(at - lse)).clamp_min(floor))
    losses: Tensor = _Unlikelihood.apply(at, lse, floor)
    return losses


class _Unlikelihood(torch.autograd.Function):
    """-log max(1 - p, floor) with the gradient of -log(1 - p) in a form that does not vanish at p = 1.

    With s = p / (1 - p), autograd would give s to the token's logit and -s to the log-sum-exp, which passes -s p on to
    the token's logit: together p in exact numbers, but 0 in rounded numbers. Here s is bounded, and the token's logit
    gets p + s p directly.
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

    C_t = {x_1, ..., x_(t-1)} \\ {x_t}, section 5.1. There is a column for each distinct token of a row, at most T.

    Args:
        targets: ``[G, T]`` int64, IGNORED where there is none.
        group: ``[n]`` row of each position.
        position: ``[n]`` position within the row, one that carries a target.

    Returns:
        ``[n, U]`` tokens, and ``[n, U]`` bool, which are candidates; the others are valid ids without a meaning.

    >>> tokens, real = earlier_candidates(torch.tensor([[7, 5, 7, 6]]), torch.tensor([0, 0]), torch.tensor([2, 3]))
    >>> [row[kept].tolist() for row, kept in zip(tokens, real)]
    [[5], [7, 5]]
    """
    ordered, places = targets.sort(dim=1, stable=True)
    new = ordered != IGNORED
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    first = torch.zeros_like(new).scatter(1, places, new)  # [G, T] where a token occurs for the first time in its row
    width = int(first.sum(1).max()) if first.numel() else 0  # U
    # [G, U] positions of the first occurrences, in time order
    at = torch.argsort((~first).to(torch.int8), dim=1, stable=True)[:, :width]
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
    column = torch.full_like(targets, token)[:, None]  # [n, 1]
    is_candidate = targets[:, None] != column
    return torch.cat([tokens, column], 1), torch.cat([real & (tokens != token), is_candidate], 1)


def repeated(tokens: Sequence[int], n: int, *, last: bool = True) -> list[bool]:
    """Say which tokens belong to an n-gram that has occurred before, section 5.2.

    Args:
        tokens: a text; n-grams may overlap.
        n: length of an n-gram, at least 1.
        last: whether the last n-gram counts; the released code leaves it out.

    Returns:
        One truth value for each token.

    >>> repeated([1, 2, 9, 1, 2], 2)
    [False, False, False, True, True]
    >>> any(repeated([1, 2, 9, 1, 2], 2, last=False))
    False
    """
    is_repeated = [False] * len(tokens)
    earlier: set[tuple[int, ...]] = set()
    for start in range(len(tokens) - n + last):
        ngram = tuple(tokens[start : start + n])
        if ngram in earlier:
            is_repeated[start : start + n] = [True] * n
        earlier.add(ngram)
    return is_repeated
