"""Losses of a target that need of the logits only what a `Head` has, such as their log-sum-exp and a few columns.

Each is a function of a head and of targets alone, in nats. Over a `Head` of logits it is ordinary autograd:

    loss = label_smoothing(Head(hidden @ weight.T), targets, eps=0.1)[0].mean()

Szegedy et al. 2016 (label smoothing), Pereyra et al. 2017 (confidence penalty), Li et al. 2025 (GEM), Peters et al.
2019 (entmax), Diao et al. 2026 (EAFT), Zhu et al. 2025 (ASFT). Read columns before a log-sum-exp (`Head` explains why).

Shapes: n positions, V tokens, m of the positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bench.models.functional.entmax import entmax_and_entropy

if TYPE_CHECKING:
    from bench.models.core.head import Head


def nll_of(head: Head, targets: Tensor) -> Tensor:
    """-log p(target) = lse - z_target, [n].

    Args:
        head: of the logits z.
        targets: `[n]`.

    >>> from bench.models.core.head import Head
    >>> nll_of(Head(torch.zeros(1, 4)), torch.tensor([2])).exp()
    tensor([4.])
    """
    at_target = head.at(targets)
    return head.lse - at_target


def label_smoothing(head: Head, targets: Tensor, eps: float, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """-sum_w q(w) log p(w), with q = (1 - eps) at the target + eps u: its two parts, whose sum is the loss, [n] each.

    Args:
        head: of the logits.
        targets: `[n]`.
        eps: share that is spread.
        weights: `[V]` u, which sums to one; uniform by default.

    Returns:
        The parts of the target and of u.

    >>> from bench.models.core.head import Head
    >>> logits, targets = torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([0])
    >>> expected = torch.nn.functional.cross_entropy(logits, targets, label_smoothing=0.1)
    >>> torch.isclose(sum(label_smoothing(Head(logits), targets, 0.1)), expected)
    tensor([True])
    """
    at_target, mean = head.at(targets), head.mean(weights)
    return (1 - eps) * (head.lse - at_target), eps * (head.lse - mean)


def confidence_penalty(head: Head, targets: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """-log p(target) - beta H(p), with H(p) = -sum_w p(w) log p(w): its two parts, [n] each.

    Args:
        head: of the logits.
        targets: `[n]`.
        beta: weight of the entropy H.

    >>> from bench.models.core.head import Head
    >>> nll, penalty = confidence_penalty(Head(torch.zeros(1, 4)), torch.tensor([2]), 0.5)
    >>> nll.exp(), (2 * penalty).exp()
    (tensor([4.]), tensor([0.2500]))
    """
    nll = nll_of(head, targets)
    return nll, -beta * (head.lse - head.expected)


def gem_linear(head: Head, targets: Tensor, beta: float) -> Tensor:
    """-sum_w q(w) (log p(target) - log p(w)), with q = softmax(z / beta) without gradient, [n].

    Its gradient is that of beta times the log-sum-exp of z / beta, less the target's logit.

    Args:
        head: of the logits z.
        targets: `[n]`.
        beta: temperature of q.

    >>> from bench.models.core.head import Head
    >>> gem_linear(Head(torch.tensor([[1.0, 3.0]])), torch.tensor([0]), 0.01)  # the copy is sure of token 1
    tensor([2.])
    """
    at_target = head.at(targets)
    smooth_maximum = beta * head.lse_at(beta)
    constant = (head.expected_at(beta) - smooth_maximum).detach()
    return smooth_maximum + constant - at_target


def gem_log_sigmoid(head: Head, targets: Tensor, beta: float, scale: float) -> Tensor:
    """-sum_w q(w) a(w) (log p(target) - log p(w)), with a(w) = sigmoid(scale (z_w - z_target)), [n].

    Neither q = softmax(z / beta) nor a has a gradient. With scale 0, a is one half: half of the linear form.

    Args:
        head: of the logits z.
        targets: `[n]`.
        beta: temperature of q.
        scale: of the difference in the log-sigmoid.
    """
    at_target = head.at(targets)
    detached, sums = at_target.detach()[:, None], []

    def weights(logits: Tensor, span: slice) -> Tensor:
        above = (logits - detached[span]).mul_(scale)  # [m, V] scale (z_w - z_target)
        found = (logits / beta).softmax(1).mul_(above.sigmoid_())
        sums.append(found.sum(1))
        return found

    return head.weighted(weights) - torch.cat(sums) * at_target


def entmax_loss(head: Head, targets: Tensor, alpha: float) -> Tensor:
    """p . z - z_target + H(p), with p = entmax(z) and H its entropy, [n]: at least 0; 0 where the target has all of p.

    Its gradient is p, less 1 at the target.

    Args:
        head: of the logits z.
        targets: `[n]`.
        alpha: above 1 and at most 2.
    """
    at_target, entropies = head.at(targets), []

    def weights(logits: Tensor, span: slice) -> Tensor:
        found, entropy = entmax_and_entropy(logits, alpha)
        entropies.append(entropy)
        return found

    return head.weighted(weights) - at_target + torch.cat(entropies)


def top_entropy(head: Head, k: int) -> Tensor:
    """Entropy in nats of the softmax over the k largest logits alone, without gradient, [n]: at most log k.

    Args:
        head: of the logits; of at least k tokens.
        k: at least 1.

    >>> from bench.models.core.head import Head
    >>> top_entropy(Head(torch.tensor([[5.0, 5.0, -1.0]])), 2).exp()
    tensor([2.])
    """
    return torch.special.entr(head.top(k).softmax(1)).sum(1)


def divergence_from(head: Head, log_q: Tensor) -> Tensor:
    """KL(q || p) = sum_w q(w) (log q(w) - log p(w)), with p = softmax(z), [n].

    Args:
        head: of the logits z.
        log_q: `[n, V]` log-probabilities of a fixed distribution.

    >>> from bench.models.core.head import Head
    >>> divergence_from(Head(torch.tensor([[1.0, 3.0]])), torch.tensor([[1.0, 3.0]]).log_softmax(1)) < 1e-6
    tensor([True])
    """
    log_q = log_q.detach()
    entropy = -(log_q.exp() * log_q.clamp_min(torch.finfo(log_q.dtype).min)).sum(1)
    expected = head.weighted(lambda logits, span: log_q[span].exp())
    return head.lse - expected - entropy
