"""Losses of a target in which other tokens, states, embeddings or weights take part, as functions of tensors alone.

Su et al. 2022 (SimCTG), Jiang et al. 2022 (contrastive token loss), Lin et al. 2021 (ScaleGrad), Xu et al. 2022
(DITTO), Ren et al. 2024 (EMO); losses by the probability p of the target, from nll = -log p: Ji et al. 2023 (TaiLr),
Zhang et al. 2023 (MixCE), Li et al. 2025 (the power family), Pang and He 2021 (GOLD). Losses are in nats, and a weight
has no gradient.

Shapes: n positions, M other tokens of a position, V tokens, B texts, T positions of a text, D width of a state.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize


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

    It is a product over the vocabulary, in addition to the three of a loss and its gradient: EMO costs at least 4/3 of
    maximum likelihood.

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


def tailr_weight(nll: Tensor, gamma: float, floor: float) -> Tensor:
    """p / (gamma + (1 - gamma) p), at least a floor.

    >>> tailr_weight(torch.tensor([0.0, 1.0, 9.0]), 1.0, 0.2)
    tensor([1.0000, 0.3679, 0.2000])
    """
    p = torch.exp(-nll.detach())
    if gamma == 0:  # the limit, also where p is 0
        return torch.ones_like(p)
    return (p / (gamma + (1 - gamma) * p)).clamp_min(floor)


def mixce_weight(nll: Tensor, eta: float) -> Tensor:
    """eta + (1 - eta) p.

    >>> mixce_weight(torch.tensor([0.0, 9.0]), 1.0)
    tensor([1., 1.])
    """
    return eta + (1 - eta) * torch.exp(-nll.detach())


def power_loss(nll: Tensor, k: float) -> Tensor:
    """(1 - p^k) / k, and its limit -log p for k = 0; the gradient is p^k times that of -log p.

    That weight is computed on its own: the gradient of `expm1` is its value + 1, which is 0 where p^k is below an ulp.

    >>> power_loss(torch.tensor([0.0, 2.0]), 1.0)
    tensor([0.0000, 0.8647])
    """
    if k == 0:
        return nll
    value = -torch.expm1(-k * nll.detach()) / k
    return value + torch.exp(-k * nll.detach()) * (nll - nll.detach())


def thresholded(nll: Tensor, q: float, form: str) -> Tensor:
    """1 - p or -log p of targets with p >= q or p <= q, and 0 of others.

    Args:
        nll: -log p.
        q: a probability.
        form: `top_p` and `top_logp` for p >= q, `bottom_p` and `bottom_logp` for p <= q.

    >>> thresholded(torch.tensor([0.1, 5.0]), 0.5, "top_logp")
    tensor([0.1000, 0.0000])
    """
    p = torch.exp(-nll.detach())
    is_counted = p <= q
    if form.startswith("top"):
        is_counted = p >= q
    loss = nll
    if form.endswith("_p"):
        loss = power_loss(nll, 1.0)
    return loss.where(is_counted, 0.0)


Reward = Literal["s", "p"]


def rewards(probabilities: Tensor, reward: Reward, least: float, baseline: float) -> Tensor:
    """Reward of each token.

    Args:
        probabilities: of the tokens under a frozen model, of any shape, float64.
        reward: `s` for max(p, least), so that the rewards of a text are a sum of probabilities; `p` for
            max(log p - baseline, least), so that their sum is the logarithm of a product.
        least: smallest reward.
        baseline: of the reward `p`.

    >>> rewards(torch.tensor([0.5, 0.01]), "s", 0.1, 0.0).tolist()
    [0.5, 0.10000000149011612]
    >>> rewards(torch.tensor([1.0]), "p", 0.1, -10.0).tolist()
    [10.0]
    """
    if reward == "p":
        probabilities = probabilities.log() - baseline
    return probabilities.clamp_min(least)


def discounted_returns(
    values: Tensor, is_target: Tensor, gamma: float, horizon: int | None = None, behind: float = 0.0
) -> Tensor:
    """Sum of gamma^k times the reward of the k-th target after each one in its row.

    Args:
        values: rewards, `[B, T]` float64.
        is_target: `[B, T]` bool; other positions are skipped, they are no step of k.
        gamma: discount, 0 to 1.
        horizon: largest k; None for the end of the row.
        behind: reward of each of the `horizon` places behind the last target.

    Returns:
        `[B, T]`, 0 where there is no target.

    >>> row, every = torch.tensor([[1.0, 2.0, 4.0]]), torch.ones(1, 3, dtype=torch.bool)
    >>> discounted_returns(row, every, 0.5).tolist()
    [[3.0, 4.0, 4.0]]
    >>> discounted_returns(row, every, 0.5, horizon=1, behind=8.0).tolist()
    [[2.0, 4.0, 8.0]]
    """
    length = values.shape[1]
    last = length + (horizon or 0)
    place = is_target.cumsum(1) - 1  # [B, T] number of a target in its row
    in_order = values.new_full((len(values), last + 1), behind)  # [B, N] rewards of the targets alone, N = last + 1
    in_order.scatter_(1, place.masked_fill(~is_target, last), values.masked_fill(~is_target, behind))
    places = torch.arange(last + 1, device=values.device)
    distance = places - places[:length, None]  # [T, N]
    factors = torch.pow(torch.full_like(distance, 1, dtype=values.dtype) * gamma, distance.clamp_min(0))
    factors = factors.masked_fill(distance < 0, 0)
    if horizon is not None:
        factors = factors.masked_fill(distance > horizon, 0)
    sums = in_order @ factors.T  # [B, T]
    return sums.gather(1, place.clamp_min(0)).masked_fill(~is_target, 0)


def off_policy_nll(nll: Tensor, policy: Tensor, returns: Tensor, floor: float) -> Tensor:
    """-w Q log p(target), with w = max(policy, floor) and no gradient in w and Q, [n].

    Args:
        nll: `[n]` -log p of each target.
        policy: `[n]` probability of the target under the model that weighs, without gradient.
        returns: `[n]` Q of each target.
        floor: smallest weight.

    >>> off_policy_nll(torch.tensor([2.0, 1.0]), torch.tensor([0.5, 0.0]), torch.tensor([3.0, 3.0]), 0.1)
    tensor([3.0000, 0.3000])
    """
    weights = policy.clamp_min(floor) * returns
    return weights.to(nll.dtype) * nll
