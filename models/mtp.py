"""MTP: each state predicts several tokens ahead, by heads of their own over one trunk and one softmax.

    loss = sum over i = 1 .. n of  -log P_i(x_{t+i} | x_1 .. x_t),    P_1 the model that is evaluated and decodes

Shapes: B batch rows, T positions of a row, D width of a state, n heads.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from bench.base.options import Positive
from bench.models.backbones.backbone import Backbone
from bench.models.core.cpu_copy import CpuTokens, to_device
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, States
from bench.models.mle import MLE

EXPANSION = 4
"""Width inside a head as a multiple of that of a state."""


class MTP(MLE):
    """The sum of the cross-entropies of the next token and of the tokens behind it, all predicted from one state.

    Source: Gloeckle et al. 2024 (arXiv 2404.19737). The body of the paper was not read: that the losses are summed
    without weights, that all heads share the softmax, and n = 4 are from memory, so no claim of the paper is tested.

    Two things are this suite's own. In the paper a head is a layer of a transformer; here it is a residual MLP on the
    state, which needs no attention mask and fits every backbone. And the first head is the trunk itself, so that the
    model that is compared has the size and the cost of any other one. The further heads exist in training only; they do
    not decode several tokens at once.

    A position without a target predicts nothing, and nothing is predicted where there is no target. The sum of all
    heads is divided by the targets of the first.

    Every head is a softmax over the vocabulary, so the loss costs as many times that of `mle` as there are heads, and
    their MLPs. With `heads=1` it is `mle`, its control.

    Args:
        backbone: any that does not copy.
        heads: n, how many tokens ahead the furthest head looks, at least 1.
    """

    name = "mtp"
    equations = (r"\ell_t = \sum_{i=1}^{n} -\log P_i(x_{t+i} \mid x_1, \dots, x_t)",)
    version = 1
    runs_on_copying = False
    two_passes = True

    def __init__(self, backbone: Backbone, *, heads: Positive = 4) -> None:
        super().__init__(backbone)
        width = backbone.width
        self.later_heads = nn.ModuleList()
        for _ in range(heads - 1):
            layers = nn.Linear(width, EXPANSION * width), nn.GELU(), nn.Linear(EXPANSION * width, width)
            self.later_heads.append(nn.Sequential(*layers))

    def loss(self, states: States) -> LossSum:
        """Sum over heads and their targets, head by head."""
        of_heads = [super().loss(states)]
        for distance, head in enumerate(self.later_heads, 1):
            seen = replace(states, hidden=states.hidden + head(states.hidden))
            of_heads.append(super().loss(states_ahead(seen, distance)))
        terms = {f"head_{number}": loss.total.detach() for number, loss in enumerate(of_heads, 1)}
        return LossSum(torch.stack([loss.total for loss in of_heads]).sum(), of_heads[0].n_target_tokens, terms)


def states_ahead(states: States, distance: int) -> States:
    """Return states whose targets are so many positions further on, where a position has a target of its own."""
    known = states.on_cpu()
    targets = np.full_like(known.targets, IGNORED)  # [B, T]
    further = known.targets[:, distance:]
    targets[:, : further.shape[1]] = further
    targets[known.targets == IGNORED] = IGNORED
    moved: Tensor = to_device({"targets": targets}, states.targets.device)["targets"]
    cpu = CpuTokens(moved, targets, lambda: known.memory_tokens, lambda: known.readable)
    return replace(states, targets=moved, cpu=cpu)
