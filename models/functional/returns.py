"""Returns: the mathematics of GOLD, its loss, rewards of true tokens from a frozen model and their discounted sums.

Pang and He 2021, "Text Generation by Learning from Demonstrations".

Shapes: B rows, T positions, N = T + horizon + 1, n positions of a slice.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

__all__ = ["discounted_returns", "off_policy_nll", "rewards"]

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
    in_order = values.new_full((len(values), last + 1), behind)  # [B, N] rewards of the targets alone
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
