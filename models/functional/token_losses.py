"""Losses of a target in which other tokens, states or embeddings take part, as functions of tensors alone.

Su et al. 2022 (SimCTG), Jiang et al. 2022 (contrastive token loss), Lin et al. 2021 (ScaleGrad), Xu et al. 2022
(DITTO), Ren et al. 2024 (EMO). Losses are in nats.

Shapes: n positions, M other tokens of a position, V tokens, B texts, T positions of a text, D width of a state.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

__all__ = ["contrastive_token", "distances_from", "earth_mover", "pair_hinges", "repetition_penalty", "scaled_nll"]


def contrastive_token(at_target: Tensor, at_others: Tensor, left_out: Tensor) -> Tensor:
    """log(1 + sum over m of exp(z_m - z_target)), [n].

    Args:
        at_target: `[n]` logits z of the targets.
        at_others: `[n, M]` logits of the tokens that a target is compared with.
        left_out: `[n, M]` bool: these count for nothing.

    >>> contrastive_token(torch.zeros(1), torch.zeros(1, 2), torch.tensor([[False, True]])).exp()
    tensor([2.])
    """
    above = (at_others - at_target[:, None]).masked_fill(left_out, -math.inf)
    return torch.cat([torch.zeros_like(at_target)[:, None], above], 1).logsumexp(1)


def scaled_nll(
    log_p: Tensor, seen_mass: Tensor, is_novel: Tensor, gamma: float, added: float = 0.0, size: int = 0
) -> Tensor:
    """-log of p(w) g(w) / sum over v of p(v) g(v), with g = gamma for a novel token and 1 for a seen one, [n].

    Args:
        log_p: `[n]` log-probability of each target.
        seen_mass: `[n]` probability of all tokens seen before it.
        is_novel: `[n]` bool, whether the target is none of these.
        gamma: above 0.
        added: to the scaled probability of each of the V tokens, as the released code does.
        size: V, needed where something is added.
    """
    log_scaled = log_p + math.log(gamma) * is_novel.to(log_p)
    mass = gamma + (1 - gamma) * seen_mass  # [n] sum of the scaled probabilities
    if added:
        log_scaled = torch.log(log_scaled.exp() + added)
        mass = mass + added * size
    return mass.log() - log_scaled


def repetition_penalty(probability: Tensor, before: Tensor, decay: float, floor: float) -> Tensor:
    """-log(1 - |p - decay * p_before|), at most -log of a floor, [n].

    Args:
        probability: `[n]` of each token.
        before: `[n]` of the same token one repetition earlier, without gradient.
        decay: share of it that the probability should have.
        floor: least value whose logarithm is taken.
    """
    gap = (probability - decay * before.to(probability.dtype)).abs()
    return -(1 - gap).clamp_min(floor).log()


def earth_mover(nll: Tensor, distance: Tensor, divisor: Tensor) -> Tensor:
    """(nll + r * distance) / 2, where r = nll / divisor has no gradient, [n].

    Args:
        nll: `[n]` of each target.
        distance: `[n]` expected distance from the target, under the model.
        divisor: `[n]` the distance, kept above 0.
    """
    return (nll + (nll / divisor).detach() * distance) / 2


@torch.no_grad()
def distances_from(targets: Tensor, directions: Tensor) -> Tensor:
    """Return 1 - cos(e_i, e_y) of every token and the target, [n, V]; not below 0, and exactly 0 for the target itself.

    It is a product over the vocabulary, the fourth beside the three of a loss and its gradient: EMO costs at least 4/3
    of maximum likelihood.

    Args:
        targets: `[n]`.
        directions: `[V, D]`, rows of length 1.
    """
    with torch.autocast(device_type=directions.device.type, enabled=False):  # it would lose what is near 0
        distances = torch.addmm(directions.new_ones(1, 1), directions[targets], directions.T, alpha=-1)  # [n, V]
    return distances.clamp_min_(0).scatter_(1, targets[:, None], 0)


def pair_hinges(hidden: Tensor, real: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Return the sum of max(0, margin - 1 + cos) over the ordered pairs of each text, and their number, [B] each.

    At least in float32, also under autocast.

    Args:
        hidden: `[B, T, D]` states.
        real: `[B, T]` bool: the others are in no pair.
        margin: rho, 0 to 2.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        directions = normalize(hidden.to(torch.promote_types(hidden.dtype, torch.float32)), dim=-1)
        cosines = directions @ directions.mT  # [B, T, T]
    is_pair = (real[:, :, None] & real[:, None, :]).triu(1)
    hinge = torch.relu(margin - 1 + cosines) * is_pair
    return 2 * hinge.sum((1, 2)), 2 * is_pair.sum((1, 2))
