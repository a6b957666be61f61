"""Decoupled decoding: draw a frequency class first, then a token of that class (F2-Softmax section 3.4, eq. 7).

Any next-token distribution over a vocabulary with classes splits into p1(class) * p2(token | class). Drawing the class
from p1 and the token from p2, cut to its top k or nucleus, is the same as drawing the token from one distribution:

    q(x) = p1(c) * p2(x | c) * [x is kept within c] / Z_c,   c the class of x,   Z_c the mass kept within c

so nothing is drawn here, and decoding step by step sees what a full forward pass sees. Section 3.4 lets the class be
drawn or chosen. With `greedy` it is chosen: q is then p2 of the most probable class, which greedy decoding and beam
search use. A beam is then scored by log p2 alone, and p1 does not enter its score.

Shapes: n rows, V tokens, C classes, S tokens of a class.
"""

import math

import torch
from torch import Tensor

_PREFILTER = 1024
"""A nucleus is first looked for among so many most probable tokens; sorting a whole class costs more."""


def decoupled_log_probs(log_probs: Tensor, classes: Tensor, k: int = 0, p: float = 1.0, greedy: bool = False) -> Tensor:
    """Log of the distribution decoupled decoding draws from.

    A token that ties with the last one kept is kept too, so the result does not depend on the order of tokens. The
    caller draws from the whole of it: a second cut would drop classes, which eq. 7 does not do.

    Args:
        log_probs: `[n, V]` log-probabilities; a token may be ruled out by -inf.
        classes: `[V]` int64 class of each token, from 0.
        k: keep the k most probable tokens of each class; 0 keeps all.
        p: keep each class's smallest set of most probable tokens whose share of the class reaches p; 1 keeps all.
        greedy: take the most probable class instead of drawing one, ties to the more frequent; p2 of it is returned.

    Returns:
        `[n, V]` log-probabilities, -inf for tokens that are cut; each row sums to one.

    >>> posterior, classes = torch.tensor([[0.3, 0.25, 0.25, 0.2]]), torch.tensor([0, 1, 1, 1])
    >>> decoupled_log_probs(posterior.log(), classes, k=2).exp()  # the rare class keeps its 0.7
    tensor([[0.3000, 0.3500, 0.3500, 0.0000]])
    >>> decoupled_log_probs(posterior.log(), classes, greedy=True).argmax()  # not token 0
    tensor(1)
    """
    order = classes.argsort(stable=True)
    parts = log_probs[:, order].split(classes.bincount().tolist(), dim=1)
    masses = [part.logsumexp(1, keepdim=True) for part in parts]
    cut = [_cut(part, mass, k, p) for part, mass in zip(parts, masses, strict=True)]
    if greedy:
        chosen = torch.cat(masses, dim=1).argmax(1, keepdim=True)
        masses = [torch.zeros_like(mass).masked_fill(chosen != c, -math.inf) for c, mass in enumerate(masses)]
    mixed = torch.cat([part + mass for part, mass in zip(cut, masses, strict=True)], dim=1)
    return torch.empty_like(mixed).index_copy_(1, order, mixed)


def _cut(part: Tensor, mass: Tensor, k: int, p: float) -> Tensor:
    """One class's token log-probabilities within the class after the cut, `[n, S]`."""
    if 0 < k < part.shape[1]:
        part = part.masked_fill(part < part.topk(k).values[:, -1:], -math.inf)
    if p < 1 < part.shape[1]:
        part = part.masked_fill(part < _nucleus_floor(part, mass, p), -math.inf)
    kept = part.logsumexp(1, keepdim=True)
    return part - kept.masked_fill(kept.isneginf(), 0.0)  # a class that is ruled out stays at -inf


def _nucleus_floor(part: Tensor, mass: Tensor, p: float) -> Tensor:
    """Log-probability of the last token of each row's nucleus, `[n, 1]`."""
    top = part.topk(min(_PREFILTER, part.shape[1])).values
    floor, reached = _last_needed(top, mass, p)
    rows = (~reached).nonzero().squeeze(1)
    if len(rows) and top.shape[1] < part.shape[1]:
        everything = part[rows].sort(dim=1, descending=True).values
        floor[rows] = _last_needed(everything, mass[rows], p)[0]
    return floor


def _last_needed(falling: Tensor, mass: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """The value `[n, 1]` at which each row's share of the class reaches p, and whether it does, `[n]`."""
    share = (falling.double() - mass.double().masked_fill(mass.isneginf(), 0.0)).exp().cumsum(1)
    last = (share < p).sum(1, keepdim=True).clamp_max(falling.shape[1] - 1)
    return falling.gather(1, last), share[:, -1] >= p
