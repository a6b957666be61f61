"""Unlikelihood: tokens that a model is taught not to say cost -log(1 - p).

Welleck et al. 2020, "Neural Text Generation with Unlikelihood Training".

Shapes: n positions of a slice, B batch rows, T positions of a row, U distinct tokens of a row, k any number of tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Array = npt.NDArray[Any]

IGNORED = -100

STEEPEST = 1e-5
"""The value of 1 - p below which the gradient of the log-sum-exp stops growing: float32 cannot hold a larger one."""


def unlikelihood(
    at: Tensor, lse: Tensor, floor: float, left_out: Tensor | None = None, *, clamped: bool = False
) -> Tensor:
    """-log max(1 - p, floor) of tokens with log p = at - lse.

    The gradient of -log(1 - p) is p at the token's own logit, and -p p_w / (1 - p) at that of another token w: it is
    bounded. A clamp that autograd differentiates turns it into zero where it is needed most, at p = 1. Here the token's
    own logit always gets p; only what the other tokens get fades below 1 - p = 1e-5.

    Args:
        at: `[n]` or `[n, k]` logits of tokens, at least float32.
        lse: `[n]` log-sum-exp of all logits.
        floor: smallest 1 - p.
        left_out: of the shape of `at`, tokens that cost nothing and get no gradient; None for no such token.
        clamped: no gradient below the floor, as the released code has it.

    Returns:
        Nats, of the shape of `at`.

    >>> logits = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    >>> unlikelihood(logits[:, :2], logits.logsumexp(1), 1e-5).exp()
    tensor([[1.3333, 1.3333]])
    """
    if at.ndim == 2:
        lse = lse[:, None]
    if clamped:
        losses = -torch.log((-torch.expm1(at - lse)).clamp_min(floor))
        return losses if left_out is None else losses.masked_fill(left_out, 0.0)
    found: Tensor = _Unlikelihood.apply(at, lse, floor, left_out)
    return found


class _Unlikelihood(torch.autograd.Function):
    """-log max(1 - p, floor) with the gradient of -log(1 - p) in a form that does not vanish at p = 1.

    With s = p / (1 - p), autograd would give s to the token's logit and -s to the log-sum-exp, which passes -s p on to
    the token's logit: together p in exact numbers, but 0 in rounded numbers. Here s is bounded, and the token's logit
    gets p + s p directly.
    """

    @staticmethod
    def forward(ctx: Any, at: Tensor, lse: Tensor, floor: float, left_out: Tensor | None) -> Tensor:
        log_p = at - lse
        p = log_p.exp()
        rest = log_p.expm1_().neg_()
        if left_out is not None:  # p = 0: no loss and no gradient
            p.masked_fill_(left_out, 0.0)
            rest.masked_fill_(left_out, 1.0)
        ctx.save_for_backward(p, rest)
        ctx.shared = lse.shape != at.shape
        return rest.clamp_min(floor).log_().neg_()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        p, rest = ctx.saved_tensors
        steepness = (p / rest.clamp_min(STEEPEST)).mul_(gradient)
        if ctx.shared:
            of_lse = steepness.sum(1, keepdim=True).neg_()
        else:
            of_lse = -steepness
        return steepness.add_(gradient).mul_(p), of_lse, None, None


def candidates(targets: Array) -> tuple[Array, Array]:
    """Find the negative candidates of all positions of a batch: C_t = {x_1, ..., x_(t-1)} \\ {x_t}, section 5.1.

    Args:
        targets: `[B, T]` int64, IGNORED where there is none.

    Returns:
        `[B, U]` the distinct targets of each row in the order of their first occurrence, filled with zeros, and
        `[B, T]` how many of them occur before each position, 0 where there is no target. The candidates of a position
        are these without its own target.

    >>> tokens, before = candidates(np.array([[7, 5, 7, 6]]))
    >>> tokens.tolist(), before.tolist()
    ([[7, 5, 6]], [[0, 1, 2, 2]])
    """
    before, rows = np.zeros_like(targets), []
    for row, of_row in enumerate(targets):
        at = np.flatnonzero(of_row != IGNORED)
        tokens, first = np.unique(of_row[at], return_index=True)
        in_time = first.argsort()
        before[row, at] = np.searchsorted(first[in_time], np.arange(len(at)))
        rows.append(tokens[in_time])
    distinct = np.zeros((len(targets), max(map(len, rows), default=0)), np.int64)
    for row, tokens in enumerate(rows):
        distinct[row, : len(tokens)] = tokens
    return distinct, before


def with_token(tokens: Tensor, left_out: Tensor, targets: Tensor, token: int) -> tuple[Tensor, Tensor]:
    """Make one token a candidate everywhere but where it is the target: the padding candidate of the released code.

    Args:
        tokens: `[n, U]` tokens.
        left_out: `[n, U]` which of them are no candidates.
        targets: `[n]`.
        token: its id.

    Returns:
        `[n, U + 1]` tokens and which are no candidates; the token counts once.
    """
    column = torch.full_like(targets, token)[:, None]  # [n, 1]
    is_target = targets[:, None] == column
    return torch.cat([tokens, column], 1), torch.cat([left_out | (tokens == token), is_target], 1)


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
