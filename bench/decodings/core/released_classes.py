"""Decoding of another group's code of F2-Softmax: it cuts classes, and fills a small class up with tokens of others.

Source: `hard_cluster_logit` of `Factorized_SoftmaxV2` (model/softmax.py) and `LM_sample` (util/sampling.py) in the
first commit, 211c53a, of FadedCosine/POS-Guided-Neural-Text-Generation, which has a README of F2-Softmax; the
commands of its README sample with `--sampling-mode 2 --top-k 1` and `--top-k 3`. For each token to write:

1. The most probable classes are kept as long as their mass does not exceed 0.9. The class with which it would exceed
   0.9 is dropped; the most probable class is always kept.
2. The probabilities of the kept classes are scaled to sum to one, and 1e-6 is added for every class, also for those
   that were dropped.
3. Classes are drawn by these weights, one after another and none twice, until the drawn ones hold at least k tokens.
4. Of the tokens of the drawn classes the k most probable ones are kept, by p1(class) p2(token | class), and one of them
   is drawn.

Eq. 7 of the paper keeps every class and stays in the one that is drawn. The code's greedy texts are those of k = 1: the
class is drawn, and its most probable token taken. The code counts the tokens whose probability is not rounded to zero;
here a class holds the tokens that it has.

Shapes: B rows, V vocabulary, K classes.
"""

import math

import torch
from torch import Tensor

from bench.decodings.core.draws import inverse_cdf

CLASS_NUCLEUS = 0.9
FLOOR = 1e-6
"""What is added to the weight of every class before classes are drawn."""
BELOW_ONE = 1 - 2**-53


def draw_as_released(log_probs: Tensor, classes: Tensor, k: int, uniform: Tensor) -> Tensor:
    """Draw a token of each row, [B].

    One number of a row's generator decides all its draws: where a class is drawn, the number's place within the share
    of that class is the number of the next draw, which is uniform again.

    Args:
        log_probs: [B, V] log-probabilities of the whole distribution, p1 p2.
        classes: [V] int64 class of each token, from 0.
        k: how many tokens the drawn classes hold at least, and how many of them are kept; all tokens where there are
            fewer.
        uniform: [B] float64 in [0, 1).
    """
    sizes = classes.bincount()
    weights = class_weights(log_probs, classes)
    drawn = torch.zeros_like(weights, dtype=torch.bool)
    most_draws = min(len(sizes), 1 + int((sizes.sort().values.cumsum(0) < k).sum()))
    for _ in range(most_draws):
        is_short = (drawn * sizes).sum(1) < k
        share = weights.masked_fill(drawn, 0.0)
        ends = share.cumsum(1)
        place = uniform * ends[:, -1]
        chosen = torch.searchsorted(ends, place[:, None], right=True).clamp(max=len(sizes) - 1)  # [B, 1]
        start = ends.gather(1, chosen) - share.gather(1, chosen)
        within = ((place[:, None] - start) / share.gather(1, chosen)).squeeze(1).clamp(0.0, BELOW_ONE)
        uniform = torch.where(is_short, within, uniform)
        drawn = torch.where(is_short[:, None], drawn.scatter(1, chosen, True), drawn)
    scores = log_probs.masked_fill(~drawn[:, classes], -math.inf)
    floor = scores.topk(min(k, scores.shape[1])).values[:, -1:]
    return inverse_cdf(scores.masked_fill(scores < floor, -math.inf), uniform)


def class_weights(log_probs: Tensor, classes: Tensor) -> Tensor:
    """Return the weights by which classes are drawn, [B, K] float64: steps 1 and 2.

    >>> classes = torch.tensor([0, 0, 1, 2])
    >>> class_weights(torch.tensor([[0.3, 0.2, 0.3, 0.2]]).log(), classes)  # 0.5 + 0.3 is within 0.9, + 0.2 is not
    tensor([[6.2500e-01, 3.7500e-01, 1.0000e-06]], dtype=torch.float64)
    """
    order = classes.argsort(stable=True)
    parts = log_probs.double().exp()[:, order].split(classes.bincount().tolist(), dim=1)
    masses = torch.stack([part.sum(1) for part in parts], dim=1)
    masses = masses / masses.sum(1, keepdim=True)
    falling = masses.sort(dim=1, descending=True).values
    n_kept = (falling.cumsum(1) <= CLASS_NUCLEUS).sum(1, keepdim=True).clamp(min=1)
    kept = masses.masked_fill(masses < falling.gather(1, n_kept - 1), 0.0)
    return kept / kept.sum(1, keepdim=True) + FLOOR
