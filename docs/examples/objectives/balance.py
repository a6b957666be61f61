"""A term that is not a sum over positions.

`batch_terms` returns scalars in the graph, each multiplied with the number of target tokens by which the program will
divide. The value depends on which examples share a micro-batch, so `batch_invariant` is False.
"""

from bench.models.core.objective import Objective
from bench.models.core.states import slices


class Balance(Objective):
    """Cross-entropy minus the entropy of the mean distribution of a micro-batch, for an even use of words."""

    name = "balance"
    paper = "Krause et al. 2010"
    batch_invariant = False

    def __init__(self, backbone, *, weight: float = 0.1):
        super().__init__(backbone)
        self.weight = weight

    def batch_terms(self, states):
        n_target_tokens = (states.targets != -100).sum().clamp_min(1)
        mean = sum(self.log_probs(tokens).exp().sum(0) for tokens in slices(states)) / n_target_tokens  # [V]
        entropy = -(mean * mean.clamp_min(1e-9).log()).sum()
        return {"balance": -self.weight * entropy * n_target_tokens}
