"""A loss that looks at a batch twice: `self.nll` yields slices with the loss of each target, without gradient.

Targets that are -100 in the second pass have no loss.
"""

from dataclasses import replace

import torch

from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum


class Truncation(Objective):
    """Cross-entropy without the least likely rows of a micro-batch, which may be noise (section 4)."""

    name = "truncation"
    paper = "Kang and Hashimoto 2020"
    batch_invariant = False

    def __init__(self, backbone, *, dropped: float = 0.25):
        super().__init__(backbone)
        self.dropped = dropped

    def loss(self, states):
        sums = torch.zeros(2, len(states.targets), dtype=torch.float64, device=states.targets.device)  # [2, B]
        with torch.no_grad():
            for tokens, nll in self.nll(states):
                sums.index_add_(1, tokens.start + tokens.group, torch.stack([nll, torch.ones_like(nll)]).double())
        mean = sums[0] / sums[1].clamp_min(1)  # [B] nats a token
        is_noise = mean > mean.quantile(1 - self.dropped)
        kept = super().loss(replace(states, targets=states.targets.masked_fill(is_noise[:, None], -100)))
        n_target_tokens = (states.targets != -100).sum()
        return LossSum(kept.total * n_target_tokens / kept.n_target_tokens.clamp_min(1), n_target_tokens, kept.terms)
